//! What is known of one cell.
//!
//! Main type: [`Record`]. It holds facts; its verdict is computed each time, so that a new rule re-judges old runs.

use jiff::Timestamp;

use super::LedgerError;
use super::verdict::{self, Verdict};
use crate::model::{Cell, CellId, Code, Observation, Phase};

/// Where a cell stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellState {
    /// It cannot apply.
    Pruned {
        /// Why.
        reason: String,
    },
    /// No attempt has begun.
    Waiting,
    /// An attempt is under way.
    Running {
        /// Its number.
        attempt: u32,
        /// When it began.
        since: Timestamp,
        /// How far it got.
        phase: Phase,
    },
    /// The last attempt came to an observation.
    Finished,
    /// The run was interrupted in the middle of an attempt, which left no observation.
    Abandoned,
}

/// An attempt that came to an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// From 1; a number is missing where an attempt was abandoned.
    pub number: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// Wall time, in milliseconds.
    pub duration_ms: u64,
    /// What it came to.
    pub observation: Observation,
}

/// One cell and everything that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    cell: Cell,
    state: CellState,
    started: u32,
    attempts: Vec<Attempt>,
    /// How many of the attempts are about something else than what the cell stands for now.
    invalid: usize,
}

impl Record {
    pub(super) fn new(cell: Cell, pruned: Option<&str>) -> Self {
        let state =
            pruned.map_or(CellState::Waiting, |reason| CellState::Pruned { reason: reason.to_owned() });
        Self { cell, state, started: 0, attempts: Vec::new(), invalid: 0 }
    }

    /// The cell.
    #[must_use]
    pub const fn cell(&self) -> &Cell {
        &self.cell
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> &CellState {
        &self.state
    }

    /// Every attempt that came to an observation, in order.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The attempts that are about what the cell stands for now.
    #[must_use]
    pub fn valid_attempts(&self) -> &[Attempt] {
        self.attempts.get(self.invalid..).unwrap_or_default()
    }

    /// How many attempts began, abandoned ones too.
    #[must_use]
    pub const fn started(&self) -> u32 {
        self.started
    }

    /// The attempt that counts: the last one, and only once it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Attempt> {
        match self.state {
            CellState::Finished => self.attempts.last(),
            CellState::Pruned { .. }
            | CellState::Waiting
            | CellState::Running { .. }
            | CellState::Abandoned => None,
        }
    }

    /// What the attempt that counts came to.
    #[must_use]
    pub fn observation(&self) -> Option<&Observation> {
        self.outcome().map(|attempt| &attempt.observation)
    }

    /// The verdict as it stands now.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.state {
            CellState::Pruned { .. } => Verdict::Pruned,
            CellState::Waiting | CellState::Running { .. } | CellState::Abandoned | CellState::Finished => {
                self.observation()
                    .map_or(Verdict::NotRun, |observation| verdict::verdict(&self.cell, observation))
            }
        }
    }

    /// The code as it stands now; none where nothing was observed.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.observation().map(verdict::code)
    }

    /// Whether it is as expected now, but was not in an earlier attempt that ran to its end.
    #[must_use]
    pub fn flaky(&self) -> bool {
        let earlier = self.valid_attempts().split_last().map_or(&[][..], |(_, earlier)| earlier);
        self.verdict() == Verdict::Expected
            && earlier.iter().any(|attempt| match verdict::verdict(&self.cell, &attempt.observation) {
                Verdict::Unexpected => true,
                // What could not run failed no check.
                Verdict::Expected | Verdict::Blocked | Verdict::NotRun | Verdict::Pruned => false,
            })
    }

    /// Why the cell is pruned.
    #[must_use]
    pub fn pruned_because(&self) -> Option<&str> {
        match &self.state {
            CellState::Pruned { reason } => Some(reason),
            CellState::Waiting | CellState::Running { .. } | CellState::Finished | CellState::Abandoned => {
                None
            }
        }
    }
}

/// The transitions. Each changes nothing where it is refused.
impl Record {
    fn id(&self) -> CellId {
        self.cell.id().clone()
    }

    /// A resumed run may say again what is pruned, and a host may turn out to lack what a cell needs.
    pub(super) fn prune(&mut self, reason: &str) -> Result<(), LedgerError> {
        match &self.state {
            CellState::Pruned { .. } => Ok(()),
            CellState::Waiting => {
                self.state = CellState::Pruned { reason: reason.to_owned() };
                Ok(())
            }
            CellState::Running { .. } | CellState::Finished | CellState::Abandoned => {
                Err(LedgerError::PrunedTried(self.id()))
            }
        }
    }

    /// Whatever was found, or decided, is forgotten; the attempts stay on record.
    pub(super) fn invalidate(&mut self) -> Result<(), LedgerError> {
        if self.running() {
            return Err(LedgerError::InvalidatedUnderWay(self.id()));
        }
        self.invalid = self.attempts.len();
        self.state = CellState::Waiting;
        Ok(())
    }

    pub(super) fn start(&mut self, attempt: u32, at: Timestamp) -> Result<(), LedgerError> {
        match &self.state {
            CellState::Pruned { .. } => return Err(LedgerError::TriedPruned(self.id())),
            CellState::Running { .. } => return Err(LedgerError::Overlap { cell: self.id(), attempt }),
            CellState::Waiting | CellState::Finished | CellState::Abandoned => {}
        }
        let expected = self.started + 1;
        if attempt != expected {
            return Err(LedgerError::AttemptOrder { cell: self.id(), expected, found: attempt });
        }
        self.started = attempt;
        self.state = CellState::Running { attempt, since: at, phase: Phase::Queued };
        Ok(())
    }

    pub(super) fn reach(&mut self, to: Phase) -> Result<(), LedgerError> {
        let cell = self.id();
        let CellState::Running { phase, .. } = &mut self.state else {
            return Err(LedgerError::NotUnderWay { cell, event: "phase-reached" });
        };
        if to < *phase {
            return Err(LedgerError::PhaseBackwards { cell, from: *phase, to });
        }
        *phase = to;
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        number: u32,
        duration_ms: u64,
        observation: &Observation,
    ) -> Result<(), LedgerError> {
        let CellState::Running { attempt, since, .. } = self.state else {
            return Err(LedgerError::NotUnderWay { cell: self.id(), event: "attempt-finished" });
        };
        if number != attempt {
            return Err(LedgerError::AttemptOrder { cell: self.id(), expected: attempt, found: number });
        }
        self.attempts.push(Attempt {
            number,
            started_at: since,
            duration_ms,
            observation: observation.clone(),
        });
        self.state = CellState::Finished;
        Ok(())
    }

    pub(super) fn running(&self) -> bool {
        match self.state {
            CellState::Running { .. } => true,
            CellState::Pruned { .. } | CellState::Waiting | CellState::Finished | CellState::Abandoned => {
                false
            }
        }
    }

    pub(super) fn abandon(&mut self) {
        if self.running() {
            self.state = CellState::Abandoned;
        }
    }
}
