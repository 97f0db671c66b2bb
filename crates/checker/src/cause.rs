//! Causes that the checker itself can tell, as they show only from inside.
//!
//! One function a cause. Texts hold nothing of the image but names and versions of fixed forms.

use gpusweep_report::Cause;

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
