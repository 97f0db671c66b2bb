//! Understands why an engine refused, from the call that failed and its words.
//!
//! Texts were collected from Docker 20.10, 26 and 28 and Podman 4.3 and 5.8. An exit status alone never decides: a failed
//! start leaves 126 to 128 behind for many reasons.

use bollard::errors::Error;
use gpusweep_report::one_line;

use super::MOUNT;
use crate::backend::chain;
use crate::model::{Cell, Fault, FaultKind, Grant};

/// Words of an engine that refuses a way of exposing a GPU, in lower case.
const EXPOSURE: [&str; 15] = [
    "could not select device driver",
    "cdi device injection failed",
    "unresolvable cdi devices",
    "setting up cdi devices",
    "failed to stat cdi host device",
    "nvidia-container-cli",
    "nvidia-container-runtime",
    "error running hook",
    "error running prestart hook",
    "error gathering device information",
    "unknown runtime specified",
    "unknown or invalid runtime name",
    "unable to find group",
    "cannot set both count and deviceids",
    "error setting rlimit",
];

/// A fault in the engine's words, cleaned.
pub(super) fn fault(kind: FaultKind, message: &str) -> Fault {
    Fault { kind, message: one_line(message, &[]) }
}

/// The engine does not answer.
pub(super) fn engine_fault(message: &str) -> Fault {
    fault(FaultKind::EngineUnreachable, message)
}

/// A request failed: of the given kind where the engine answered, else the engine is what failed.
pub(super) fn request_fault(kind: FaultKind, error: &Error) -> Fault {
    if answered(error) { fault(kind, &words(error)) } else { engine_fault(&words(error)) }
}

/// Creating or starting the container failed.
pub(super) fn launch_fault(cell: &Cell, error: &Error) -> Fault {
    let text = words(error);
    request_fault(launch_kind(cell, error, &text.to_lowercase()), error)
}

fn launch_kind(cell: &Cell, error: &Error, text: &str) -> FaultKind {
    if is_status(error, 404) && text.contains("platform") {
        return FaultKind::PlatformMismatch;
    }
    if is_status(error, 404) && text.contains("no such image") {
        return FaultKind::ImageUnavailable;
    }
    if text.contains(&format!("\"{MOUNT}/")) || text.contains("exec format error") {
        return FaultKind::CheckerNotRun;
    }
    if names_exposure(cell, text) { FaultKind::ExposureRefused } else { FaultKind::LaunchRefused }
}

/// The exposure under test is the reason where the text is one of the known ones, or names a granted thing.
fn names_exposure(cell: &Cell, text: &str) -> bool {
    let known = EXPOSURE.iter().any(|words| text.contains(words));
    let granted = |grant: &Grant| match grant {
        Grant::DeviceNode { path, .. } => text.contains(&path.to_lowercase()),
        Grant::Cdi(name) => text.contains(&name.to_lowercase()),
        Grant::Runtime(name) => {
            text.contains(&format!("runtime name: {name}")) || text.contains(&format!("specified {name}"))
        }
        Grant::DeviceRequest { .. }
        | Grant::Env { .. }
        | Grant::Unset(_)
        | Grant::Group(_)
        | Grant::HostGroups
        | Grant::ShmSize(_)
        | Grant::Ipc(_)
        | Grant::Ulimit { .. }
        | Grant::Security(_)
        | Grant::Privileged => false,
    };
    (known && !cell.visibility.grants.is_empty()) || cell.visibility.grants.iter().any(granted)
}

/// Whether the engine answered with this HTTP status.
pub(super) const fn is_status(error: &Error, status: u16) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code, .. } if *status_code == status)
}

/// Whether the engine answered at all, if only to refuse.
pub(super) const fn answered(error: &Error) -> bool {
    matches!(
        error,
        Error::DockerResponseServerError { .. }
            | Error::DockerStreamError { .. }
            | Error::DockerContainerWaitError { .. }
            | Error::JsonDataError { .. }
            | Error::JsonSerdeError { .. }
    )
}

/// The engine's own words, without the client's wrapping.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        Error::DockerStreamError { error } => error.clone(),
        other => chain(other),
    }
}
