//! Removes containers and volumes by label: those of one run, and those that a crashed sweep left.
//!
//! Containers go first, since a volume in use cannot be removed.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListContainersOptions, ListVolumesOptions, RemoveContainerOptions};

use super::engine::Engine;
use super::refusal::{is_status, words};
use super::{LABEL, LABEL_OWNER, deliver};
use crate::backend::owner;
use crate::model::{Endpoint, Fault};

/// Tries for one removal: an engine under load refuses now and then.
const TRIES: u32 = 4;

/// What [`clean`] did.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Names of containers and volumes that were removed.
    pub removed: Vec<String>,
    /// Names of those that belong to a sweep at work, and were left.
    pub in_use: Vec<String>,
    /// Those that could not be removed, with the engine's words.
    pub failed: Vec<String>,
}

/// Removes what earlier sweeps left on an engine; what a sweep at work made is left alone unless `force` is set.
///
/// # Errors
/// Where the engine does not answer.
pub async fn clean(endpoint: &Endpoint, force: bool) -> Result<Cleaned, Fault> {
    let engine = Engine::reach(endpoint).await?;
    let mut cleaned = Cleaned::default();
    for container in list(&engine, LABEL).await.map_err(|error| super::refusal::engine_fault(&error))? {
        let name = name_of(&container);
        if !force && at_work(&container.labels.unwrap_or_default()) {
            cleaned.in_use.push(name);
        } else {
            note(&mut cleaned, &name, remove_container(&engine, &name).await);
        }
    }
    for (volume, labels) in volumes(&engine, LABEL).await {
        if !force && at_work(&labels) {
            cleaned.in_use.push(volume);
        } else {
            note(&mut cleaned, &volume, deliver::remove_volume(&engine, &volume).await);
        }
    }
    Ok(cleaned)
}

fn at_work(labels: &HashMap<String, String>) -> bool {
    labels.get(LABEL_OWNER).is_some_and(|owner| owner::is_alive(owner))
}

fn note(cleaned: &mut Cleaned, name: &str, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => cleaned.removed.push(name.to_owned()),
        Err(words) => cleaned.failed.push(format!("{name}: {words}")),
    }
}

/// Removes everything of one run, and returns what is left all the same.
pub(super) async fn remove_run(engine: &Engine, run: &str) -> Vec<String> {
    let label = format!("{LABEL}={run}");
    let mut left = Vec::new();
    match list(engine, &label).await {
        Ok(containers) => {
            for container in containers {
                let name = name_of(&container);
                left.extend(
                    remove_container(engine, &name).await.err().map(|words| format!("{name}: {words}")),
                );
            }
        }
        Err(words) => left.push(format!("containers labelled {label}: {words}")),
    }
    for (volume, _) in volumes(engine, &label).await {
        left.extend(
            deliver::remove_volume(engine, &volume).await.err().map(|words| format!("{volume}: {words}")),
        );
    }
    left
}

/// Removes one container, running or not; one that is not there counts as removed.
pub(super) async fn remove_container(engine: &Engine, name: &str) -> Result<(), String> {
    let mut last = String::new();
    for attempt in 0..TRIES {
        let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
        match engine.docker.remove_container(name, Some(options)).await {
            Ok(()) => return Ok(()),
            Err(error) if is_status(&error, 404) => return Ok(()),
            // Somebody else is at it: look again whether it is gone.
            Err(error) => last = words(&error),
        }
        tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
    }
    Err(last)
}

async fn list(engine: &Engine, label: &str) -> Result<Vec<ContainerSummary>, String> {
    let options =
        ListContainersOptions { all: true, filters: Some(by(label)), ..ListContainersOptions::default() };
    engine.docker.list_containers(Some(options)).await.map_err(|error| words(&error))
}

async fn volumes(engine: &Engine, label: &str) -> Vec<(String, HashMap<String, String>)> {
    let options = ListVolumesOptions { filters: Some(by(label)) };
    let found = engine.docker.list_volumes(Some(options)).await.ok().and_then(|found| found.volumes);
    found.unwrap_or_default().into_iter().map(|volume| (volume.name, volume.labels)).collect()
}

fn by(label: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![label.to_owned()])])
}

fn name_of(container: &ContainerSummary) -> String {
    let named = container.names.as_ref().and_then(|names| names.first());
    named
        .map(|name| name.trim_start_matches('/').to_owned())
        .or_else(|| container.id.clone())
        .unwrap_or_default()
}
