//! The fields of `summary.json`, in the order in which they are written.
//!
//! Main type: [`Summary`]. What does not apply is `null`, an empty list or an empty object, never missing.

use std::collections::BTreeMap;

use gpusweep_report::{Cause, Status};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::diagnose::FirstErrorRow;
use crate::ledger::{Parting, RunState, Verdict};
use crate::model::{CellId, Code, Stack};

/// The value of [`Summary::schema`].
pub const SCHEMA: &str = "gpusweep.summary/1";

/// A run, finished or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Always `gpusweep.summary/1`.
    pub schema: String,
    /// Name of the matrix.
    pub name: String,
    /// Where the run stands.
    pub state: RunState,
    /// When it first began; null where it has not.
    #[schemars(with = "Option<String>")]
    pub started_at: Option<Timestamp>,
    /// When it came to its end; null while it runs, and where it was interrupted.
    #[schemars(with = "Option<String>")]
    pub finished_at: Option<Timestamp>,
    /// Whether every row is expected or pruned, and at least one ran.
    pub green: bool,
    /// Number of rows by verdict.
    pub counts: Counts,
    /// One row per planned cell, in the order of the plan.
    pub cells: Vec<SummaryCell>,
}

/// Number of rows by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Counts {
    /// As expected.
    pub expected: usize,
    /// Another code, or another fact.
    pub unexpected: usize,
    /// Could not run.
    pub blocked: usize,
    /// Interrupted, or never reached.
    pub not_run: usize,
    /// Cannot apply.
    pub pruned: usize,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryCell {
    /// Stable identity, the same in every run of the same combination.
    #[schemars(with = "String")]
    pub id: CellId,
    /// Image, by its name in the matrix.
    pub image: String,
    /// Reference as the engine was given it.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of the image that ran, as the engine says it; null where none did.
    pub digest: Option<String>,
    /// Family under which variants are compared.
    pub family: String,
    /// Variant; `-` where the matrix has none.
    pub variant: String,
    /// Stack of the variant; null where the matrix does not say.
    pub stack: Option<Stack>,
    /// Exposure, by its name in the matrix.
    pub visibility: String,
    /// Host, by its name in the matrix.
    pub host: String,
    /// Index of the GPU asked for, or `cpu`.
    pub device: String,
    /// What is thought of the row.
    pub verdict: Verdict,
    /// Whether it is as expected only after an earlier attempt was not.
    pub flaky: bool,
    /// Why it is pruned; null where it is not.
    pub reason: Option<String>,
    /// Any of these codes is as expected.
    pub expected: Vec<Code>,
    /// Facts that must hold too, by their path in the report.
    pub expected_facts: BTreeMap<String, Value>,
    /// What was found; null where nothing was observed.
    pub code: Option<Code>,
    /// The exit status that stands for the code.
    pub exit_code: Option<u8>,
    /// The exit status of the container itself; null where there was none, or it was stopped by the controller.
    pub container_exit_code: Option<i64>,
    /// The stage of the check, or the step of the launch, at which it ended.
    pub stage: Option<String>,
    /// Whether the check held; null without a report.
    pub status: Option<Status>,
    /// Why, where that is known.
    pub cause: Option<Cause>,
    /// What to do next; null where all is as expected.
    pub next_action: Option<String>,
    /// The first error; null where there was none.
    pub first_error: Option<FirstErrorRow>,
    /// Number of attempts that began.
    pub attempts: u32,
    /// Wall time of the last attempt, in milliseconds; null where none ended.
    pub duration_ms: Option<u64>,
    /// What the matrix asked for, in the matrix's own words.
    pub requested: Map<String, Value>,
    /// What the engine says it set.
    pub applied: Map<String, Value>,
    /// What the checker saw inside.
    pub observed: Map<String, Value>,
    /// What of the request did not come through, and at which layer it was lost.
    pub parted: Vec<Parting>,
    /// What the cell saw of a GPU beyond what it was given, whatever its code; null where that is nothing.
    pub leak: Option<String>,
    /// A command that reproduces the cell; null where the back end has none.
    pub command: Option<String>,
}

impl Counts {
    /// Counts rows.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Expected => counts.expected += 1,
                Verdict::Unexpected => counts.unexpected += 1,
                Verdict::Blocked => counts.blocked += 1,
                Verdict::NotRun => counts.not_run += 1,
                Verdict::Pruned => counts.pruned += 1,
            }
        }
        counts
    }

    /// Rows of one verdict.
    #[must_use]
    pub const fn get(&self, verdict: Verdict) -> usize {
        match verdict {
            Verdict::Expected => self.expected,
            Verdict::Unexpected => self.unexpected,
            Verdict::Blocked => self.blocked,
            Verdict::NotRun => self.not_run,
            Verdict::Pruned => self.pruned,
        }
    }

    /// Rows in all.
    #[must_use]
    pub fn total(&self) -> usize {
        Verdict::ALL.into_iter().map(|verdict| self.get(verdict)).sum()
    }
}

impl Summary {
    /// Rows that are as expected only after an earlier attempt was not.
    #[must_use]
    pub fn flaky(&self) -> usize {
        self.cells.iter().filter(|cell| cell.flaky).count()
    }
}

impl SummaryCell {
    /// Whether the exposure takes everything at once, which proves little about anything else.
    #[must_use]
    pub fn privileged(&self) -> bool {
        self.requested.get("privileged") == Some(&Value::Bool(true))
    }

    /// The container's own exit status where it is not the one that its report says.
    #[must_use]
    pub fn exit_mismatch(&self) -> Option<i64> {
        match (self.code?, self.exit_code, self.container_exit_code) {
            (Code::Check(_), Some(said), Some(container)) if container != i64::from(said) => Some(container),
            (Code::Check(_) | Code::Cell(_), _, _) => None,
        }
    }

    /// Where the cell stands in the matrix, in one line; a variant that the matrix does not have is left out.
    #[must_use]
    pub fn coordinates(&self) -> String {
        let parts = [&self.image, &self.variant, &self.visibility, &self.host, &self.device];
        let said: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| *part != "-").collect();
        said.join(" ")
    }
}
