//! Where Podman's command line differs from Docker's.
//!
//! Main function: [`flags`]. Measured with Podman 4.3 and read of Podman 5: `--gpus` came with 5 and means CDI devices of
//! NVIDIA's, which 4 takes by their names as well; a variable without a value leaves what the image sets; a reference
//! without a registry is looked for in several.

use super::quoted;
use crate::matrix::is_domain;
use crate::model::{Grant, Vendor};

/// The flags for a grant; none where they are Docker's.
///
/// Groups stay numbers. `--group-add keep-groups` would hand on those of the caller, which is another exposure than the
/// one that the cell had through the engine's socket.
pub(super) fn flags(grant: &Grant) -> Option<Vec<String>> {
    match grant {
        Grant::DeviceRequest { driver, count, ids, .. } => devices(grant, driver, *count, ids),
        // Podman's own runtime is plain whatever its name, and a host may have but one.
        Grant::Runtime(name) if matches!(name.as_str(), "runc" | "crun") => Some(Vec::new()),
        Grant::Unset(name) => Some(vec![format!("--unsetenv {}", quoted(name))]),
        Grant::Cdi(_)
        | Grant::DeviceNode { .. }
        | Grant::Runtime(_)
        | Grant::Env { .. }
        | Grant::Group(_)
        | Grant::HostGroups
        | Grant::ShmSize(_)
        | Grant::Ipc(_)
        | Grant::Ulimit { .. }
        | Grant::Security(_)
        | Grant::Privileged => None,
    }
}

/// The CDI devices of a device request; none where nobody can say whose they are.
fn devices(grant: &Grant, driver: &str, count: i64, ids: &[String]) -> Option<Vec<String>> {
    let kind = match grant.vendor()? {
        Vendor::Nvidia => "nvidia.com/gpu",
        Vendor::Amd => "amd.com/gpu",
    };
    let names: Vec<String> = match (driver, ids, count) {
        ("cdi", ids, _) => ids.to_vec(),
        (_, [], ..0) => vec![format!("{kind}=all")],
        // A number of GPUs is the first ones.
        (_, [], count) => (0..count).map(|index| format!("{kind}={index}")).collect(),
        (_, ids, _) => ids.iter().map(|id| format!("{kind}={id}")).collect(),
    };
    Some(names.iter().map(|name| format!("--device {}", quoted(name))).collect())
}

/// The reference as Podman's service completes it.
pub(super) fn qualified(reference: &str) -> String {
    match reference.split_once('/') {
        Some((registry, _)) if is_domain(registry) => reference.to_owned(),
        Some(_) => format!("docker.io/{reference}"),
        None => format!("docker.io/library/{reference}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(driver: &str, count: i64, ids: &[&str]) -> String {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let capabilities = vec!["compute".to_owned()];
        let grant = Grant::DeviceRequest { driver: driver.into(), count, ids, capabilities };
        flags(&grant).map_or_else(|| "as docker".to_owned(), |flags| flags.join(" "))
    }

    #[test]
    fn gpus_are_cdi_devices() {
        assert_eq!(request("", -1, &[]), "--device 'nvidia.com/gpu=all'");
        assert_eq!(request("", 2, &[]), "--device 'nvidia.com/gpu=0' --device 'nvidia.com/gpu=1'");
        assert_eq!(
            request("nvidia", 0, &["1", "GPU-5f"]),
            "--device 'nvidia.com/gpu=1' --device 'nvidia.com/gpu=GPU-5f'"
        );
        assert_eq!(request("amd", -1, &[]), "--device 'amd.com/gpu=all'");
        assert_eq!(request("cdi", 0, &["amd.com/gpu=1"]), "--device 'amd.com/gpu=1'");
        assert_eq!(request("other", 1, &[]), "as docker");
    }

    #[test]
    fn references_name_their_registry() {
        assert_eq!(qualified("python:3"), "docker.io/library/python:3");
        assert_eq!(qualified("rocm/pytorch:latest"), "docker.io/rocm/pytorch:latest");
        for whole in ["localhost/a:1", "registry.example/a/b", "host:5000/a@sha256:0"] {
            assert_eq!(qualified(whole), whole);
        }
    }
}
