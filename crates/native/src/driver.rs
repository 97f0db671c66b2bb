//! The driver probe.

use gpusweep_report::wire::{Computed, Reason};

use crate::teller::{Stop, Teller, failed};

/// Checks NVIDIA's driver.
pub(crate) fn check_cuda(_teller: &Teller, _device: &str) -> Result<Computed, Stop> {
    Err(failed(Reason::Misfit, "Misfit", "no probe for this driver"))
}

/// Checks AMD's HIP runtime.
pub(crate) fn check_hip(_teller: &Teller, _device: &str) -> Result<Computed, Stop> {
    Err(failed(Reason::Misfit, "Misfit", "no probe for this driver"))
}
