//! The plan as it is kept in the run folder.

use serde::{Deserialize, Serialize};

use crate::model::{Cell, Host};

/// The value of [`Plan::schema`].
pub const SCHEMA: &str = "gpusweep.plan/1";

/// Everything that a sweep is going to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Name of the matrix.
    pub name: String,
    /// What it was made of.
    pub source: Source,
    /// Where cells run, in the order of the matrix.
    pub hosts: Vec<Host>,
    /// Bounds of the sweep.
    pub limits: RunLimits,
    /// Every combination, pruned ones too, in the order of the axes.
    pub cells: Vec<PlannedCell>,
}

/// What a plan was made of, so that a resumed run can tell whether it is another now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// SHA-256 of the matrix, in hexadecimal digits.
    pub sha256: String,
    /// The selections of `--only`, as typed.
    pub only: Vec<String>,
    /// The selections of `--skip`, as typed.
    pub skip: Vec<String>,
}

/// One combination of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCell {
    /// The combination.
    #[serde(flatten)]
    pub cell: Cell,
    /// Why it cannot apply; null = it is to run.
    pub pruned: Option<String>,
}

/// Bounds of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Cells at a time in all; none = as many as the hosts take.
    pub jobs: Option<u32>,
    /// Cells at a time on one host; none = twice the engine's processors.
    pub per_host: Option<u32>,
    /// Pulls at a time on one host; none = 2.
    pub pull: Option<u32>,
    /// Whether cells may compute on one GPU at the same time.
    pub share: bool,
}

impl Plan {
    /// The cells that are to run.
    pub fn runnable(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|planned| planned.pruned.is_none()).map(|planned| &planned.cell)
    }
}
