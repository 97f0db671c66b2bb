//! What the results of a GPU driver's calls mean.
//!
//! Main function: [`driver_result`]. Numbers and names are those of NVIDIA's driver API (`CUresult` in `cuda.h`) and, for 35,
//! of its runtime API; HIP's `hipError_t` has the same numbers for the same things. The words are ours.

/// One result of a driver's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverResult {
    /// The number.
    pub code: i32,
    /// NVIDIA's name of it.
    pub name: &'static str,
    /// What it means, as a fragment of a sentence.
    pub meaning: &'static str,
    /// For results that starting the driver gives: stable name of the cause, and what to do.
    pub cause: Option<(&'static str, &'static str)>,
}

const fn plain(code: i32, name: &'static str, meaning: &'static str) -> DriverResult {
    DriverResult { code, name, meaning, cause: None }
}

const fn start(
    code: i32,
    name: &'static str,
    meaning: &'static str,
    id: &'static str,
    next_action: &'static str,
) -> DriverResult {
    DriverResult { code, name, meaning, cause: Some((id, next_action)) }
}

/// Every result with a text of its own.
pub const DRIVER_RESULTS: [DriverResult; 25] = [
    plain(1, "CUDA_ERROR_INVALID_VALUE", "the driver refuses an argument"),
    plain(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory: the device has too little free memory"),
    start(
        3,
        "CUDA_ERROR_NOT_INITIALIZED",
        "the driver library could not set itself up in this process",
        "driver-not-initialized",
        "Compare the libcuda in the container with the host's driver, and start the container anew after a driver update",
    ),
    start(
        34,
        "CUDA_ERROR_STUB_LIBRARY",
        "the libcuda that was loaded is the toolkit's stub for linking, not a driver",
        "driver-stub-library",
        "Take the toolkit's `stubs` folder off LD_LIBRARY_PATH and the loader's configuration",
    ),
    start(
        35,
        "cudaErrorInsufficientDriver",
        "the driver is older than what the image's CUDA needs, or there is none",
        "driver-too-old",
        "Update the host's driver, or use an image for an older CUDA",
    ),
    plain(36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "this call needs a newer driver"),
    start(
        46,
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "the device is in exclusive mode and another process has it",
        "device-unavailable",
        "End the other process, or set the compute mode with `nvidia-smi -c DEFAULT` on the host",
    ),
    start(
        100,
        "CUDA_ERROR_NO_DEVICE",
        "the driver library works, but no device reached this process",
        "no-device",
        "Expose a GPU to the container (`--gpus all`), and look at CUDA_VISIBLE_DEVICES and the device nodes",
    ),
    start(
        101,
        "CUDA_ERROR_INVALID_DEVICE",
        "a device that is exposed is not a valid one",
        "invalid-device",
        "Compare CUDA_VISIBLE_DEVICES and the exposed nodes with the GPUs and MIG instances that the host has",
    ),
    plain(200, "CUDA_ERROR_INVALID_IMAGE", "the driver cannot read the kernel"),
    plain(201, "CUDA_ERROR_INVALID_CONTEXT", "there is no usable context"),
    plain(209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for this device"),
    plain(
        218,
        "CUDA_ERROR_INVALID_PTX",
        "no kernel image is available: the driver cannot compile the kernel",
    ),
    plain(
        222,
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "no kernel image is available: the driver is too old for the kernel",
    ),
    plain(300, "CUDA_ERROR_INVALID_SOURCE", "the driver refuses the kernel's source"),
    start(
        304,
        "CUDA_ERROR_OPERATING_SYSTEM",
        "a system call of the driver failed, as with a device node or shared memory that is not allowed",
        "driver-system-call",
        "Look at the device nodes below: one that gives EPERM or EACCES is what failed",
    ),
    plain(500, "CUDA_ERROR_NOT_FOUND", "the driver does not find what was asked for"),
    plain(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "the kernel touched memory that is not its own"),
    plain(702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the kernel took longer than the device allows"),
    plain(719, "CUDA_ERROR_LAUNCH_FAILED", "the kernel failed on the device"),
    plain(801, "CUDA_ERROR_NOT_SUPPORTED", "the device or driver does not support this"),
    start(
        802,
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the machine's NVSwitch fabric is not set up yet",
        "fabric-manager",
        "Start the fabric manager of the driver's own version on the host (`systemctl start nvidia-fabricmanager`)",
    ),
    start(
        803,
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "libcuda and the loaded kernel driver are of different versions",
        "driver-mismatch",
        "Reload the kernel driver or reboot the host after a driver update, and take driver files out of the image",
    ),
    start(
        804,
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "the forward-compatibility libcuda does not serve this device",
        "compat-not-supported",
        "Take the `compat` folder off LD_LIBRARY_PATH and the loader's configuration, or update the host's driver",
    ),
    start(
        999,
        "CUDA_ERROR_UNKNOWN",
        "the driver gives no reason; after a suspend, or without nvidia-uvm, this is what it says",
        "driver-unknown",
        "Look whether /dev/nvidia-uvm opens, and reload the nvidia_uvm module on the host",
    ),
];

/// What is known of a result.
#[must_use]
pub fn driver_result(code: i32) -> Option<&'static DriverResult> {
    DRIVER_RESULTS.iter().find(|result| result.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_result_has_a_text_of_its_own() {
        let texts: BTreeSet<_> = DRIVER_RESULTS.iter().map(|result| result.meaning).collect();
        let codes: BTreeSet<_> = DRIVER_RESULTS.iter().map(|result| result.code).collect();
        assert_eq!((texts.len(), codes.len()), (DRIVER_RESULTS.len(), DRIVER_RESULTS.len()));
    }

    #[test]
    fn every_result_of_a_start_has_a_cause() {
        for code in [3, 34, 35, 46, 100, 101, 304, 802, 803, 804, 999] {
            assert!(driver_result(code).is_some_and(|result| result.cause.is_some()), "{code}");
        }
        assert_eq!(driver_result(12345), None);
    }
}
