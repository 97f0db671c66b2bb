//! The outcome of a check before it is a report.
//!
//! Main type: [`Verdict`].

use gpusweep_report::{Code, Stage};

/// What was found, where, and by which error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) code: Code,
    pub(crate) stage: Stage,
    pub(crate) error: Option<Fault>,
}

/// An error as it was met, not cleaned yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: String,
    pub(crate) message: String,
}

impl Verdict {
    pub(crate) const fn passed(code: Code) -> Self {
        Self { code, stage: Stage::Complete, error: None }
    }

    pub(crate) const fn failed(code: Code, stage: Stage, error: Fault) -> Self {
        Self { code, stage, error: Some(error) }
    }
}

impl Fault {
    pub(crate) fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }
}
