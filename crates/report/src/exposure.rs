//! The block of a report that tells what of a GPU reached the process.
//!
//! Main type: [`Exposure`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What of a GPU reached this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Exposure {
    /// Device nodes, opened read-write.
    pub nodes: Vec<Node>,
    /// Driver libraries that the loader would find.
    pub libraries: Vec<Library>,
    /// Visibility variables: null = unset, `""` = set and empty.
    pub variables: BTreeMap<String, Option<String>>,
    /// Size of `/dev/shm` in bytes; null where it is not mounted.
    pub shm_bytes: Option<u64>,
    /// Soft limit of locked memory in bytes; null = unlimited.
    pub memlock_bytes: Option<u64>,
    /// Effective user id.
    pub uid: u32,
    /// Effective and supplementary group ids.
    pub groups: Vec<u32>,
    /// Whether user ids inside are those outside; null where it cannot be read.
    pub uid_map_identity: Option<bool>,
    /// Version of the loaded NVIDIA kernel driver; null where there is none.
    pub nvidia_driver: Option<String>,
    /// GPU nodes of the AMD kernel driver's topology; null where there is none.
    pub kfd_gpu_nodes: Option<u32>,
    /// Devices that appear once all visibility variables are removed; null where that was not tried.
    pub devices_without_variables: Option<u32>,
}

/// The variables that decide which GPUs a process sees: the only ones whose values may stand in reports.
pub const VISIBILITY_VARIABLES: [&str; 8] = [
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "AMD_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
];

/// One device node and what opening it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The node, such as `/dev/kfd`.
    pub node: String,
    /// `ok`, or the name of the errno, such as `EACCES`.
    pub open: String,
    /// Group that owns the node; null where it does not exist.
    pub gid: Option<u32>,
}

/// One driver library that the loader would find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Name with its version suffix, such as `libcuda.so.580.159`.
    pub name: String,
    /// Whether it lies under a forward-compatibility directory.
    pub compat: bool,
}
