//! What can be observed of one attempt at a cell.
//!
//! Main type: [`Observation`]. A container that fails is an observation; an `Err` anywhere means that the sweep itself
//! cannot go on.

use gpusweep_report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one attempt came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Observation {
    /// The checker gave a valid report.
    Reported {
        /// The report.
        report: Box<Report>,
        /// Exit status of the container.
        exit: i64,
        /// What the engine says it set.
        applied: Applied,
        /// Whether the kernel killed something in the container for memory.
        oom_killed: bool,
    },
    /// The container ended by itself, without a usable report.
    Garbled {
        /// What is wrong with what it printed.
        problem: String,
        /// Exit status of the container.
        exit: i64,
        /// What the engine says it set.
        applied: Applied,
    },
    /// The checker never ran.
    NotStarted {
        /// How far it got.
        phase: Phase,
        /// What stopped it.
        fault: Fault,
    },
    /// The controller's deadline passed, and the container was killed.
    TimedOut {
        /// How far it got.
        phase: Phase,
        /// What the engine says it set.
        applied: Applied,
    },
    /// The container was killed by someone else.
    Killed {
        /// By what.
        reason: KillReason,
        /// Exit status of the container.
        exit: i64,
        /// What the engine says it set.
        applied: Applied,
    },
    /// The user stopped the sweep.
    Cancelled {
        /// How far it got.
        phase: Phase,
    },
}

impl Observation {
    /// What the engine says it set; none where it was never asked.
    #[must_use]
    pub const fn applied(&self) -> Option<&Applied> {
        match self {
            Self::Reported { applied, .. }
            | Self::Garbled { applied, .. }
            | Self::TimedOut { applied, .. }
            | Self::Killed { applied, .. } => Some(applied),
            Self::NotStarted { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// How far it got and what was said, where the engine is what failed and no check.
    #[must_use]
    pub fn unanswered(&self) -> Option<(Phase, &str)> {
        match self {
            Self::NotStarted { phase, fault } if fault.kind == FaultKind::EngineUnreachable => {
                Some((*phase, &fault.message))
            }
            Self::NotStarted { .. }
            | Self::Reported { .. }
            | Self::Garbled { .. }
            | Self::TimedOut { .. }
            | Self::Killed { .. }
            | Self::Cancelled { .. } => None,
        }
    }
}

/// Steps of an attempt, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Waiting for a slot.
    Queued,
    /// Reaching the engine and delivering the checker.
    Prepare,
    /// Getting the image.
    Pull,
    /// Creating the container.
    Create,
    /// Starting it.
    Start,
    /// The checker runs.
    Running,
    /// Reading the report.
    Collect,
}

impl Phase {
    /// The name in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Prepare => "prepare",
            Self::Pull => "pull",
            Self::Create => "create",
            Self::Start => "start",
            Self::Running => "running",
            Self::Collect => "collect",
        }
    }
}

/// What stopped a cell before its checker ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Kind.
    pub kind: FaultKind,
    /// The engine's words, cleaned.
    pub message: String,
}

/// Kinds of [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// No answer from the engine.
    EngineUnreachable,
    /// The image is not there and cannot be had.
    ImageUnavailable,
    /// The image is of another architecture.
    PlatformMismatch,
    /// Refused, and the exposure under test is why.
    ExposureRefused,
    /// Refused for another reason.
    LaunchRefused,
    /// The container could not execute the checker.
    CheckerNotRun,
}

/// Who killed a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillReason {
    /// The kernel, for memory.
    OutOfMemory,
    /// A signal from outside, by its number.
    Signal(i32),
}

/// What the engine's inspect says it set; fields that it did not set are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Repository digest where there is one, else the image's id.
    pub digest: Option<String>,
    /// Exposure as the engine recorded it.
    pub settings: serde_json::Map<String, Value>,
    /// GPUs of the report that are none of those asked for by their UUIDs; none where that cannot be told.
    #[serde(default)]
    pub strangers: Option<u32>,
}
