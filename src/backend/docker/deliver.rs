//! Brings the checker to an engine: a volume of the run, filled through a container that never starts.
//!
//! Every engine takes an archive for a container that was only created, local or remote, so the engine needs no file of
//! this machine; and a volume reaches cells with a read-only root file system and any user.

use std::collections::HashMap;

use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions, VolumeCreateRequest,
};
use bollard::query_parameters::{CreateContainerOptions, UploadToContainerOptions};

use super::clean;
use super::engine::Engine;
use super::lower::labels;
use super::refusal::{fault, request_fault, words};
use crate::backend::checker;
use crate::model::{Cell, Fault, FaultKind};

/// A volume with the checker, and where containers see it.
#[derive(Debug)]
pub(super) struct Delivery {
    volume: String,
    mount: String,
    labels: HashMap<String, String>,
}

impl Delivery {
    pub(super) fn of(run: &str, volume: &str, mount: &str) -> Self {
        Self { volume: volume.to_owned(), mount: mount.to_owned(), labels: labels(run, None) }
    }

    /// The checker's path in a container.
    pub(super) fn program(&self) -> String {
        format!("{}/{}", self.mount, checker::CHECKER.name)
    }

    /// How the volume is mounted.
    pub(super) fn mounted(&self, read_only: bool) -> Mount {
        Mount {
            target: Some(self.mount.clone()),
            source: Some(self.volume.clone()),
            typ: Some(MountType::VOLUME),
            read_only: Some(read_only),
            volume_options: Some(MountVolumeOptions {
                // What the image has at that place must not be copied into the volume.
                no_copy: Some(true),
                // A request of a controller that was killed may come to the engine after the volume was removed, which then
                // makes one anew: that one has to be found too.
                labels: Some(self.labels.clone()),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        }
    }
}

/// Makes and fills the volume of a run, with the image of `cell` for the container that fills it.
pub(super) async fn deliver(
    engine: &Engine,
    run: &str,
    name: &str,
    mount: &str,
    cell: &Cell,
) -> Result<Delivery, Fault> {
    let delivery = Delivery::of(run, name, mount);
    let request = VolumeCreateRequest {
        name: Some(name.to_owned()),
        labels: Some(delivery.labels.clone()),
        ..VolumeCreateRequest::default()
    };
    let refused = |error: &Error| request_fault(FaultKind::LaunchRefused, error);
    engine.docker.create_volume(request).await.map_err(|error| refused(&error))?;
    let helper = format!("{name}-delivery-{}", cell.id());
    let filled = fill(engine, run, &delivery, &helper, cell).await;
    let removed = clean::remove_container(engine, &helper).await;
    filled.map_err(|error| refused(&error))?;
    removed.map_err(|words| fault(FaultKind::LaunchRefused, &words)).map(|()| delivery)
}

async fn fill(
    engine: &Engine,
    run: &str,
    delivery: &Delivery,
    helper: &str,
    cell: &Cell,
) -> Result<(), Error> {
    let body = ContainerCreateBody {
        image: Some(cell.image.reference.clone()),
        // Never run; an image without a command of its own is refused without one.
        entrypoint: Some(vec![delivery.program()]),
        labels: Some(labels(run, Some(cell))),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            mounts: Some(vec![delivery.mounted(false)]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let options =
        CreateContainerOptions { name: Some(helper.to_owned()), ..CreateContainerOptions::default() };
    engine.docker.create_container(Some(options), body).await?;
    let upload =
        UploadToContainerOptions { path: delivery.mount.clone(), ..UploadToContainerOptions::default() };
    engine.docker.upload_to_container(helper, Some(upload), bollard::body_full(archive()?.into())).await
}

fn archive() -> std::io::Result<Vec<u8>> {
    let size = checker::PROGRAMS.iter().map(|program| program.bytes.len() + 1024).sum::<usize>();
    let mut archive = tar::Builder::new(Vec::with_capacity(size + 1024));
    for program in checker::PROGRAMS {
        let mut header = tar::Header::new_gnu();
        header.set_size(program.bytes.len() as u64);
        header.set_mode(0o555);
        header.set_cksum();
        archive.append_data(&mut header, program.name, program.bytes)?;
    }
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
