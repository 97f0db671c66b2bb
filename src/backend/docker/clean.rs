//! Removes containers and volumes by label: those of one run, and those that a crashed sweep left.
//!
//! Containers go first, since a volume in use cannot be removed.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListVolumesOptions, RemoveContainerOptions};

use super::engine::Engine;
use super::refusal::{engine_fault, is_status, words};
use super::{LABEL, LABEL_DEADLINE, LABEL_OWNER, deliver, inspect};
use crate::backend::owner::{self, Life};
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
    let unanswered = |words: String| engine_fault(&words);
    let mut cleaned = Cleaned::default();
    for container in list(&engine, LABEL).await.map_err(unanswered)? {
        let name = name_of(&container);
        let labels = container.labels.unwrap_or_default();
        if inherited(&engine, container.image_id.as_deref(), &labels).await {
            continue;
        }
        if force || abandoned(&labels) {
            note(&mut cleaned, &name, remove_container(&engine, &name).await);
        } else {
            cleaned.in_use.push(name);
        }
    }
    for (volume, labels) in volumes(&engine, LABEL).await.map_err(unanswered)? {
        if force || abandoned(&labels) {
            note(&mut cleaned, &volume, deliver::remove_volume(&engine, &volume).await);
        } else {
            cleaned.in_use.push(volume);
        }
    }
    Ok(cleaned)
}

/// A container bears the labels of its image too: one that anybody made of an image with our label is not ours.
async fn inherited(engine: &Engine, image: Option<&str>, labels: &HashMap<String, String>) -> bool {
    let Some(image) = image else { return false };
    let found = engine.docker.inspect_image(image).await.ok().and_then(|image| image.config);
    let of_image = found.and_then(|config| config.labels).unwrap_or_default();
    of_image.get(LABEL).is_some_and(|value| labels.get(LABEL) == Some(value))
}

/// Whether no controller can be waiting for it any more. Where that cannot be seen from here, its deadline decides; what
/// has neither was not made by a sweep that is at work.
fn abandoned(labels: &HashMap<String, String>) -> bool {
    match labels.get(LABEL_OWNER).map(|owner| owner::life(owner)) {
        None | Some(Life::Dead) => true,
        Some(Life::Alive) => false,
        Some(Life::Unknown) => {
            let deadline = labels.get(LABEL_DEADLINE).and_then(|deadline| deadline.parse::<i64>().ok());
            deadline.is_some_and(|deadline| deadline < jiff::Timestamp::now().as_second())
        }
    }
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
    let not_listed = |what: &str, words: String| format!("{what} labelled {label}: {words}");
    match list(engine, &label).await {
        Ok(containers) => {
            for name in containers.iter().map(name_of) {
                let removed = remove_container(engine, &name).await;
                left.extend(removed.err().map(|words| format!("{name}: {words}")));
            }
        }
        Err(words) => left.push(not_listed("containers", words)),
    }
    match volumes(engine, &label).await {
        Ok(volumes) => {
            for (name, _) in volumes {
                let removed = deliver::remove_volume(engine, &name).await;
                left.extend(removed.err().map(|words| format!("{name}: {words}")));
            }
        }
        Err(words) => left.push(not_listed("volumes", words)),
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
    inspect::containers(engine, label).await.map_err(|error| words(&error))
}

async fn volumes(engine: &Engine, label: &str) -> Result<Vec<(String, HashMap<String, String>)>, String> {
    let options = ListVolumesOptions { filters: Some(by(label)) };
    let found = engine.docker.list_volumes(Some(options)).await.map_err(|error| words(&error))?;
    Ok(found.volumes.unwrap_or_default().into_iter().map(|volume| (volume.name, volume.labels)).collect())
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
