//! Ways of exposing a GPU to a container, in a closed vocabulary that every back end lowers.
//!
//! Main types: [`Visibility`] and [`Grant`]. Which presets exist is the matrix's business, what an engine makes of a
//! grant is the back end's.

use gpusweep_report::{VISIBILITY_VARIABLES, one_line};
use serde::{Deserialize, Serialize};

use super::Stack;

/// A named way of exposing a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    /// Name in the matrix and in every table.
    pub name: String,
    /// What the container is given; empty = a plain container.
    pub grants: Vec<Grant>,
}

/// One thing that a container is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// What `docker run --gpus` asks for.
    DeviceRequest {
        /// Driver name; empty = the engine's choice.
        driver: String,
        /// How many GPUs: -1 = all, 0 = those of `ids`.
        count: i64,
        /// Indices or UUIDs; empty where `count` says it.
        ids: Vec<String>,
        /// Driver capabilities beside `gpu`.
        capabilities: Vec<String>,
    },
    /// A device by its fully qualified CDI name, such as `nvidia.com/gpu=all`.
    Cdi(String),
    /// A device node, or a directory of them.
    DeviceNode {
        /// Path on the host and in the container.
        path: String,
        /// Any of `r`, `w`, `m`.
        permissions: String,
    },
    /// The OCI runtime, by the name that the engine knows it under.
    Runtime(String),
    /// A variable; an empty value stays set and empty.
    Env {
        /// Name.
        name: String,
        /// Value.
        value: String,
    },
    /// A variable that is not set, whatever the image says.
    Unset(String),
    /// A supplementary group, by number.
    Group(u32),
    /// The groups that own the GPU device nodes of the host.
    HostGroups,
    /// Size of `/dev/shm`, in bytes.
    ShmSize(u64),
    /// IPC mode, such as `host`.
    Ipc(String),
    /// A resource limit.
    Ulimit {
        /// Name, such as `memlock`.
        name: String,
        /// Soft limit; -1 = unlimited.
        soft: i64,
        /// Hard limit; -1 = unlimited.
        hard: i64,
    },
    /// A security option, such as `seccomp=unconfined`.
    Security(String),
    /// Everything at once. Marked in every table.
    Privileged,
}

/// Which of a machine's GPUs a grant asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks<'a> {
    /// Every one.
    All,
    /// So many, whichever they are.
    Count(u32),
    /// Those of these names: indices, UUIDs, or what a vendor's tool makes of them.
    Named(Vec<&'a str>),
}

/// Whether an OCI runtime of this name exposes nothing of its own, so that one in place of another makes no difference.
#[must_use]
pub fn is_plain_runtime(name: &str) -> bool {
    matches!(name, "runc" | "crun" | "youki" | "oci" | "io.containerd.runc.v2")
}

/// Who makes the GPU that a grant exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vendor {
    /// NVIDIA, with CUDA.
    Nvidia,
    /// AMD, with ROCm.
    Amd,
}

impl Vendor {
    /// The stack that runs on this vendor's GPUs.
    #[must_use]
    pub const fn stack(self) -> Stack {
        match self {
            Self::Nvidia => Stack::Cuda,
            Self::Amd => Stack::Rocm,
        }
    }

    /// The name in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
        }
    }

    /// The vendor whose driver makes device nodes of this name; none for those that any may make.
    #[must_use]
    pub fn of_node(path: &str) -> Option<Self> {
        if path.starts_with("/dev/nvidia") {
            Some(Self::Nvidia)
        } else {
            path.starts_with("/dev/kfd").then_some(Self::Amd)
        }
    }

    /// The vendor of a device by its CDI name.
    fn of_cdi(name: &str) -> Option<Self> {
        match name.split_once('/')?.0 {
            "nvidia.com" => Some(Self::Nvidia),
            "amd.com" => Some(Self::Amd),
            _ => None,
        }
    }

    /// The vendor whose runtime has that name. NVIDIA's toolkit also installs `nvidia-cdi` and `nvidia-legacy`.
    fn of_runtime(name: &str) -> Option<Self> {
        match name.split('-').next()? {
            "nvidia" => Some(Self::Nvidia),
            "amd" => Some(Self::Amd),
            _ => None,
        }
    }
}

impl Grant {
    /// The vendor whose GPU this grant exposes; none where it exposes none, or any.
    #[must_use]
    pub fn vendor(&self) -> Option<Vendor> {
        match self {
            Self::DeviceRequest { driver, ids, .. } => match driver.as_str() {
                // Where none is named, every engine before 28.3 asks NVIDIA's.
                "" | "nvidia" => Some(Vendor::Nvidia),
                "amd" => Some(Vendor::Amd),
                "cdi" => ids.iter().find_map(|id| Vendor::of_cdi(id)),
                _ => None,
            },
            Self::Cdi(name) => Vendor::of_cdi(name),
            Self::Runtime(name) => Vendor::of_runtime(name),
            Self::DeviceNode { path, .. } => Vendor::of_node(path),
            Self::Env { .. }
            | Self::Unset(_)
            | Self::Group(_)
            | Self::HostGroups
            | Self::ShmSize(_)
            | Self::Ipc(_)
            | Self::Ulimit { .. }
            | Self::Security(_)
            | Self::Privileged => None,
        }
    }

    /// Whether this is a variable whose value must not be shown: its name says so, or its value looks like a secret. The
    /// visibility variables are what a sweep is about, and are shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        const HIDDEN: [&str; 3] = ["[redacted]", "[url]", "[uuid]"];
        const NAMES: [&str; 6] = ["token", "secret", "passw", "credential", "key", "auth"];
        let Self::Env { name, value } = self else { return false };
        if VISIBILITY_VARIABLES.contains(&name.as_str()) {
            return false;
        }
        let lower = name.to_lowercase();
        let cleaned = one_line(&format!("{name}={value}"), &[]);
        NAMES.iter().any(|word| lower.contains(word)) || HIDDEN.iter().any(|mark| cleaned.contains(mark))
    }

    /// Which GPUs it asks for by itself; none where it asks for none, or names no number and no name.
    #[must_use]
    pub fn asks(&self) -> Option<Asks<'_>> {
        match self {
            Self::DeviceRequest { count, ids, .. } if ids.is_empty() => {
                Some(u32::try_from(*count).map_or(Asks::All, Asks::Count))
            }
            Self::DeviceRequest { ids, .. } => Some(Asks::Named(ids.iter().map(String::as_str).collect())),
            Self::Cdi(name) => Some(Asks::Named(name.rsplit('=').take(1).collect())),
            Self::Env { name, value }
                if name == "NVIDIA_VISIBLE_DEVICES" || name == "AMD_VISIBLE_DEVICES" =>
            {
                let named = || Asks::Named(value.split(',').collect());
                (!matches!(value.as_str(), "" | "void" | "none")).then(named)
            }
            Self::Env { .. }
            | Self::Unset(_)
            | Self::DeviceNode { .. }
            | Self::Runtime(_)
            | Self::Group(_)
            | Self::HostGroups
            | Self::ShmSize(_)
            | Self::Ipc(_)
            | Self::Ulimit { .. }
            | Self::Security(_)
            | Self::Privileged => None,
        }
    }

    /// Whether this grant may let a GPU in.
    #[must_use]
    pub fn exposes_gpu(&self) -> bool {
        let any_vendor = matches!(
            self,
            Self::DeviceRequest { .. } | Self::Cdi(_) | Self::DeviceNode { .. } | Self::Privileged
        );
        any_vendor || self.vendor().is_some()
    }
}

impl Visibility {
    /// Whether any grant may let a GPU in.
    #[must_use]
    pub fn exposes_gpu(&self) -> bool {
        self.grants.iter().any(Grant::exposes_gpu)
    }

    /// Whether it asks for the privileged mode.
    #[must_use]
    pub fn privileged(&self) -> bool {
        self.grants.contains(&Grant::Privileged)
    }
}
