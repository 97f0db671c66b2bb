//! What a container engine says of itself.
//!
//! Main type: [`EngineFacts`]. What follows from it is not its business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a container engine says of itself. Texts are the engine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFacts {
    /// `Docker Engine` or `Podman`.
    pub name: String,
    /// Version.
    pub version: Option<String>,
    /// Newest version of the API that it speaks.
    pub api_version: Option<String>,
    /// Operating system of its machine.
    pub system: Option<String>,
    /// Kernel of its machine.
    pub kernel: Option<String>,
    /// Architecture of its machine, as uname gives it.
    pub arch: Option<String>,
    /// Version of control groups: `1` or `2`.
    pub cgroup_version: Option<String>,
    /// What manages control groups, such as `systemd`.
    pub cgroup_driver: Option<String>,
    /// Whether it runs without root's rights.
    pub rootless: bool,
    /// Storage driver.
    pub storage: Option<String>,
    /// Security options, as it names them.
    pub security: Vec<String>,
    /// OCI runtimes by name.
    pub runtimes: Vec<RuntimeFacts>,
    /// The runtime of containers that ask for none.
    pub default_runtime: Option<String>,
    /// Folders in which it looks for CDI specifications; empty where it has no CDI, or does not say.
    pub cdi_directories: Vec<String>,
    /// Devices that it found in them, by their full names.
    pub cdi_devices: Vec<String>,
    /// Where it keeps its data.
    pub root_directory: Option<String>,
    /// Name of its machine. Used to tell whether that is this one, and never shown.
    #[serde(skip)]
    #[schemars(skip)]
    pub machine: Option<String>,
}

/// One OCI runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeFacts {
    /// Name.
    pub name: String,
    /// Program, as configured.
    pub path: Option<String>,
}

impl EngineFacts {
    /// Whether it is Podman, which speaks Docker's API and honours less of it.
    #[must_use]
    pub fn is_podman(&self) -> bool {
        self.name == "Podman"
    }

    /// Major and minor version.
    #[must_use]
    pub fn release(&self) -> Option<(u32, u32)> {
        let mut parts = self.version.as_deref()?.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
    }
}
