//! What a ledger refuses.
//!
//! Main type: [`LedgerError`]. Each one means that a journal is damaged, or that its writer has a fault: it is never
//! something that a container did.

use crate::model::{CellId, Phase};

/// A fact that cannot follow the ones before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// A number was left out, or used twice.
    #[error("event {found} stands where event {expected} must")]
    Sequence {
        /// The number that must come next.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// Something happened before the run began.
    #[error("`{event}` comes before the start of the run")]
    NotRunning {
        /// Kind of the event.
        event: &'static str,
    },
    /// Something happened after the run ended.
    #[error("`{event}` comes after the end of the run")]
    AfterEnd {
        /// Kind of the event.
        event: &'static str,
    },
    /// A run began within a run.
    #[error("the run starts again although nothing interrupted it")]
    StartedTwice,
    /// A later part belongs to another run.
    #[error("run `{found}` continues run `{expected}`")]
    OtherRun {
        /// Id of the first part.
        expected: String,
        /// Id of the later one.
        found: String,
    },
    /// A cell that is not in the plan.
    #[error("cell `{0}` is not in the plan")]
    UnknownCell(CellId),
    /// A pruned cell was tried.
    #[error("cell `{0}` was pruned, and yet it is tried")]
    TriedPruned(CellId),
    /// A cell was pruned after it was tried.
    #[error("cell `{0}` was tried, and is pruned afterwards")]
    PrunedTried(CellId),
    /// A cell's attempts were declared to be about something else while one was under way.
    #[error("cell `{0}` is invalidated while an attempt at it is under way")]
    InvalidatedUnderWay(CellId),
    /// Two attempts at a time at one cell.
    #[error("attempt {attempt} at cell `{cell}` starts before the one under way has ended")]
    Overlap {
        /// Cell.
        cell: CellId,
        /// The later attempt.
        attempt: u32,
    },
    /// Attempts are not numbered one after the other.
    #[error("attempt {found} at cell `{cell}` stands where attempt {expected} must")]
    AttemptOrder {
        /// Cell.
        cell: CellId,
        /// The number that must come.
        expected: u32,
        /// The number that came.
        found: u32,
    },
    /// An attempt goes on, or ends, that is not under way.
    #[error("`{event}` of cell `{cell}`, none of whose attempts is under way")]
    NotUnderWay {
        /// Cell.
        cell: CellId,
        /// Kind of the event.
        event: &'static str,
    },
    /// An attempt went back to an earlier step.
    #[error("cell `{cell}` goes back from step `{}` to step `{}`", from.as_str(), to.as_str())]
    PhaseBackwards {
        /// Cell.
        cell: CellId,
        /// The step that it had come to.
        from: Phase,
        /// The earlier one.
        to: Phase,
    },
    /// The run ended as if complete, with an attempt under way.
    #[error("the run ends while cell `{0}` is under way")]
    EndedUnderWay(CellId),
}
