//! The judgement of one observation.
//!
//! Main functions: [`verdict`] and [`code`]. Pure: the same cell and observation give the same answer in every run.

use gpusweep_report::{Code as CheckCode, FirstError, MEMORY_KILL, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::isolation::breach;
use super::parting::{Layer, partings};
use crate::model::{Cell, CellCode, Code, FaultKind, Observation};

/// What is thought of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The code, and every asserted fact, is the expected one.
    Expected,
    /// The check ran and gave another code, or a fact differs.
    Unexpected,
    /// It could not run.
    Blocked,
    /// Interrupted, or never reached.
    NotRun,
    /// It cannot apply.
    Pruned,
}

impl Verdict {
    /// Every verdict, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Expected, Self::Unexpected, Self::Blocked, Self::NotRun, Self::Pruned];

    /// The name as it stands in tables and exports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Unexpected => "unexpected",
            Self::Blocked => "blocked",
            Self::NotRun => "not-run",
            Self::Pruned => "pruned",
        }
    }

    /// The name as it stands in tables: what a run can be red for has capitals, so that it stands out without colour.
    #[must_use]
    pub const fn shouted(self) -> &'static str {
        match self {
            Self::Unexpected => "UNEXPECTED",
            Self::Blocked => "BLOCKED",
            Self::Expected | Self::NotRun | Self::Pruned => self.as_str(),
        }
    }

    /// Whether a row of this verdict leaves the sweep green.
    #[must_use]
    pub const fn green(self) -> bool {
        match self {
            Self::Expected | Self::Pruned => true,
            Self::Unexpected | Self::Blocked | Self::NotRun => false,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// An asserted fact that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactMismatch {
    /// Dotted path into the report.
    pub path: String,
    /// What it must be.
    pub expected: String,
    /// What the report says; none where there is no report to look into.
    pub found: Option<String>,
}

/// A container that ended with another status than its report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitMismatch {
    /// What the report says.
    pub report: u8,
    /// What the engine says.
    pub container: i64,
}

/// The code of the row.
#[must_use]
pub fn code(observation: &Observation) -> Code {
    match observation {
        Observation::Reported { report, oom_killed, .. } => reported_code(report, *oom_killed),
        Observation::Garbled { .. } => CellCode::ReportMissing.into(),
        Observation::NotStarted { fault, .. } => fault_code(fault.kind).into(),
        Observation::TimedOut { .. } => CellCode::CellTimeout.into(),
        Observation::Killed { .. } => CellCode::ContainerKilled.into(),
        Observation::Cancelled { .. } => CellCode::Cancelled.into(),
    }
}

/// The kernel may kill the worker alone: the checker then still reports, but it was memory all the same. Some engines never
/// say so, and others not always; the checker reads the kernel's own count.
fn reported_code(report: &Report, oom_killed: bool) -> Code {
    let worker_killed =
        report.code == CheckCode::WorkerFailed && report.first_error.as_ref().is_some_and(is_sigkill);
    let told = report.cause.as_ref().is_some_and(|cause| cause.id == MEMORY_KILL);
    if worker_killed && (oom_killed || told) { CellCode::ContainerKilled.into() } else { report.code.into() }
}

/// The signal stands before any colon; what comes after it are the worker's own last words.
fn is_sigkill(error: &FirstError) -> bool {
    let said = error.message.split(':').next().unwrap_or_default();
    error.kind == "Signal" && (said.contains("SIGKILL") || said.ends_with("signal 9"))
}

const fn fault_code(kind: FaultKind) -> CellCode {
    match kind {
        FaultKind::EngineUnreachable => CellCode::EngineUnreachable,
        FaultKind::ImageUnavailable => CellCode::ImageUnavailable,
        FaultKind::PlatformMismatch => CellCode::PlatformMismatch,
        FaultKind::ExposureRefused | FaultKind::LaunchRefused => CellCode::LaunchRefused,
        FaultKind::CheckerNotRun => CellCode::CheckerNotRun,
    }
}

/// The judgement of one observation of one cell.
#[must_use]
pub fn verdict(cell: &Cell, observation: &Observation) -> Verdict {
    if matches!(observation, Observation::Cancelled { .. }) {
        return Verdict::NotRun;
    }
    if cell.expect.codes.contains(&code(observation)) {
        let holds = fact_mismatches(cell, observation).is_empty()
            && exit_mismatch(observation).is_none()
            && breach(cell, observation).is_none()
            && !exposure_dropped(cell, observation);
        return if holds { Verdict::Expected } else { Verdict::Unexpected };
    }
    if ran(observation) { Verdict::Unexpected } else { Verdict::Blocked }
}

/// Whether the thing under test showed itself: the check ran, or the exposure itself was refused.
pub(super) const fn ran(observation: &Observation) -> bool {
    match observation {
        Observation::Reported { .. }
        | Observation::Garbled { .. }
        | Observation::TimedOut { .. }
        | Observation::Killed { .. } => true,
        Observation::Cancelled { .. } => false,
        Observation::NotStarted { fault, .. } => match fault.kind {
            FaultKind::ExposureRefused | FaultKind::CheckerNotRun => true,
            FaultKind::EngineUnreachable
            | FaultKind::ImageUnavailable
            | FaultKind::PlatformMismatch
            | FaultKind::LaunchRefused => false,
        },
    }
}

/// The asserted facts that do not hold, in the order of the matrix. Without a report none of them can.
#[must_use]
pub fn fact_mismatches(cell: &Cell, observation: &Observation) -> Vec<FactMismatch> {
    let report = report(observation);
    let differs = |fact: &crate::model::Fact| match report {
        Some(report) => fact.mismatch(report).map(Some),
        None => Some(None),
    };
    let facts = cell.expect.facts.iter();
    facts
        .filter_map(|fact| {
            let found = differs(fact)?;
            Some(FactMismatch { path: fact.path.clone(), expected: fact.value.to_string(), found })
        })
        .collect()
}

/// Where the container's exit status is not the one that its report says.
#[must_use]
pub fn exit_mismatch(observation: &Observation) -> Option<ExitMismatch> {
    let report = report(observation)?.exit_code;
    let container = container_exit(observation)?;
    (container != i64::from(report)).then_some(ExitMismatch { report, container })
}

/// The container's own exit status, where there was one.
#[must_use]
pub const fn container_exit(observation: &Observation) -> Option<i64> {
    match observation {
        Observation::Reported { exit, .. }
        | Observation::Garbled { exit, .. }
        | Observation::Killed { exit, .. } => Some(*exit),
        Observation::NotStarted { .. } | Observation::TimedOut { .. } | Observation::Cancelled { .. } => None,
    }
}

/// Whether the engine left out something that decides on GPUs: the cell then tested another exposure than its own.
fn exposure_dropped(cell: &Cell, observation: &Observation) -> bool {
    partings(cell, observation).iter().any(|parting| parting.exposure && parting.layer == Layer::Engine)
}

/// The report, where there is one.
pub(super) fn report(observation: &Observation) -> Option<&Report> {
    match observation {
        Observation::Reported { report, .. } => Some(report),
        Observation::Garbled { .. }
        | Observation::NotStarted { .. }
        | Observation::TimedOut { .. }
        | Observation::Killed { .. }
        | Observation::Cancelled { .. } => None,
    }
}
