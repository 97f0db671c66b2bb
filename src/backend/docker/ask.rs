//! Asks an engine what it is and has, and starts nothing there.
//!
//! Main function: [`ask`].

use bollard::models::{Runtime, SystemInfo, SystemVersion};

use super::engine::{Engine, Kind};
use crate::model::{Endpoint, EngineFacts, Fault, RuntimeFacts};

/// What the engine behind an endpoint says of itself.
///
/// # Errors
/// Where it does not answer.
pub async fn ask(endpoint: &Endpoint) -> Result<EngineFacts, Fault> {
    let (_, info, version) = Engine::introduced(endpoint).await?;
    Ok(facts(version, info))
}

fn facts(version: SystemVersion, info: SystemInfo) -> EngineFacts {
    let name = match Kind::of(&version) {
        Kind::Docker => "Docker Engine",
        Kind::Podman => "Podman",
    };
    let security = info.security_options.unwrap_or_default();
    let cdi_devices = info.discovered_devices.unwrap_or_default();
    EngineFacts {
        name: name.to_owned(),
        version: version.version.or(info.server_version),
        api_version: version.api_version,
        system: info.operating_system,
        kernel: info.kernel_version,
        arch: info.architecture,
        cgroup_version: info.cgroup_version.map(|version| version.to_string()),
        cgroup_driver: info.cgroup_driver.map(|driver| driver.to_string()),
        rootless: security.iter().any(|option| option.split(',').any(|part| part == "name=rootless")),
        storage: info.driver,
        security,
        runtimes: runtimes(info.runtimes.unwrap_or_default()),
        default_runtime: info.default_runtime,
        cdi_directories: info.cdi_spec_dirs.unwrap_or_default(),
        cdi_devices: cdi_devices
            .into_iter()
            .filter(|device| device.source.as_deref() == Some("cdi"))
            .filter_map(|device| device.id)
            .collect(),
        root_directory: info.docker_root_dir,
        machine: info.name,
    }
}

fn runtimes(found: std::collections::HashMap<String, Runtime>) -> Vec<RuntimeFacts> {
    let mut runtimes: Vec<RuntimeFacts> =
        found.into_iter().map(|(name, runtime)| RuntimeFacts { name, path: runtime.path }).collect();
    runtimes.sort_by(|a, b| a.name.cmp(&b.name));
    runtimes
}
