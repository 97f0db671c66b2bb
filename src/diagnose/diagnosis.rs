//! Cause and next action of one row.
//!
//! Main type: [`Diagnosis`]. Pure: everything is computed from the cell and what was observed of it.

use gpusweep_report::Cause;

use super::{FirstErrorRow, RULES, first_error, stage};
use crate::ledger::{self, Verdict};
use crate::model::{Cell, Code, Observation};

/// Everything that is said about why a row is as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The step or stage at which it ended; none where nothing says it.
    pub stage: Option<&'static str>,
    /// The first error.
    pub first_error: Option<FirstErrorRow>,
    /// Why, where that is known.
    pub cause: Option<Cause>,
    /// What to do next; none where all is as expected.
    pub next_action: Option<String>,
}

/// Says why a row is as it is.
#[must_use]
pub fn diagnose(cell: &Cell, observation: &Observation) -> Diagnosis {
    let cause = cause(cell, observation);
    let next_action = next_action_after(cell, observation, cause.as_ref());
    Diagnosis { stage: stage(observation), first_error: first_error(observation), cause, next_action }
}

/// Why a row is as it is: the first rule that recognises it, else the checker's own word.
#[must_use]
pub fn cause(cell: &Cell, observation: &Observation) -> Option<Cause> {
    RULES.iter().find_map(|rule| rule.apply(cell, observation)).or_else(|| reported_cause(observation))
}

fn reported_cause(observation: &Observation) -> Option<Cause> {
    match observation {
        Observation::Reported { report, .. } => report.cause.clone(),
        Observation::Garbled { .. }
        | Observation::NotStarted { .. }
        | Observation::TimedOut { .. }
        | Observation::Killed { .. }
        | Observation::Cancelled { .. } => None,
    }
}

/// What to do next; none where the row is as expected.
#[must_use]
pub fn next_action(cell: &Cell, observation: &Observation) -> Option<String> {
    next_action_after(cell, observation, cause(cell, observation).as_ref())
}

fn next_action_after(cell: &Cell, observation: &Observation, cause: Option<&Cause>) -> Option<String> {
    match ledger::verdict(cell, observation) {
        Verdict::Expected | Verdict::Pruned => None,
        Verdict::Unexpected | Verdict::Blocked | Verdict::NotRun => Some(cause.map_or_else(
            || general_action(cell, ledger::code(observation)),
            |cause| cause.next_action.clone(),
        )),
    }
}

/// The action of a code that passed assumes that passing was wanted; where it was not, isolation is what failed.
fn general_action(cell: &Cell, code: Code) -> String {
    let passes = |code: &Code| match code {
        Code::Check(code) => code.passed(),
        Code::Cell(_) => false,
    };
    if passes(&code) && !cell.expect.codes.iter().any(passes) {
        return "find out what let this check succeed, or correct `expect:` in the matrix".to_owned();
    }
    code.next_action().to_owned()
}
