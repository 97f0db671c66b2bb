//! What a worker tells the supervisor over a descriptor of its own: one JSON message a line.
//!
//! Main type: [`Message`]. The Python worker writes the same lines by hand; workers in Rust write these types. It all
//! comes from inside the image, and is not to be believed further than its shape.

#![expect(
    missing_docs,
    reason = "the fields of facts are those of the report's blocks, which have the documentation"
)]

use serde::{Deserialize, Serialize};

use crate::Stage;

/// What a native worker is told, as one line of JSON on its standard input.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The descriptor to write messages to.
    pub fd: i32,
    /// As in the report's request: `cuda:N` or `cpu`.
    pub device: String,
    /// What to check.
    pub target: Target,
}

/// What a native worker is to check.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// The libtorch in this folder.
    Libtorch(std::path::PathBuf),
    /// NVIDIA's driver.
    Cuda,
    /// AMD's HIP runtime.
    Hip,
}

/// One line of the worker's report.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Message {
    /// It begins with this stage.
    Stage(Stage),
    /// The interpreter.
    Runtime(RuntimeFacts),
    /// The torch that it imported; a later one replaces an earlier one.
    Pytorch(Box<PytorchFacts>),
    /// The driver that it loaded; a later one replaces an earlier one.
    Driver(Box<DriverFacts>),
    /// The last line.
    Result(Outcome),
}

/// Facts of the interpreter.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeFacts {
    /// Null where no interpreter runs.
    pub python_version: Option<String>,
    /// C library and its version, such as `glibc 2.36`.
    pub libc: Option<String>,
    /// As in [`crate::Runtime::binding`]; the Python worker has none.
    #[serde(default)]
    pub binding: Option<String>,
    /// Whether the working directory holds something that would stand in for torch.
    #[serde(default)]
    pub torch_shadowed: bool,
}

/// Facts of torch.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PytorchFacts {
    pub version: Option<String>,
    pub cuda_build: Option<String>,
    pub hip_build: Option<String>,
    pub gpu_available: Option<bool>,
    pub visible_device_count: Option<u32>,
    pub arch_list: Option<Vec<String>>,
    pub devices: Option<Vec<DeviceFacts>>,
}

/// Facts of a driver; see [`crate::Driver`] for each.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DriverFacts {
    pub api: String,
    pub library: Option<String>,
    pub version: Option<i32>,
    pub init_result: Option<i32>,
    pub init_name: Option<String>,
    pub device_count: Option<u32>,
    pub devices: Option<Vec<DeviceFacts>>,
}

/// Facts of one device.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    pub index: u32,
    pub name: String,
    pub architecture: Option<String>,
    pub memory_bytes: Option<u64>,
    /// Never leaves the checker as it is.
    #[serde(default)]
    pub uuid: Option<String>,
}

/// How the worker's own part ended.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Outcome {
    /// It has values; whether they are right is not for it to say.
    Computed(Computed),
    /// It could not go on in the stage it had told last.
    Failed(Failed),
}

/// The results, with numbers as text: JSON has no NaN.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    pub product: Vec<Vec<String>>,
    pub gradient: Vec<Vec<String>>,
    pub loss: String,
    pub product_device: String,
    pub gradient_device: String,
}

/// Why the worker could not go on.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    pub reason: Reason,
    pub error: Option<Described>,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// There is no torch.
    Missing,
    /// torch declares no GPU backend.
    Absent,
    /// No GPU is usable.
    Unavailable,
    /// The index is out of range.
    Index,
    /// This worker has no way to use what it found; says nothing of that.
    Misfit,
    /// An error that torch calls an out-of-memory one.
    Memory,
    /// Any other error.
    Error,
}

/// An exception.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}
