//! What `gpusweep doctor` says of each engine.

use serde_json::Value;

use super::{Answer, Engine};
use crate::engine::gpusweep;

pub(super) fn knows(engine: &Engine) {
    let output =
        gpusweep().args(["doctor", "--format", "json", "--host", &engine.socket()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let examined: Value = serde_json::from_slice(&output.stdout).unwrap();
    let host = &examined["hosts"][0];
    let (kind, version) = engine.name.split_once('-').unwrap();
    let name = if kind == "podman" { "Podman" } else { "Docker Engine" };
    assert_eq!(host["engine"]["name"], name);
    assert!(host["engine"]["version"].as_str().unwrap().starts_with(version), "{host:#}");
    assert!(!host["engine"]["runtimes"].as_array().unwrap().is_empty(), "{host:#}");
    let found: Vec<&str> =
        host["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(found.contains(&"no-cdi"), engine.name == "docker-20.10", "{found:?}");
    assert_eq!(found.contains(&"podman-drops-requests"), kind == "podman", "{found:?}");
    assert!(
        !found.contains(&"engine-unreachable") && !found.contains(&"runtime-without-program"),
        "{found:?}"
    );
    if kind == "docker" && engine.cdi == Answer::Does {
        let folders = host["engine"]["cdi_directories"].as_array().unwrap();
        assert!(folders.contains(&Value::from("/etc/cdi")), "{host:#}");
    }
    // From 28.2 on the engine names the devices that it found.
    if engine.name == "docker-28" {
        let devices = host["engine"]["cdi_devices"].as_array().unwrap();
        assert!(devices.contains(&Value::from("nvidia.com/gpu=0")), "{host:#}");
    }
}
