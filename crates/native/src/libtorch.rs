//! The libtorch probe.

use std::path::Path;

use gpusweep_report::wire::{Computed, Reason};

use crate::teller::{Stop, Teller, failed};

/// Checks the libtorch in a folder.
pub(crate) fn check(_teller: &Teller, _folder: &Path, _device: &str) -> Result<Computed, Stop> {
    Err(failed(Reason::Misfit, "Misfit", "no native probe for this libtorch"))
}
