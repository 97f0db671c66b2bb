//! The fold itself.
//!
//! Main type: [`Ledger`]. The live view and a replayed journal go through the same [`Ledger::apply`], so they agree.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::ran;
use super::{LedgerError, Record, Verdict};
use crate::event::{Event, EventKind};
use crate::model::CellId;
use crate::plan::Plan;

/// Where the run as a whole stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Nothing has happened yet.
    Planned,
    /// It is under way, or its controller died.
    Running,
    /// The user stopped it; it can be resumed.
    Interrupted,
    /// It came to its end.
    Finished,
}

/// One row per planned cell, kept up to date by events.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    records: BTreeMap<CellId, Record>,
    state: RunState,
    run: Option<String>,
    checker: Option<String>,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    next_seq: u64,
    runnable: usize,
    finished: usize,
}

impl Ledger {
    /// A ledger in which nothing has happened.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let records = plan
            .cells
            .iter()
            .map(|planned| {
                let record = Record::new(planned.cell.clone(), planned.pruned.as_deref());
                (planned.cell.id().clone(), record)
            })
            .collect();
        Self {
            records,
            state: RunState::Planned,
            run: None,
            checker: None,
            started_at: None,
            finished_at: None,
            next_seq: 0,
            runnable: plan.runnable().count(),
            finished: 0,
        }
    }

    /// Takes in the next fact.
    ///
    /// # Errors
    /// Where the fact cannot follow those before it. The ledger is then as it was.
    pub fn apply(&mut self, event: &Event) -> Result<(), LedgerError> {
        if event.seq != self.next_seq {
            return Err(LedgerError::Sequence { expected: self.next_seq, found: event.seq });
        }
        self.require_running(&event.kind)?;
        match &event.kind {
            EventKind::RunStarted { run, name: _, cells: _, checker } => {
                self.begin(run, checker, event.at)?;
            }
            EventKind::CellPruned { cell, reason } => self.prune(cell, reason)?,
            EventKind::CellInvalidated { cell, reason: _ } => self.invalidate(cell)?,
            EventKind::AttemptStarted { cell, attempt } => self.start(cell, *attempt, event.at)?,
            EventKind::PhaseReached { cell, phase } => self.record_mut(cell)?.reach(*phase)?,
            EventKind::AttemptFinished { cell, attempt, duration_ms, observation } => {
                self.record_mut(cell)?.finish(*attempt, *duration_ms, observation)?;
                self.finished += 1;
            }
            EventKind::RunFinished { interrupted: true } => self.interrupt(event.at),
            EventKind::RunFinished { interrupted: false } => self.end(event.at)?,
        }
        self.next_seq += 1;
        Ok(())
    }

    fn require_running(&self, kind: &EventKind) -> Result<(), LedgerError> {
        let event = kind_name(kind);
        let starts = matches!(kind, EventKind::RunStarted { .. });
        match (self.state, starts) {
            (RunState::Planned | RunState::Interrupted | RunState::Finished, true)
            | (RunState::Running, false) => Ok(()),
            (RunState::Planned, false) => Err(LedgerError::NotRunning { event }),
            (RunState::Running, true) => Err(LedgerError::StartedTwice),
            (RunState::Interrupted | RunState::Finished, false) => Err(LedgerError::AfterEnd { event }),
        }
    }

    fn begin(&mut self, run: &str, checker: &str, at: Timestamp) -> Result<(), LedgerError> {
        match &self.run {
            Some(earlier) if earlier != run => {
                return Err(LedgerError::OtherRun { expected: earlier.clone(), found: run.to_owned() });
            }
            Some(_) => {}
            None => {
                self.run = Some(run.to_owned());
                self.started_at = Some(at);
            }
        }
        self.checker = Some(checker.to_owned());
        self.finished_at = None;
        self.state = RunState::Running;
        Ok(())
    }

    fn prune(&mut self, cell: &CellId, reason: &str) -> Result<(), LedgerError> {
        let record = self.record_mut(cell)?;
        let planned = record.pruned_because().is_none();
        record.prune(reason)?;
        if planned {
            self.runnable -= 1;
        }
        Ok(())
    }

    fn invalidate(&mut self, cell: &CellId) -> Result<(), LedgerError> {
        let record = self.record_mut(cell)?;
        let (pruned, counted) = (record.pruned_because().is_some(), record.outcome().is_some());
        record.invalidate()?;
        self.runnable += usize::from(pruned);
        self.finished -= usize::from(counted);
        Ok(())
    }

    fn start(&mut self, cell: &CellId, attempt: u32, at: Timestamp) -> Result<(), LedgerError> {
        let record = self.record_mut(cell)?;
        let again = record.outcome().is_some();
        record.start(attempt, at)?;
        if again {
            self.finished -= 1;
        }
        Ok(())
    }

    fn interrupt(&mut self, at: Timestamp) {
        self.records.values_mut().for_each(Record::abandon);
        self.state = RunState::Interrupted;
        self.finished_at = Some(at);
    }

    fn end(&mut self, at: Timestamp) -> Result<(), LedgerError> {
        if let Some(record) = self.records.values().find(|record| record.running()) {
            return Err(LedgerError::EndedUnderWay(record.cell().id().clone()));
        }
        self.state = RunState::Finished;
        self.finished_at = Some(at);
        Ok(())
    }

    fn record_mut(&mut self, cell: &CellId) -> Result<&mut Record, LedgerError> {
        self.records.get_mut(cell).ok_or_else(|| LedgerError::UnknownCell(cell.clone()))
    }
}

/// What a reader may ask.
impl Ledger {
    /// Everything known of one cell; none where the plan has no such cell.
    #[must_use]
    pub fn record(&self, cell: &CellId) -> Option<&Record> {
        self.records.get(cell)
    }

    /// Every cell, in the order of the ids; the order of the plan is the plan's to give.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Where the run stands.
    #[must_use]
    pub const fn state(&self) -> RunState {
        self.state
    }

    /// The run's id; none before it began.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Digest of the programs that the last part of the run took into its containers; none before it began.
    #[must_use]
    pub fn checker(&self) -> Option<&str> {
        self.checker.as_deref()
    }

    /// When it first began.
    #[must_use]
    pub const fn started_at(&self) -> Option<Timestamp> {
        self.started_at
    }

    /// When it ended, or was interrupted; none while it runs.
    #[must_use]
    pub const fn finished_at(&self) -> Option<Timestamp> {
        self.finished_at
    }

    /// The number that the next event must have.
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// How many cells are not pruned.
    #[must_use]
    pub const fn runnable(&self) -> usize {
        self.runnable
    }

    /// How many cells have come to an observation and are not being tried again.
    #[must_use]
    pub const fn finished(&self) -> usize {
        self.finished
    }

    /// Whether every row is as expected or pruned, at least one ran, and nothing interrupted the run.
    #[must_use]
    pub fn green(&self) -> bool {
        let mut any_ran = false;
        let holds = self.records.values().all(|record| match record.verdict() {
            Verdict::Expected => {
                any_ran |= record.observation().is_some_and(ran);
                true
            }
            Verdict::Pruned => true,
            Verdict::Unexpected | Verdict::Blocked | Verdict::NotRun => false,
        });
        holds && any_ran && self.state != RunState::Interrupted
    }
}

const fn kind_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::RunStarted { .. } => "run-started",
        EventKind::CellPruned { .. } => "cell-pruned",
        EventKind::CellInvalidated { .. } => "cell-invalidated",
        EventKind::AttemptStarted { .. } => "attempt-started",
        EventKind::PhaseReached { .. } => "phase-reached",
        EventKind::AttemptFinished { .. } => "attempt-finished",
        EventKind::RunFinished { .. } => "run-finished",
    }
}
