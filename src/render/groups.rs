//! Rows that are not green, put together where they say the same, so that one fault is read once.
//!
//! Main function: [`failures`]; [`pruned`] does the same for what cannot apply.

use std::collections::HashMap;
use std::hash::Hash;

use gpusweep_report::Cause;

use crate::diagnose::FirstErrorRow;
use crate::ledger::{Parting, Verdict};
use crate::model::Code;
use crate::summary::{Summary, SummaryCell};

/// Rows that failed alike.
pub(super) struct Failure<'a> {
    /// The rows, in the order of the plan.
    pub cells: Vec<&'a SummaryCell>,
}

/// What must be equal for rows to be listed once.
#[derive(PartialEq, Eq, Hash)]
struct Alike<'a> {
    verdict: Verdict,
    code: Option<Code>,
    exit_mismatch: Option<i64>,
    first_error: Option<&'a FirstErrorRow>,
    cause: Option<(&'a str, &'a str)>,
    next_action: Option<&'a str>,
    parted: &'a [Parting],
}

impl<'a> Alike<'a> {
    fn of(cell: &'a SummaryCell) -> Self {
        let told = |cause: &'a Cause| (cause.id.as_str(), cause.summary.as_str());
        Self {
            verdict: cell.verdict,
            code: cell.code,
            exit_mismatch: cell.exit_mismatch(),
            first_error: cell.first_error.as_ref(),
            cause: cell.cause.as_ref().map(told),
            next_action: cell.next_action.as_deref(),
            parted: &cell.parted,
        }
    }
}

/// Groups of rows that are not green: leaks first, then what else is unexpected, blocked, not run.
pub(super) fn failures(summary: &Summary) -> Vec<Failure<'_>> {
    let verdicts = [Verdict::Unexpected, Verdict::Blocked, Verdict::NotRun];
    let of_verdict =
        |verdict| summary.cells.iter().filter(move |cell: &&SummaryCell| cell.verdict == verdict);
    let mut failing: Vec<&SummaryCell> = verdicts.into_iter().flat_map(of_verdict).collect();
    failing.sort_by_key(|cell| cell.leak.is_none());
    grouped(failing.into_iter(), Alike::of).into_iter().map(|cells| Failure { cells }).collect()
}

/// Pruned rows by their reason.
pub(super) fn pruned(summary: &Summary) -> Vec<(&str, Vec<&SummaryCell>)> {
    let pruned = summary.cells.iter().filter(|cell| cell.verdict == Verdict::Pruned);
    let reason = |cell: &SummaryCell| cell.reason.clone();
    grouped(pruned, reason)
        .into_iter()
        .map(|cells| (cells.first().and_then(|cell| cell.reason.as_deref()).unwrap_or_default(), cells))
        .collect()
}

/// Groups in the order in which their first members come.
fn grouped<'a, K: Eq + Hash>(
    cells: impl Iterator<Item = &'a SummaryCell>,
    key: impl Fn(&'a SummaryCell) -> K,
) -> Vec<Vec<&'a SummaryCell>> {
    let mut index: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<&SummaryCell>> = Vec::new();
    for cell in cells {
        let group = *index.entry(key(cell)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(cell);
    }
    groups
}

impl Failure<'_> {
    /// The codes that these rows were to have, each set once.
    pub(super) fn expected(&self) -> String {
        let mut sets: Vec<String> = Vec::new();
        for cell in &self.cells {
            let names: Vec<&str> = cell.expected.iter().map(|code| code.as_str()).collect();
            let set = names.join(" or ");
            if !set.is_empty() && !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets.join(", elsewhere ")
    }
}
