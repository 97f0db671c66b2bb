//! How long each part of a check may take.
//!
//! Main type: [`Limits`]. Only `--timeout` is for users to set; the rest is here so that tests need not wait a minute.

use std::time::Duration;

/// Time limits other than the computation's own.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Least allowance for starting the interpreter and importing torch; a longer `--timeout` raises it.
    pub import: Duration,
    /// For opening device nodes and reading what reached the process; a driver can block an open.
    pub exposure: Duration,
    /// For `nvidia-smi`.
    pub host_check: Duration,
    /// For killed processes to be gone; one that the kernel cannot end must not keep the report back.
    pub settle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            import: Duration::from_secs(60),
            exposure: Duration::from_secs(5),
            host_check: Duration::from_secs(3),
            settle: Duration::from_secs(3),
        }
    }
}
