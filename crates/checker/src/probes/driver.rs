//! The driver probe: the vendor's driver, without torch.
//!
//! Main functions: [`find`] and [`probe`].

use gpusweep_report::wire::Target;
use gpusweep_report::{Code, Exposure, Probe, Stage};

use super::native;
use crate::worker::{Context, DRIVER, Probed};

/// Which driver this image or its surroundings speak of.
pub(super) fn find(exposure: Option<&Exposure>) -> Option<Target> {
    let has = |prefix: &str| {
        exposure
            .is_some_and(|exposure| exposure.libraries.iter().any(|library| library.name.starts_with(prefix)))
    };
    match (has("libcuda.so"), has("libamdhip64.so")) {
        (true, _) => Some(Target::Cuda),
        (false, true) => Some(Target::Hip),
        (false, false) => None,
    }
}

/// Runs the check with a driver.
pub(super) fn probe(context: Context<'_>, target: Option<&Target>, without: &[&str]) -> Probed {
    let Some(target) = target else {
        let message = "there is no driver: neither libcuda.so.1 nor libamdhip64.so is where the loader looks";
        return native::not_found(context, Probe::Driver, Stage::Driver, Code::GpuUnavailable, message);
    };
    native::probe(context, Probe::Driver, DRIVER, target, without)
}
