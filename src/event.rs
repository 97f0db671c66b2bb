//! What happens in a sweep, as facts: the only thing that passes between the runner and all readers.
//!
//! Main type: [`Event`]. Events hold no verdicts: those are computed from them, so that a new rule re-explains old runs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{CellId, Observation, Phase};

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the run, from 0 without gaps.
    pub seq: u64,
    /// When it was noted.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Kinds of [`Event`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// The sweep began.
    RunStarted {
        /// The run's id, which labels its containers.
        run: String,
        /// Name of the matrix.
        name: String,
        /// Number of cells that are to run.
        cells: usize,
        /// Digest of the programs that go into the containers.
        checker: String,
    },
    /// What earlier attempts at a cell found is about something else than what it stands for now.
    CellInvalidated {
        /// Cell.
        cell: CellId,
        /// What is another than it was.
        reason: String,
    },
    /// A cell that cannot apply was left out.
    CellPruned {
        /// Cell.
        cell: CellId,
        /// Why.
        reason: String,
    },
    /// An attempt at a cell began.
    AttemptStarted {
        /// Cell.
        cell: CellId,
        /// From 1.
        attempt: u32,
    },
    /// An attempt came to a new step.
    PhaseReached {
        /// Cell.
        cell: CellId,
        /// Step.
        phase: Phase,
    },
    /// An attempt ended.
    AttemptFinished {
        /// Cell.
        cell: CellId,
        /// From 1.
        attempt: u32,
        /// Wall time of the attempt, in milliseconds.
        duration_ms: u64,
        /// What it came to.
        observation: Observation,
    },
    /// The sweep ended.
    RunFinished {
        /// Whether the user stopped it.
        interrupted: bool,
    },
}
