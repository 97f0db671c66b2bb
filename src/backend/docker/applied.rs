//! What the engine's inspect says it set: the middle one of requested, applied, observed.

use bollard::models::{ContainerInspectResponse, HostConfig};
use gpusweep_report::{VISIBILITY_VARIABLES, one_line};
use serde_json::{Map, Value, json};

use super::image::Image;
use crate::model::Applied;

/// Who set them, `docker` or `podman` with its version.
pub(in crate::backend) const ENGINE: &str = "engine";

/// Settings that bear on exposure; those that the engine left empty are absent.
pub(super) fn applied(found: ContainerInspectResponse, image: &Image, engine: &str) -> Applied {
    let mut settings = Map::new();
    let mut note = |name: &str, value: Value| {
        if !is_empty(&value) {
            settings.insert(name.to_owned(), value);
        }
    };
    note(ENGINE, json!(engine));
    let environment = found.config.and_then(|config| config.env).unwrap_or_default();
    note("env", visibility_variables(&environment));
    if let Some(host) = found.host_config {
        for (name, value) in exposure(&host) {
            note(name, value);
        }
    }
    Applied { digest: image.digest.clone(), settings, strangers: None }
}

fn exposure(host: &HostConfig) -> [(&'static str, Value); 11] {
    [
        ("runtime", json!(host.runtime)),
        ("device_requests", json!(host.device_requests)),
        ("devices", json!(host.devices)),
        ("group_add", json!(host.group_add)),
        ("ulimits", json!(host.ulimits)),
        (
            "security_opt",
            json!(
                host.security_opt
                    .as_ref()
                    .map(|options| options.iter().map(|option| named(option)).collect::<Vec<_>>())
            ),
        ),
        ("cap_drop", json!(host.cap_drop)),
        ("shm_size", json!(host.shm_size)),
        ("ipc_mode", json!(host.ipc_mode)),
        ("network_mode", json!(host.network_mode)),
        ("privileged", json!(host.privileged.filter(|privileged| *privileged))),
    ]
}

/// A seccomp profile is applied by its content, which is too long to be shown.
fn named(option: &str) -> &str {
    if option.starts_with("seccomp={") { "seccomp=(a profile)" } else { option }
}

/// Of the environment only the variables that decide on visibility, never another.
fn visibility_variables(environment: &[String]) -> Value {
    let pairs = environment.iter().filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| VISIBILITY_VARIABLES.contains(name))
        // The image may have set it to anything.
        .map(|(name, value)| (name.to_owned(), json!(one_line(value, &[]))))
        .collect::<Map<_, _>>()
        .into()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
