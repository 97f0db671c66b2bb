//! The fields of a report, in the order in which they are written.
//!
//! Main type: [`Report`]. A block that does not apply is `null`, never missing: a reader can tell "not asked" from
//! "an older checker". Unknown fields are refused, so that nothing an image adds travels on in an export.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Code, Exposure};

/// The value of [`Report::schema`].
pub const SCHEMA: &str = "gpusweep.report/1";

/// What the checker found in one container, or on one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the checker that wrote the report.
    pub checker_version: String,
    /// Whether the check held.
    pub status: Status,
    /// What was found.
    pub code: Code,
    /// The checker's exit status, fixed by the code.
    pub exit_code: u8,
    /// The stage at which the check ended; `complete` where it held.
    pub stage: Stage,
    /// What was asked of the checker.
    pub request: Request,
    /// Where the check ran; null where no worker got that far.
    #[serde(deserialize_with = "present")]
    pub runtime: Option<Runtime>,
    /// The torch that was imported; null where none was.
    #[serde(deserialize_with = "present")]
    pub pytorch: Option<Pytorch>,
    /// The vendor's driver as the driver probe met it; null for other probes.
    #[serde(deserialize_with = "present")]
    pub driver: Option<Driver>,
    /// The fixed computation; null where it was not reached.
    #[serde(deserialize_with = "present")]
    pub execution: Option<Execution>,
    /// What of a GPU reached this process; null where the CPU was asked for.
    #[serde(deserialize_with = "present")]
    pub exposure: Option<Exposure>,
    /// The host's own word on its driver; null unless `--host-check` was given.
    #[serde(deserialize_with = "present")]
    pub host_check: Option<HostCheck>,
    /// Every stage that was tried, in order.
    pub checks: Vec<Check>,
    /// The first error; null where there was none.
    #[serde(deserialize_with = "present")]
    pub first_error: Option<FirstError>,
    /// Why it failed, where that is known.
    #[serde(deserialize_with = "present")]
    pub cause: Option<Cause>,
}

/// Keeps serde from reading a missing field as `null`: a plain `Option` field accepts both.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}

/// Whether the check held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The code is one of the two that pass.
    Passed,
    /// Any other code.
    Failed,
}

/// The steps of a check, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// What of a GPU reached the process.
    Exposure,
    /// Which Python runs.
    Interpreter,
    /// Importing torch.
    Import,
    /// Does the package declare CUDA or HIP?
    Backend,
    /// Does this process see a device, and is the index in range?
    Device,
    /// The vendor's driver, asked without torch.
    Driver,
    /// Allocating the inputs on the device.
    Allocate,
    /// The product and the loss.
    Product,
    /// The gradient.
    Gradient,
    /// Waiting for the device and copying back.
    Synchronize,
    /// A representative application.
    Application,
    /// Saving the report.
    Output,
    /// Everything that was asked held.
    Complete,
}

impl Stage {
    /// The name as it stands in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exposure => "exposure",
            Self::Interpreter => "interpreter",
            Self::Import => "import",
            Self::Backend => "backend",
            Self::Device => "device",
            Self::Driver => "driver",
            Self::Allocate => "allocate",
            Self::Product => "product",
            Self::Gradient => "gradient",
            Self::Synchronize => "synchronize",
            Self::Application => "application",
            Self::Output => "output",
            Self::Complete => "complete",
        }
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which probe is asked for, or was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// The first of the others that fits the image.
    #[default]
    Auto,
    /// The image's own Python and torch.
    Python,
    /// The image's libtorch, without Python.
    Libtorch,
    /// The vendor's driver, without torch.
    Driver,
}

impl Probe {
    /// The name as it stands on the command line and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Python => "python",
            Self::Libtorch => "libtorch",
            Self::Driver => "driver",
        }
    }
}

/// What was asked of the checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `cuda:N` (also for ROCm, whose torch device has that name) or `cpu`.
    pub device: String,
    /// Deadline of the computation, in seconds.
    pub timeout_s: u32,
    /// The probe that was asked for.
    pub probe: Probe,
}

/// Where the check ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Version of the interpreter, such as `3.12.4`; null where none ran.
    pub python_version: Option<String>,
    /// `Linux`, as uname gives it.
    pub os_family: String,
    /// Machine architecture as uname gives it, such as `x86_64`.
    pub arch: String,
    /// C library and its version as the interpreter reports it, such as `glibc 2.39`.
    pub libc: Option<String>,
    /// How the interpreter was found: `path`, `venv`, `conda`, `configured`, `entrypoint` or `search`.
    pub interpreter: Option<String>,
    /// The probe that ran.
    pub probe: Probe,
    /// Why that probe ran.
    pub chosen: Chosen,
    /// How the probe reached its library: `ops` or `tch` for libtorch, `cuda` or `hip` for a driver; null for Python.
    pub binding: Option<String>,
    /// Place of another interpreter of the image that has torch, where the chosen one has none and this was looked for.
    pub torch_elsewhere: Option<String>,
    /// Whether the working directory holds something that would stand in for the installed torch; it was kept out.
    pub torch_shadowed: bool,
}

/// Why a probe ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// The request names it.
    Asked,
    /// Left to the checker: an interpreter has torch, or fails before that can be known.
    Interpreter,
    /// Left to the checker: no interpreter has torch, but a libtorch was found.
    Libtorch,
    /// Left to the checker: there is neither, but something of a GPU's driver was found.
    Driver,
    /// Left to the checker: nothing that any probe could use was found.
    Nothing,
}

/// The torch that was imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pytorch {
    /// `torch.__version__`.
    pub version: String,
    /// `torch.version.cuda`.
    pub cuda_build: Option<String>,
    /// `torch.version.hip`.
    pub hip_build: Option<String>,
    /// `cuda`, `rocm` or `none`, from the two build versions.
    pub backend: String,
    /// `torch.cuda.is_available()`; null where the CPU was asked for.
    pub gpu_available: Option<bool>,
    /// `torch.cuda.device_count()`; null where the CPU was asked for.
    pub visible_device_count: Option<u32>,
    /// Architectures that the build carries kernels for; null where it was not asked.
    pub arch_list: Option<Vec<String>>,
    /// The devices that this process sees; null where the CPU was asked for.
    pub devices: Option<Vec<Device>>,
}

/// One GPU as torch describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Index inside this process.
    pub index: u32,
    /// Marketing name.
    pub name: String,
    /// `sm_XY` or `gfxNNN`.
    pub architecture: Option<String>,
    /// Total memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Salted digest of the GPU's UUID, never the UUID.
    pub uuid: Option<String>,
}

/// The vendor's driver, asked without torch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// `cuda` or `hip`.
    pub api: String,
    /// The library that was loaded, with its version suffix; null where none could be.
    pub library: Option<String>,
    /// Version as the library gives it: `cuDriverGetVersion` or `hipRuntimeGetVersion`, such as 13000.
    pub version: Option<i32>,
    /// What `cuInit` or `hipInit` returned; null where it was not reached.
    pub init_result: Option<i32>,
    /// Name of that result, such as `CUDA_ERROR_NO_DEVICE`.
    pub init_name: Option<String>,
    /// Devices that the driver counts; null where it was not reached.
    pub device_count: Option<u32>,
    /// The devices that it counts.
    pub devices: Option<Vec<Device>>,
}

/// The fixed computation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// Device that the results were on.
    pub device: String,
    /// Whether the product was exactly the expected one.
    pub product_verified: bool,
    /// Whether the gradient was exactly the expected one.
    pub gradient_verified: bool,
    /// The loss, 196 where all is well; null where it was not reached or is not finite.
    pub loss: Option<f64>,
}

/// The host's own word on its NVIDIA driver. There is no equivalent for ROCm here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostCheck {
    /// Driver version that `nvidia-smi` gives; null where it gave none.
    pub nvidia_driver: Option<String>,
    /// Total memory of the first GPU in MiB that `nvidia-smi` gives; null where it gave none.
    pub memory_total_mib: Option<u64>,
}

/// One stage that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The stage.
    pub name: Stage,
    /// How it ended.
    pub outcome: Outcome,
    /// Wall time, in milliseconds.
    pub elapsed_ms: u64,
}

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It held.
    Passed,
    /// It failed.
    Failed,
    /// It does not apply to what was asked.
    Skipped,
}

/// The first error, cleaned by [`crate::one_line`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FirstError {
    /// Where it happened.
    pub stage: Stage,
    /// Class of the error, such as `ImportError` or `Signal`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line of at most [`crate::MESSAGE_LIMIT`] characters.
    pub message: String,
}

/// Why a check failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Stable name of the cause.
    pub id: String,
    /// What was found, in one sentence.
    pub summary: String,
    /// What to do, beginning with a verb.
    pub next_action: String,
}
