//! The first error of a row, and where it happened.
//!
//! Main type: [`FirstErrorRow`]. Whatever an image or an engine said is cleaned here once more: it leaves the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clean;
use crate::model::{FaultKind, KillReason, Observation};

/// The first error of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FirstErrorRow {
    /// A stage of the check, or a step of the launch; null where nothing says it.
    pub stage: Option<String>,
    /// Class of the error, such as `ImportError`, or the controller's own word, such as `image-unavailable`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One cleaned line.
    pub message: String,
}

/// The stage of the check, or the step of the launch, at which it ended.
#[must_use]
pub const fn stage(observation: &Observation) -> Option<&'static str> {
    match observation {
        Observation::Reported { report, .. } => Some(report.stage.as_str()),
        Observation::Garbled { .. } => Some("collect"),
        Observation::Killed { .. } => Some("running"),
        Observation::NotStarted { phase, .. }
        | Observation::TimedOut { phase, .. }
        | Observation::Cancelled { phase } => Some(phase.as_str()),
    }
}

/// The first error, where there was one.
#[must_use]
pub fn first_error(observation: &Observation) -> Option<FirstErrorRow> {
    let row = |kind: &str, message: &str| {
        Some(FirstErrorRow {
            stage: stage(observation).map(str::to_owned),
            kind: clean(kind),
            message: clean(message),
        })
    };
    match observation {
        Observation::Reported { report, .. } => {
            let error = report.first_error.as_ref()?;
            let stage = Some(error.stage.as_str().to_owned());
            Some(FirstErrorRow { stage, ..row(&error.kind, &error.message)? })
        }
        Observation::Garbled { problem, .. } => row("report-missing", problem),
        Observation::NotStarted { fault, .. } => row(fault_name(fault.kind), &fault.message),
        Observation::TimedOut { phase, .. } => {
            row("cell-timeout", &format!("the cell's deadline passed at step `{}`", phase.as_str()))
        }
        Observation::Killed { reason: KillReason::OutOfMemory, .. } => {
            row("out-of-memory", "the kernel killed the container for memory")
        }
        Observation::Killed { reason: KillReason::Signal(number), .. } => {
            row("signal", &format!("signal {number} from outside ended the container"))
        }
        Observation::Cancelled { .. } => None,
    }
}

const fn fault_name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::EngineUnreachable => "engine-unreachable",
        FaultKind::ImageUnavailable => "image-unavailable",
        FaultKind::PlatformMismatch => "platform-mismatch",
        FaultKind::ExposureRefused => "exposure-refused",
        FaultKind::LaunchRefused => "launch-refused",
        FaultKind::CheckerNotRun => "checker-not-run",
    }
}
