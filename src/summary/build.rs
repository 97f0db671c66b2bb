//! From plan and ledger to the document.
//!
//! Main function: [`Summary::build`].

use std::collections::BTreeMap;

use gpusweep_report::{Cause, Status};
use serde_json::{Map, Value};

use super::clean;
use super::document::{Counts, SCHEMA, Summary, SummaryCell};
use super::observed::observed;
use super::requested::requested;
use crate::diagnose::{self, Diagnosis};
use crate::ledger::{self, Breach, Ledger, Parting, Record, RunState, Verdict};
use crate::model::{Cell, CellId, FactValue, Observation};
use crate::plan::{Plan, PlannedCell};

/// What to do about a cell that never ran.
const AGAIN: &str = "run `gpusweep resume` on the run folder";

impl Summary {
    /// The row of one cell as it stands, without the line that reproduces it.
    #[must_use]
    pub fn row(planned: &PlannedCell, ledger: &Ledger) -> SummaryCell {
        row(planned, ledger, &BTreeMap::new())
    }

    /// Sums up a run as far as it has come.
    ///
    /// `commands` are the lines that reproduce the cells, which only the back end knows.
    #[must_use]
    pub fn build(plan: &Plan, ledger: &Ledger, commands: &BTreeMap<CellId, String>) -> Self {
        let cells: Vec<SummaryCell> =
            plan.cells.iter().map(|planned| row(planned, ledger, commands)).collect();
        Self {
            schema: SCHEMA.to_owned(),
            name: plan.name.clone(),
            state: ledger.state(),
            started_at: ledger.started_at(),
            finished_at: match ledger.state() {
                RunState::Finished => ledger.finished_at(),
                RunState::Planned | RunState::Running | RunState::Interrupted => None,
            },
            green: ledger.green(),
            counts: Counts::of(cells.iter().map(|cell| cell.verdict)),
            cells,
        }
    }
}

fn row(planned: &PlannedCell, ledger: &Ledger, commands: &BTreeMap<CellId, String>) -> SummaryCell {
    let cell = &planned.cell;
    let empty = blank(cell, commands.get(cell.id()).cloned());
    // A plan and a ledger that do not belong together still give one row per planned cell.
    let Some(record) = ledger.record(cell.id()) else {
        return empty;
    };
    let observed = record
        .outcome()
        .map(|attempt| with_observation(empty.clone(), cell, &attempt.observation, attempt.duration_ms));
    with_record(observed.unwrap_or(empty), record, ledger.state())
}

/// A row of which nothing is known but what was planned.
fn blank(cell: &Cell, command: Option<String>) -> SummaryCell {
    SummaryCell {
        id: cell.id().clone(),
        image: cell.image.name.clone(),
        reference: cell.image.reference.clone(),
        digest: None,
        family: cell.image.family.clone(),
        variant: cell.variant.name.clone(),
        stack: cell.variant.stack,
        visibility: cell.visibility.name.clone(),
        host: cell.host.clone(),
        device: cell.device.to_string(),
        verdict: Verdict::NotRun,
        flaky: false,
        reason: None,
        expected: cell.expect.codes.clone(),
        expected_facts: expected_facts(cell),
        code: None,
        exit_code: None,
        container_exit_code: None,
        stage: None,
        status: None,
        cause: None,
        next_action: None,
        first_error: None,
        attempts: 0,
        duration_ms: None,
        requested: requested(cell),
        applied: Map::new(),
        observed: Map::new(),
        parted: Vec::new(),
        leak: None,
        command,
    }
}

fn expected_facts(cell: &Cell) -> BTreeMap<String, Value> {
    let value = |value: &FactValue| match value {
        FactValue::Glob(pattern) => Value::String(pattern.clone()),
        FactValue::Exactly(value) => value.clone(),
    };
    cell.expect.facts.iter().map(|fact| (fact.path.clone(), value(&fact.value))).collect()
}

fn with_observation(
    row: SummaryCell,
    cell: &Cell,
    observation: &Observation,
    duration_ms: u64,
) -> SummaryCell {
    let code = ledger::code(observation);
    let Diagnosis { stage, first_error, cause, next_action } = diagnose::diagnose(cell, observation);
    let applied = observation.applied();
    SummaryCell {
        code: Some(code),
        exit_code: Some(code.exit_code()),
        container_exit_code: ledger::container_exit(observation),
        stage: stage.map(str::to_owned),
        status: status(observation),
        cause: cause.map(clean_cause),
        next_action: next_action.map(|action| diagnose::clean(&action)),
        first_error,
        duration_ms: Some(duration_ms),
        digest: applied.and_then(|applied| applied.digest.as_deref()).map(clean::digest),
        applied: applied.map(|applied| clean::object(&applied.settings)).unwrap_or_default(),
        parted: ledger::partings(cell, observation).into_iter().map(clean_parting).collect(),
        leak: match ledger::breach(cell, observation) {
            Some(Breach::Leak(what)) => Some(diagnose::clean(&what)),
            Some(Breach::Absent(_) | Breach::Unproven(_)) | None => None,
        },
        observed: match observation {
            Observation::Reported { report, .. } => observed(report),
            Observation::Garbled { .. }
            | Observation::NotStarted { .. }
            | Observation::TimedOut { .. }
            | Observation::Killed { .. }
            | Observation::Cancelled { .. } => Map::new(),
        },
        ..row
    }
}

fn with_record(row: SummaryCell, record: &Record, state: RunState) -> SummaryCell {
    let verdict = record.verdict();
    let next_action = match (verdict, state) {
        (Verdict::NotRun, RunState::Interrupted | RunState::Finished) => Some(AGAIN.to_owned()),
        (Verdict::NotRun, RunState::Planned | RunState::Running)
        | (Verdict::Expected | Verdict::Unexpected | Verdict::Blocked | Verdict::Pruned, _) => {
            row.next_action.clone()
        }
    };
    SummaryCell {
        verdict,
        next_action,
        flaky: record.flaky(),
        reason: record.pruned_because().map(str::to_owned),
        attempts: record.started(),
        ..row
    }
}

/// What was found in place of a request is the engine's or the container's word.
fn clean_parting(parting: Parting) -> Parting {
    let clean = |text: &str| diagnose::clean(text);
    Parting { requested: clean(&parting.requested), found: clean(&parting.found), ..parting }
}

/// The checker's cause comes out of the container, so it may say anything.
fn clean_cause(cause: Cause) -> Cause {
    let clean = |text: &str| diagnose::clean(text);
    Cause { id: clean(&cause.id), summary: clean(&cause.summary), next_action: clean(&cause.next_action) }
}

fn status(observation: &Observation) -> Option<Status> {
    match observation {
        Observation::Reported { report, .. } => Some(report.status),
        Observation::Garbled { .. }
        | Observation::NotStarted { .. }
        | Observation::TimedOut { .. }
        | Observation::Killed { .. }
        | Observation::Cancelled { .. } => None,
    }
}
