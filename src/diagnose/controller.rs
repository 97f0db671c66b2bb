//! Causes that the controller can see by itself, without knowing GPUs: statuses that disagree, facts that differ, kills.

use super::{CauseRule, Family, Finding};
use crate::ledger::{self, FactMismatch};
use crate::model::{Cell, CellCode, Code, KillReason, Observation};

pub(super) const EXIT_CODE_MISMATCH: CauseRule =
    CauseRule { id: "exit-code-mismatch", family: Family::Controller, find: exit_code_mismatch };
pub(super) const OUT_OF_MEMORY_KILL: CauseRule =
    CauseRule { id: gpusweep_report::MEMORY_KILL, family: Family::Controller, find: out_of_memory_kill };
pub(super) const FACT_MISMATCH: CauseRule =
    CauseRule { id: "fact-mismatch", family: Family::Controller, find: fact_mismatch };
pub(super) const FACTS_UNCHECKED: CauseRule =
    CauseRule { id: "facts-unchecked", family: Family::Controller, find: facts_unchecked };

fn exit_code_mismatch(_: &Cell, observation: &Observation) -> Option<Finding> {
    let mismatch = ledger::exit_mismatch(observation)?;
    Some(Finding {
        summary: format!(
            "the report says exit status {}, the container ended with {}",
            mismatch.report, mismatch.container
        ),
        next_action: "read the cell's private log in the run folder to see what ended the container after \
                      the report"
            .to_owned(),
    })
}

fn out_of_memory_kill(_: &Cell, observation: &Observation) -> Option<Finding> {
    match observation {
        Observation::Killed { reason: KillReason::OutOfMemory, .. } => {}
        Observation::Reported { .. }
            if ledger::code(observation) == Code::Cell(CellCode::ContainerKilled) => {}
        Observation::Killed { reason: KillReason::Signal(_), .. }
        | Observation::Reported { .. }
        | Observation::Garbled { .. }
        | Observation::NotStarted { .. }
        | Observation::TimedOut { .. }
        | Observation::Cancelled { .. } => return None,
    }
    Some(Finding {
        summary: "the kernel killed the check because the container's memory was used up".to_owned(),
        next_action: "raise `limits.memory`, or run fewer cells at a time with `--jobs`".to_owned(),
    })
}

/// A fact only matters once the code is right: otherwise the code is the finding.
fn open_facts(cell: &Cell, observation: &Observation) -> Vec<FactMismatch> {
    if cell.expect.codes.contains(&ledger::code(observation)) {
        ledger::fact_mismatches(cell, observation)
    } else {
        Vec::new()
    }
}

fn fact_mismatch(cell: &Cell, observation: &Observation) -> Option<Finding> {
    let differing: Vec<String> = open_facts(cell, observation)
        .iter()
        .filter_map(|fact| {
            let found = fact.found.as_ref()?;
            Some(format!("{} is {found}, expected {}", fact.path, fact.expected))
        })
        .collect();
    (!differing.is_empty()).then(|| Finding {
        summary: differing.join("; "),
        next_action: "use the image build that has this fact, or correct `facts:` in the matrix".to_owned(),
    })
}

fn facts_unchecked(cell: &Cell, observation: &Observation) -> Option<Finding> {
    let unchecked: Vec<String> = open_facts(cell, observation)
        .into_iter()
        .filter(|fact| fact.found.is_none())
        .map(|fact| fact.path)
        .collect();
    (!unchecked.is_empty()).then(|| Finding {
        summary: format!("without a report these facts cannot be checked: {}", unchecked.join(", ")),
        next_action: "remove `facts:` from this expectation, or expect a code of the checker".to_owned(),
    })
}
