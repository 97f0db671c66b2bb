//! Finds the socket that `docker` itself would talk to.
//!
//! Main function: [`socket`]. Contexts are described in docker's documentation under "Docker contexts"; each lies in a
//! folder that is named by the SHA-256 of its name.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::model::{Endpoint, hex};

/// Where the engine listens unless something says otherwise.
const DEFAULT: &str = "/var/run/docker.sock";

/// Why no socket can be named.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It points at something that is not a unix socket.
    #[error(
        "{origin} names an engine over {scheme}, and this version reaches unix sockets only: forward one with `ssh -N -L`"
    )]
    NotUnix {
        /// What said so.
        origin: String,
        /// How it is to be reached.
        scheme: String,
    },
    /// The context cannot be read.
    #[error("the docker context `{0}` cannot be read")]
    Context(String),
}

/// The path of the socket behind an endpoint.
///
/// # Errors
/// Where the environment or the docker configuration names something that is not a unix socket.
pub fn socket(endpoint: &Endpoint) -> Result<String, EndpointError> {
    match endpoint {
        Endpoint::Unix(path) => Ok(path.clone()),
        Endpoint::Current => current(&|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
    }
}

fn current(variable: &dyn Fn(&str) -> Option<String>) -> Result<String, EndpointError> {
    if let Some(host) = variable("DOCKER_HOST") {
        return unix_path("DOCKER_HOST", &host);
    }
    let folder = variable("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".docker")));
    let Some(folder) = folder else { return Ok(DEFAULT.to_owned()) };
    let name = variable("DOCKER_CONTEXT").or_else(|| current_context(&folder));
    match name.as_deref() {
        None | Some("default") => Ok(DEFAULT.to_owned()),
        Some(name) => context_socket(&folder, name),
    }
}

fn current_context(folder: &Path) -> Option<String> {
    let config = read_json(&folder.join("config.json"))?;
    config.get("currentContext")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn context_socket(folder: &Path, name: &str) -> Result<String, EndpointError> {
    let directory = hex(&Sha256::digest(name));
    let meta = read_json(&folder.join("contexts/meta").join(directory).join("meta.json"));
    let host = meta.as_ref().and_then(|meta| meta.pointer("/Endpoints/docker/Host")).and_then(Value::as_str);
    match host {
        Some(host) => unix_path(&format!("the docker context `{name}`"), host),
        None => Err(EndpointError::Context(name.to_owned())),
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn unix_path(origin: &str, endpoint: &str) -> Result<String, EndpointError> {
    match endpoint.strip_prefix("unix://") {
        Some(path) if path.starts_with('/') => Ok(path.to_owned()),
        Some(_) | None => {
            let scheme = endpoint.split("://").next().unwrap_or_default();
            Err(EndpointError::NotUnix { origin: origin.to_owned(), scheme: scheme.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(variables: &[(&str, &str)]) -> Result<String, EndpointError> {
        current(&|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn docker_host_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().to_str().unwrap();
        assert_eq!(
            resolve(&[("DOCKER_HOST", "unix:///x.sock"), ("DOCKER_CONFIG", config)]).unwrap(),
            "/x.sock"
        );
        let error = resolve(&[("DOCKER_HOST", "tcp://h:2375")]).unwrap_err().to_string();
        assert!(error.contains("DOCKER_HOST names an engine over tcp"), "{error}");
    }

    #[test]
    fn the_current_context_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().to_str().unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"currentContext":"ci"}"#).unwrap();
        assert!(
            matches!(resolve(&[("DOCKER_CONFIG", config)]), Err(EndpointError::Context(name)) if name == "ci")
        );
        let digest = hex(&Sha256::digest("ci"));
        let meta = folder.path().join("contexts/meta").join(digest);
        std::fs::create_dir_all(&meta).unwrap();
        std::fs::write(meta.join("meta.json"), r#"{"Endpoints":{"docker":{"Host":"unix:///ci.sock"}}}"#)
            .unwrap();
        assert_eq!(resolve(&[("DOCKER_CONFIG", config)]).unwrap(), "/ci.sock");
        assert_eq!(resolve(&[("DOCKER_CONFIG", config), ("DOCKER_CONTEXT", "default")]).unwrap(), DEFAULT);
        assert_eq!(resolve(&[]).unwrap(), DEFAULT);
    }
}
