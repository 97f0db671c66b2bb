//! Takes the events of a run: keeps them, folds them, shows them, and says how to go on.

use std::collections::BTreeMap;

use super::stream::Stream;
use crate::event::{Event, EventKind};
use crate::journal::{JournalError, RunFolder};
use crate::ledger::{Ledger, LedgerError, Record, Verdict};
use crate::model::{CellId, Observation};
use crate::progress::Progress;
use crate::run::{Note, Reaction, Sink};

/// Attempts at a cell whose engine does not answer. Each of them is kept.
const TRIES: usize = 4;

/// Joins the runner with the readers of its events.
pub(super) struct Recorder<'a> {
    pub(super) folder: &'a mut RunFolder,
    pub(super) ledger: &'a mut Ledger,
    pub(super) progress: Progress,
    /// Other programs that follow the sweep, where they were asked for.
    pub(super) stream: Option<Stream<'a>>,
    pub(super) fail_fast: bool,
    pub(super) retries: u32,
    /// Attempts of an earlier part of the run: they take no tries away.
    pub(super) earlier: BTreeMap<CellId, usize>,
}

/// Why a sweep cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Sink for Recorder<'_> {
    type Error = RecordError;

    fn take(&mut self, note: &Note<'_>) -> Result<Reaction, RecordError> {
        // First what belongs to the fact, then the fact: whoever finds the fact finds the rest.
        if let EventKind::AttemptFinished { cell, attempt, .. } = &note.event.kind {
            self.folder.log(cell, *attempt, note.log)?;
            match note.report {
                Some(report) => self.folder.report(cell, report)?,
                None => self.folder.no_report(cell)?,
            }
        }
        self.folder.append(note.event)?;
        self.ledger.apply(note.event)?;
        self.progress.on_event(note.event, self.ledger);
        if let Some(stream) = &mut self.stream {
            stream.tell(note.event, self.ledger);
        }
        Ok(self.reaction(note.event))
    }
}

impl Recorder<'_> {
    fn reaction(&self, event: &Event) -> Reaction {
        match &event.kind {
            EventKind::AttemptFinished { cell, observation, .. } if observation.unanswered().is_some() => {
                if self.tries(cell, |found| found.unanswered().is_some()) < TRIES {
                    Reaction::Retry
                } else {
                    Reaction::Continue
                }
            }
            EventKind::AttemptFinished { cell, .. } if self.failed(cell) => {
                if self.tries(cell, |found| found.unanswered().is_none()) <= self.retries as usize {
                    Reaction::Retry
                } else if self.fail_fast {
                    Reaction::Stop
                } else {
                    Reaction::Continue
                }
            }
            EventKind::AttemptFinished { .. }
            | EventKind::RunStarted { .. }
            | EventKind::CellPruned { .. }
            | EventKind::CellInvalidated { .. }
            | EventKind::AttemptStarted { .. }
            | EventKind::PhaseReached { .. }
            | EventKind::RunFinished { .. } => Reaction::Continue,
        }
    }

    /// Attempts of one kind that came to an end since the run began, or was resumed.
    fn tries(&self, cell: &CellId, kind: fn(&Observation) -> bool) -> usize {
        let earlier = self.earlier.get(cell).copied().unwrap_or(0);
        let attempts = self.ledger.record(cell).map_or(&[][..], Record::attempts);
        attempts.iter().skip(earlier).filter(|attempt| kind(&attempt.observation)).count()
    }

    fn failed(&self, cell: &CellId) -> bool {
        let verdict = self.ledger.record(cell).map(Record::verdict);
        matches!(verdict, Some(Verdict::Unexpected | Verdict::Blocked))
    }
}
