//! A zero-device result once more, in a child without the visibility variables.
//!
//! Main function: [`look_without`]. If devices appear, the variables are the cause; the verdict stays.

use gpusweep_report::{Code, VISIBILITY_VARIABLES};

use crate::cause;
use crate::worker::Probed;

/// Repeats a probe that found too few devices, where a variable may have hidden them.
pub(super) fn look_without(probed: &mut Probed, repeat: impl FnOnce(&[&str]) -> Probed) {
    let hidden = matches!(probed.verdict.code, Code::GpuUnavailable | Code::DeviceIndexInvalid);
    let set: Vec<&str> =
        VISIBILITY_VARIABLES.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    if !hidden || set.is_empty() {
        return;
    }
    let Some(seen) = devices(&repeat(&VISIBILITY_VARIABLES)) else { return };
    probed.devices_without_variables = Some(seen);
    if seen > devices(probed).unwrap_or(0) {
        probed.cause = Some(cause::hidden_by_variables(&set, seen));
    }
}

fn devices(probed: &Probed) -> Option<u32> {
    let torch = probed.pytorch.as_ref().and_then(|torch| torch.visible_device_count);
    torch.or_else(|| probed.driver.as_ref().and_then(|driver| driver.device_count))
}
