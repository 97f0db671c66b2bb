//! Causes that the checker itself can tell, as they show only from inside.
//!
//! One function a cause. Texts hold nothing of the image but names and versions of fixed forms.

use gpusweep_report::{Cause, MEMORY_KILL, driver_result};

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

/// The kernel killed the worker, since the container had used up its memory.
pub(crate) fn memory_kill() -> Cause {
    cause(
        MEMORY_KILL,
        "the kernel killed the check because the container's memory was used up".to_owned(),
        "Raise the container's memory limit (`limits: { memory: … }`, `--memory`), or run fewer at a time"
            .to_owned(),
    )
}

/// The image's interpreter has no torch, and another one has.
pub(crate) fn other_interpreter(place: &str) -> Cause {
    cause(
        "other-interpreter",
        format!("another interpreter here has torch: {place}"),
        format!("Put its folder first on PATH in the image, or check it with `python: {place}` (`--python`)",),
    )
}

/// Something in the working directory has torch's name, and no torch is installed.
pub(crate) fn torch_shadowed() -> Cause {
    cause(
        "torch-shadowed",
        "a file in the working directory has the name torch, and no torch is installed".to_owned(),
        "Rename that file, and install torch into the interpreter that runs the application".to_owned(),
    )
}

/// Devices appear once the visibility variables are removed.
pub(crate) fn hidden_by_variables(set: &[&str], seen: u32) -> Cause {
    let names = set.join(", ");
    cause(
        "visibility-variables",
        format!("visibility variables hide devices: {seen} without {names}"),
        format!("Unset or renumber what is set of: {names}; indices count from 0 among what is left"),
    )
}

/// The driver did not start, with a result whose meaning is known.
pub(crate) fn driver_start(result: i32) -> Option<Cause> {
    let known = driver_result(result)?;
    let (id, next_action) = known.cause?;
    Some(cause(id, format!("{} ({result}): {}", known.name, known.meaning), next_action.to_owned()))
}
