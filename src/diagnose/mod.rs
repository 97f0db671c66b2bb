//! Why a row is as it is, and what to do next.
//!
//! Main function: [`diagnose`]. A cause is found by the first of [`RULES`] that recognises it; each rule is one row of
//! one family, and families are files. Where no rule speaks, the checker's own cause stands, and the code's general
//! next action after it.

mod clean;
mod controller;
mod diagnosis;
mod first_error;
mod isolation;
#[cfg(test)]
mod tests;

pub use clean::clean;
pub use diagnosis::{Diagnosis, cause, diagnose, next_action};
pub use first_error::{FirstErrorRow, first_error, stage};

use crate::model::{Cell, Observation};
use gpusweep_report::Cause;

/// One cause that can be recognised.
pub struct CauseRule {
    /// Stable name, the one that stands in `cause.id`.
    pub id: &'static str,
    /// What the cause is about.
    pub family: Family,
    /// Finds the cause; none where this is not it.
    pub find: fn(&Cell, &Observation) -> Option<Finding>,
}

/// What a rule found: the sentence that says it, and the action that follows.
pub struct Finding {
    /// What was found, in one sentence.
    pub summary: String,
    /// What to do, beginning with a verb.
    pub next_action: String,
}

/// What a cause is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// What the controller itself can see: statuses, facts, kills.
    Controller,
    /// Whether a cell had exactly the GPUs that it was given.
    Isolation,
}

/// Every rule, those that cast doubt on the report itself first.
pub const RULES: &[CauseRule] = &[
    isolation::GPU_LEAK,
    controller::EXIT_CODE_MISMATCH,
    isolation::REQUEST_DROPPED,
    isolation::PINNED_GPU_ABSENT,
    isolation::ISOLATION_UNPROVEN,
    controller::OUT_OF_MEMORY_KILL,
    controller::FACT_MISMATCH,
    controller::FACTS_UNCHECKED,
];

impl CauseRule {
    fn apply(&self, cell: &Cell, observation: &Observation) -> Option<Cause> {
        let Finding { summary, next_action } = (self.find)(cell, observation)?;
        Some(Cause { id: self.id.to_owned(), summary, next_action })
    }
}
