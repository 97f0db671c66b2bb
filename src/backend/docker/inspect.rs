//! Reads what engines say of containers, also where they have words that Docker's API does not know: Podman calls one that
//! ended "stopped" until it has put it away, and the client refuses the whole answer for it.
//!
//! Main functions: [`container`] and [`containers`]. What cannot be read is left out, alone.

use std::collections::HashMap;

use bollard::errors::Error;
use bollard::models::{
    ContainerConfig, ContainerInspectResponse, ContainerState, ContainerSummary, HostConfig,
};
use bollard::query_parameters::ListContainersOptions;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::engine::Engine;

/// What the engine says of one container.
pub(super) async fn container(engine: &Engine, name: &str) -> Result<ContainerInspectResponse, Error> {
    match engine.docker.inspect_container(name, None).await {
        Err(Error::JsonDataError { contents, message, column }) => {
            readable_container(&contents).ok_or(Error::JsonDataError { contents, message, column })
        }
        answer => answer,
    }
}

/// Containers with a label, or with a value of it, whatever their state.
pub(super) async fn containers(engine: &Engine, label: &str) -> Result<Vec<ContainerSummary>, Error> {
    let filters = HashMap::from([("label".to_owned(), vec![label.to_owned()])]);
    let options =
        ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
    match engine.docker.list_containers(Some(options)).await {
        Err(Error::JsonDataError { contents, message, column }) => {
            readable_list(&contents).ok_or(Error::JsonDataError { contents, message, column })
        }
        answer => answer,
    }
}

/// The parts of an inspect that this program reads.
fn readable_container(text: &str) -> Option<ContainerInspectResponse> {
    let answer: Map<String, Value> = serde_json::from_str(text).ok()?;
    Some(ContainerInspectResponse {
        state: answer.get("State").and_then(readable::<ContainerState>),
        config: answer.get("Config").and_then(readable::<ContainerConfig>),
        host_config: answer.get("HostConfig").and_then(readable::<HostConfig>),
        ..ContainerInspectResponse::default()
    })
}

fn readable_list(text: &str) -> Option<Vec<ContainerSummary>> {
    let answer: Vec<Value> = serde_json::from_str(text).ok()?;
    answer.iter().map(readable).collect()
}

/// An object with those of its fields that can be read.
fn readable<T: DeserializeOwned>(value: &Value) -> Option<T> {
    let alone = |name: &str, value: &Value| Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    let fits = |(name, value): &(&String, &Value)| serde_json::from_value::<T>(alone(name, value)).is_ok();
    let fields = value.as_object()?.iter().filter(fits);
    let kept: Map<String, Value> = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    serde_json::from_value(kept.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Podman 5.4 right after a container was killed, cut to the fields that are read.
    const STOPPED: &str = r#"{"Id":"abc","State":{"Status":"stopped","OOMKilled":true,"ExitCode":137},
        "HostConfig":{"NetworkMode":"none","Isolation":"of its own"},"Config":{"Env":["A=1"]}}"#;

    #[test]
    fn one_word_of_its_own_hides_nothing_else() {
        assert!(
            serde_json::from_str::<ContainerInspectResponse>(STOPPED).is_err(),
            "no reason to be lenient"
        );
        let found = readable_container(STOPPED).unwrap();
        let state = found.state.unwrap();
        assert_eq!((state.status, state.oom_killed, state.exit_code), (None, Some(true), Some(137)));
        assert_eq!(found.host_config.unwrap().network_mode.as_deref(), Some("none"));
        assert_eq!(found.config.unwrap().env, Some(vec!["A=1".to_owned()]));
    }

    #[test]
    fn no_container_is_missing_from_a_list() {
        let list = r#"[{"Id":"a","Names":["/one"],"State":"stopped","Labels":{"gpusweep":"run"}},{"Id":"b","State":"exited"}]"#;
        assert!(serde_json::from_str::<Vec<ContainerSummary>>(list).is_err(), "no reason to be lenient");
        let found = readable_list(list).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].names, Some(vec!["/one".to_owned()]));
        assert_eq!(found[0].labels.as_ref().unwrap()["gpusweep"], "run");
        assert_eq!(readable_list("{}"), None);
    }
}
