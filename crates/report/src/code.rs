//! The checker's codes: what each means as an exit status and what to look at next.
//!
//! Main type: [`Code`]. It must not know of the controller's own codes, which exist only where there is no report.

use serde::{Deserialize, Serialize};

/// The outcome of one check. The set is closed: scripts match on these names and exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// Product and gradient were verified on the GPU that was asked for.
    GpuCheckPassed,
    /// Product and gradient were verified on the CPU, which is all that was asked for.
    CpuCheckPassed,
    /// The interpreter has no torch, or there is no interpreter at all; the stage tells which.
    TorchMissing,
    /// torch is there, but importing it fails.
    TorchImportFailed,
    /// torch declares neither CUDA nor HIP.
    GpuBackendAbsent,
    /// torch declares a GPU backend, but no GPU is usable in this process.
    GpuUnavailable,
    /// The index asked for is outside the devices that this process sees.
    DeviceIndexInvalid,
    /// The fixed computation gave a wrong value, or its kernel cannot run on this architecture.
    CheckFailed,
    /// The device had too little memory for an allocation of a few bytes.
    OutOfMemory,
    /// Any other error of the backend.
    RuntimeError,
    /// Stopped at a deadline.
    Timeout,
    /// The worker died, or gave no usable report.
    WorkerFailed,
    /// The report could not be saved where `--output` asked for it.
    OutputWriteFailed,
}

impl Code {
    /// Every code, in the order of its exit status.
    pub const ALL: [Self; 13] = [
        Self::GpuCheckPassed,
        Self::CpuCheckPassed,
        Self::TorchMissing,
        Self::TorchImportFailed,
        Self::GpuBackendAbsent,
        Self::GpuUnavailable,
        Self::DeviceIndexInvalid,
        Self::CheckFailed,
        Self::OutOfMemory,
        Self::RuntimeError,
        Self::Timeout,
        Self::WorkerFailed,
        Self::OutputWriteFailed,
    ];

    /// The name as it stands in reports and matrices.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GpuCheckPassed => "GPU_CHECK_PASSED",
            Self::CpuCheckPassed => "CPU_CHECK_PASSED",
            Self::TorchMissing => "TORCH_MISSING",
            Self::TorchImportFailed => "TORCH_IMPORT_FAILED",
            Self::GpuBackendAbsent => "GPU_BACKEND_ABSENT",
            Self::GpuUnavailable => "GPU_UNAVAILABLE",
            Self::DeviceIndexInvalid => "DEVICE_INDEX_INVALID",
            Self::CheckFailed => "CHECK_FAILED",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::RuntimeError => "RUNTIME_ERROR",
            Self::Timeout => "TIMEOUT",
            Self::WorkerFailed => "WORKER_FAILED",
            Self::OutputWriteFailed => "OUTPUT_WRITE_FAILED",
        }
    }

    /// The exit status of a checker that ends with this code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::GpuCheckPassed | Self::CpuCheckPassed => 0,
            Self::TorchMissing => 3,
            Self::TorchImportFailed => 4,
            Self::GpuBackendAbsent => 5,
            Self::GpuUnavailable => 6,
            Self::DeviceIndexInvalid => 7,
            Self::CheckFailed => 8,
            Self::OutOfMemory | Self::RuntimeError => 9,
            Self::Timeout => 10,
            Self::WorkerFailed => 11,
            Self::OutputWriteFailed => 12,
        }
    }

    /// Whether the check reached its end with verified results.
    #[must_use]
    pub const fn passed(self) -> bool {
        matches!(self, Self::GpuCheckPassed | Self::CpuCheckPassed)
    }

    /// What to do after this code when no cause is known.
    #[must_use]
    pub const fn next_action(self) -> &'static str {
        match self {
            Self::GpuCheckPassed => "go on to a small input of your application",
            Self::CpuCheckPassed => {
                "ask for a GPU (device: 0) to learn about CUDA or ROCm; this result says nothing of them"
            }
            Self::TorchMissing => "check which Python the image runs, and install torch into that one",
            Self::TorchImportFailed => "reinstall torch together with its dependencies in this image",
            Self::GpuBackendAbsent => {
                "install the torch build made for this machine's GPU (CUDA or ROCm), not a CPU build"
            }
            Self::GpuUnavailable => {
                "check how the GPU is exposed to the container, the host's driver, and the device permissions"
            }
            Self::DeviceIndexInvalid => {
                "ask for an index below the number of visible devices, or expose more devices"
            }
            Self::CheckFailed => {
                "look at the stage that failed; use a build made for this GPU's architecture"
            }
            Self::OutOfMemory => "free the device's memory, or pick another device",
            Self::RuntimeError => "look at the stage that failed and at its first error",
            Self::Timeout => {
                "treat it as a failure; look at the stage that hung, and raise --timeout only if it is slow by nature"
            }
            Self::WorkerFailed => "treat it as a failure; look at the stage at which the worker died",
            Self::OutputWriteFailed => "give --output the name of a new file in a writable directory",
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no checker code.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a code of the checker")]
pub struct UnknownCode(pub String);

impl std::str::FromStr for Code {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|code| code.as_str() == name).ok_or_else(|| UnknownCode(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_serde_and_parse_back() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert_eq!(code.as_str().parse::<Code>().unwrap(), code);
        }
    }

    #[test]
    fn exit_codes_are_the_published_ones() {
        let exits: Vec<u8> = Code::ALL.into_iter().map(Code::exit_code).collect();
        assert_eq!(exits, [0, 0, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12]);
    }
}
