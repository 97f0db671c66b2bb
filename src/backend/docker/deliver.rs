//! Brings the checker to an engine: a volume of the run, filled through a container that never starts.
//!
//! Every engine takes an archive for a container that was only created, local or remote, so the engine needs no file of
//! this machine; and a volume reaches cells with a read-only root file system and any user.

use bollard::models::{
    ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions, VolumeCreateRequest,
};
use bollard::query_parameters::{CreateContainerOptions, RemoveContainerOptions, UploadToContainerOptions};

use super::MOUNT;
use super::engine::Engine;
use super::lower::labels;
use super::refusal::{request_fault, words};
use crate::backend::checker;
use crate::model::{Fault, FaultKind};

/// Makes and fills the volume of a run, and returns its name.
pub(super) async fn deliver(engine: &Engine, run: &str, image: &str) -> Result<String, Fault> {
    let name = format!("gpusweep-{run}");
    let request = VolumeCreateRequest {
        name: Some(name.clone()),
        labels: Some(labels(run, None)),
        ..VolumeCreateRequest::default()
    };
    let refused = |error: &bollard::errors::Error| request_fault(FaultKind::LaunchRefused, error);
    engine.docker.create_volume(request).await.map_err(|error| refused(&error))?;
    let helper = format!("gpusweep-{run}-delivery");
    let filled = fill(engine, run, &name, &helper, image).await;
    let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
    let removed = engine.docker.remove_container(&helper, Some(options)).await;
    filled.map_err(|error| refused(&error))?;
    removed.map_err(|error| refused(&error)).map(|()| name)
}

async fn fill(
    engine: &Engine,
    run: &str,
    volume: &str,
    helper: &str,
    image: &str,
) -> Result<(), bollard::errors::Error> {
    let body = ContainerCreateBody {
        image: Some(image.to_owned()),
        // Never run; an image without a command of its own is refused without one.
        entrypoint: Some(vec![format!("{MOUNT}/{}", checker::FILE_NAME)]),
        labels: Some(labels(run, None)),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            mounts: Some(vec![mount(volume, false)]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let options =
        CreateContainerOptions { name: Some(helper.to_owned()), ..CreateContainerOptions::default() };
    engine.docker.create_container(Some(options), body).await?;
    let upload = UploadToContainerOptions { path: MOUNT.to_owned(), ..UploadToContainerOptions::default() };
    engine.docker.upload_to_container(helper, Some(upload), bollard::body_full(archive()?.into())).await
}

/// How a volume with the checker is mounted.
pub(super) fn mount(volume: &str, read_only: bool) -> Mount {
    Mount {
        target: Some(MOUNT.to_owned()),
        source: Some(volume.to_owned()),
        typ: Some(MountType::VOLUME),
        read_only: Some(read_only),
        // What the image has at that place must not be copied into the volume.
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() }),
        ..Mount::default()
    }
}

fn archive() -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(checker::BYTES.len() as u64);
    header.set_mode(0o555);
    header.set_cksum();
    let mut archive = tar::Builder::new(Vec::with_capacity(checker::BYTES.len() + 2048));
    archive.append_data(&mut header, checker::FILE_NAME, checker::BYTES)?;
    archive.into_inner()
}

/// Removes the volume of a run; what is not there counts as removed.
pub(super) async fn remove_volume(engine: &Engine, name: &str) -> Result<(), String> {
    match engine.docker.remove_volume(name, None::<bollard::query_parameters::RemoveVolumeOptions>).await {
        Ok(()) => Ok(()),
        Err(error) if super::refusal::is_status(&error, 404) => Ok(()),
        Err(error) => Err(words(&error)),
    }
}
