//! Two runs, held against each other cell by cell.
//!
//! Main type: [`Comparison`], from [`compare`]. It judges neither run: each brings its own verdicts.

mod facts;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use facts::Facts;
pub use text::write;

use crate::ledger::Verdict;
use crate::model::{CellId, Code};
use crate::summary::{Summary, SummaryCell};

/// The value of [`Comparison::schema`].
pub const SCHEMA: &str = "gpusweep.comparison/1";

/// What changed from one run to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always `gpusweep.comparison/1`.
    pub schema: String,
    /// Name of the earlier run's matrix.
    pub base: String,
    /// Name of the later run's matrix.
    pub head: String,
    /// Cells that are the same in both.
    pub unchanged: usize,
    /// Everything else, what is worst first.
    pub changes: Vec<Change>,
}

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Green before, and not now; or a leak that was none before.
    Regression,
    /// Not green before, and not now, with another result or cause.
    Changed,
    /// As expected in both, and now only after an attempt that was not.
    Flaky,
    /// Only in the later run, or pruned in the earlier one.
    New,
    /// Only in the earlier run, or pruned in the later one: what it covered is covered no more.
    Gone,
    /// Green now, and not before.
    Fix,
    /// The same result with another version of something.
    Facts,
}

/// One cell that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What became of it.
    pub kind: Kind,
    /// Identity in the later run, or in the earlier one where it is gone.
    #[schemars(with = "String")]
    pub id: CellId,
    /// Where it stands in the matrix, in one line.
    pub cell: String,
    /// The earlier result; null where it is new.
    pub base: Option<Outcome>,
    /// The later result; null where it is gone.
    pub head: Option<Outcome>,
    /// Versions that are others, by their path in the report.
    pub facts: Vec<FactChange>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// What is thought of it.
    pub verdict: Verdict,
    /// What was found; null where nothing was.
    pub code: Option<Code>,
    /// Name of the cause, where it is known.
    pub cause: Option<String>,
    /// Whether the cell saw more of a GPU than it was given.
    pub leak: bool,
}

/// A version that is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactChange {
    /// Path in the report.
    pub path: String,
    /// The earlier value; null where there was none.
    pub base: Option<String>,
    /// The later value; null where there is none.
    pub head: Option<String>,
}

/// One side of a comparison: a run, and what its reports say of versions.
pub struct Side<'a> {
    /// The run.
    pub summary: &'a Summary,
    /// Versions by cell.
    pub facts: &'a BTreeMap<CellId, Facts>,
}

impl Comparison {
    /// Whether anything that was green is not any more.
    #[must_use]
    pub fn regressed(&self) -> bool {
        self.changes.iter().any(|change| change.kind == Kind::Regression)
    }
}

/// Holds two runs against each other.
///
/// Cells are the same where their ids are. What is left is matched by everything but the host, where that is unmistakable
/// on both sides: runs of the same matrix on other hosts can be compared.
#[must_use]
pub fn compare(base: &Side<'_>, head: &Side<'_>) -> Comparison {
    let pairs = pairs(base.summary, head.summary);
    let mut changes: Vec<Change> = Vec::new();
    let mut unchanged = 0;
    for (earlier, later) in pairs {
        match change((earlier, base), (later, head)) {
            Some(change) => changes.push(change),
            None => unchanged += 1,
        }
    }
    // Stable: within a kind the order of the plan stays.
    changes.sort_by_key(|change| change.kind);
    Comparison {
        schema: SCHEMA.to_owned(),
        base: base.summary.name.clone(),
        head: head.summary.name.clone(),
        unchanged,
        changes,
    }
}

type Pair<'a> = (Option<&'a SummaryCell>, Option<&'a SummaryCell>);

fn pairs<'a>(base: &'a Summary, head: &'a Summary) -> Vec<Pair<'a>> {
    let earlier: HashMap<&CellId, &SummaryCell> = base.cells.iter().map(|cell| (&cell.id, cell)).collect();
    let later: HashMap<&CellId, &SummaryCell> = head.cells.iter().map(|cell| (&cell.id, cell)).collect();
    let lonely = |cells: &'a [SummaryCell], others: &HashMap<&CellId, &SummaryCell>| {
        by_place(cells.iter().filter(|cell| !others.contains_key(&cell.id)))
    };
    let (mut only_base, only_head) = (lonely(&base.cells, &later), lonely(&head.cells, &earlier));
    let mut pairs: Vec<Pair<'_>> = Vec::with_capacity(head.cells.len());
    for cell in &head.cells {
        let same = earlier.get(&cell.id).copied();
        let alike = || match (only_base.get(&place(cell)), only_head.get(&place(cell))) {
            (Some(Some(other)), Some(Some(_))) => Some(*other),
            (_, _) => None,
        };
        let other = same.or_else(alike);
        if same.is_none() && other.is_some() {
            only_base.insert(place(cell), None);
        }
        pairs.push((other, Some(cell)));
    }
    let taken: Vec<&CellId> = pairs.iter().filter_map(|(earlier, _)| Some(&(*earlier)?.id)).collect();
    let taken: std::collections::HashSet<&CellId> = taken.into_iter().collect();
    pairs.extend(base.cells.iter().filter(|cell| !taken.contains(&cell.id)).map(|cell| (Some(cell), None)));
    pairs
}

type Place<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Where a cell stands, whichever host it ran on.
fn place(cell: &SummaryCell) -> Place<'_> {
    (&cell.image, &cell.variant, &cell.visibility, &cell.device)
}

/// Cells by their places; none where there are several.
fn by_place<'a>(cells: impl Iterator<Item = &'a SummaryCell>) -> HashMap<Place<'a>, Option<&'a SummaryCell>> {
    let mut found: HashMap<Place<'_>, Option<&SummaryCell>> = HashMap::new();
    for cell in cells {
        found.entry(place(cell)).and_modify(|other| *other = None).or_insert(Some(cell));
    }
    found
}

fn change(
    (earlier, base): (Option<&SummaryCell>, &Side<'_>),
    (later, head): (Option<&SummaryCell>, &Side<'_>),
) -> Option<Change> {
    let cell = later.or(earlier)?;
    let facts = match (earlier, later) {
        (Some(earlier), Some(later)) => {
            facts::changes(base.facts.get(&earlier.id), head.facts.get(&later.id))
        }
        (Some(_) | None, None) | (None, Some(_)) => Vec::new(),
    };
    Some(Change {
        kind: kind(earlier, later, !facts.is_empty())?,
        id: cell.id.clone(),
        cell: cell.coordinates(),
        base: earlier.map(outcome),
        head: later.map(outcome),
        facts,
    })
}

fn kind(earlier: Option<&SummaryCell>, later: Option<&SummaryCell>, other_facts: bool) -> Option<Kind> {
    // A pruned cell is green, and covers nothing.
    let covered = |cell: &&SummaryCell| cell.verdict != Verdict::Pruned;
    let (earlier, later) = match (earlier.filter(covered), later.filter(covered)) {
        (Some(earlier), Some(later)) => (earlier, later),
        (Some(_), None) => return Some(Kind::Gone),
        (None, Some(_)) => return Some(Kind::New),
        (None, None) => return None,
    };
    match (earlier.verdict.green(), later.verdict.green()) {
        (true, false) => Some(Kind::Regression),
        (false, true) => Some(Kind::Fix),
        (false, false) if later.leak.is_some() && earlier.leak.is_none() => Some(Kind::Regression),
        (false, false) if outcome(earlier) != outcome(later) => Some(Kind::Changed),
        (true, true) if later.flaky && !earlier.flaky => Some(Kind::Flaky),
        (_, _) if other_facts => Some(Kind::Facts),
        (_, _) => None,
    }
}

fn outcome(cell: &SummaryCell) -> Outcome {
    let cause = cell.cause.as_ref().map(|cause| cause.id.clone());
    Outcome { verdict: cell.verdict, code: cell.code, cause, leak: cell.leak.is_some() }
}
