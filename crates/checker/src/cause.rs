//! Causes that the checker itself can tell, as they show only from inside.
//!
//! One function a cause. Texts hold nothing of the image but names and versions of fixed forms.

use gpusweep_report::{Cause, driver_result};

fn cause(id: &str, summary: String, next_action: String) -> Cause {
    Cause { id: id.to_owned(), summary, next_action }
}

/// The image's libtorch has not the entry points that the native worker knows.
pub(crate) fn no_native_probe(version: &str) -> Cause {
    cause(
        "no-native-probe",
        format!("no native probe for libtorch {version}: this says nothing of the image"),
        "Check the image with `probe: python`, or update gpusweep".to_owned(),
    )
}

/// The driver did not start, with a result whose meaning is known.
pub(crate) fn driver_start(result: i32) -> Option<Cause> {
    let known = driver_result(result)?;
    let (id, next_action) = known.cause?;
    Some(cause(id, format!("{} ({result}): {}", known.name, known.meaning), next_action.to_owned()))
}
