//! What a changed matrix makes of a run that has begun.
//!
//! Main function: [`revise`]. Which results exist is not its business: it only says which would not stand any more.

use std::collections::HashMap;

use super::{Plan, PlannedCell};
use crate::model::{CellId, Host};

/// A run's plan after its matrix was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Every cell of either plan: those of the newer one, as it has them, then those that it has no more.
    pub plan: Plan,
    /// Cells whose earlier results do not stand any more, each with the reason.
    pub invalid: Vec<(CellId, String)>,
    /// Cells that are not to run any more, each with the reason.
    pub pruned: Vec<(CellId, String)>,
}

/// Joins the plan of a run with that of a changed matrix.
///
/// What has to be yielded may change as it will: results are judged anew each time. Cells that a run already knows keep
/// their places in the joined plan, so that its facts can still be read; what is not to run any more is to be told as facts.
#[must_use]
pub fn revise(older: &Plan, newer: Plan) -> Revision {
    let before = by_id(older);
    let (mut invalid, mut pruned) = (Vec::new(), Vec::new());
    let mut cells = Vec::with_capacity(newer.cells.len());
    for planned in &newer.cells {
        let mut planned = planned.clone();
        if let Some(earlier) = before.get(planned.cell.id()) {
            let id = planned.cell.id().clone();
            if let (None, Some(reason)) =
                (&earlier.pruned, planned.pruned.take_if(|_| earlier.pruned.is_none()))
            {
                invalid.push((id.clone(), reason.clone()));
                pruned.push((id, reason));
            } else if earlier.pruned.is_some() != planned.pruned.is_some() {
                invalid.push((id, "the matrix does not prune it any more".to_owned()));
            } else if planned.pruned.is_none() && differs((*earlier, older), (&planned, &newer)) {
                invalid.push((id, "the matrix was changed".to_owned()));
            }
        }
        cells.push(planned);
    }
    let still = by_id(&newer);
    for gone in older.cells.iter().filter(|planned| !still.contains_key(planned.cell.id())) {
        if gone.pruned.is_none() {
            let reason = "it is not in the matrix any more".to_owned();
            invalid.push((gone.cell.id().clone(), reason.clone()));
            pruned.push((gone.cell.id().clone(), reason));
        }
        cells.push(gone.clone());
    }
    Revision { plan: Plan { cells, ..newer }, invalid, pruned }
}

fn by_id(plan: &Plan) -> HashMap<&CellId, &PlannedCell> {
    plan.cells.iter().map(|planned| (planned.cell.id(), planned)).collect()
}

/// Whether the same check would be another one.
fn differs((earlier, older): (&PlannedCell, &Plan), (later, newer): (&PlannedCell, &Plan)) -> bool {
    let (a, b) = (&earlier.cell, &later.cell);
    let host = |plan: &'_ Plan, name: &str| plan.hosts.iter().find(|host| host.name == name).cloned();
    let backend = |host: Option<Host>| host.map(|host| host.backend);
    a.image.reference != b.image.reference
        || a.visibility != b.visibility
        || a.checks != b.checks
        || a.limits != b.limits
        || backend(host(older, &a.host)) != backend(host(newer, &b.host))
}

#[cfg(test)]
mod tests {
    use gpusweep_report::Code as CheckCode;

    use super::*;
    use crate::model::{Cell, CellParts};
    use crate::testing;

    fn cell(image: &str, change: impl FnOnce(&mut CellParts)) -> Cell {
        let mut parts = testing::parts(image, "none", &[CheckCode::GpuUnavailable.into()]);
        change(&mut parts);
        Cell::new(parts)
    }

    fn ids(list: &[(CellId, String)]) -> Vec<&str> {
        list.iter().map(|(id, _)| id.as_str().split('.').next().unwrap_or_default()).collect()
    }

    #[test]
    fn only_what_would_be_another_check_is_invalid() {
        let names = ["same", "judged", "timeout", "reference", "gone"];
        let older = testing::plan(names.map(|name| cell(name, |_| {})));
        let newer = testing::plan([
            cell("new", |_| {}),
            cell("same", |_| {}),
            cell("judged", |parts| parts.expect.codes = vec![CheckCode::TorchMissing.into()]),
            cell("timeout", |parts| parts.checks.timeout_s = 31),
            cell("reference", |parts| parts.image.reference = "registry.example/other:1".into()),
        ]);
        let revision = revise(&older, newer);
        assert_eq!(ids(&revision.invalid), ["timeout", "reference", "gone"]);
        assert_eq!(ids(&revision.pruned), ["gone"]);
        let joined: Vec<&str> =
            revision.plan.cells.iter().map(|planned| planned.cell.image.name.as_str()).collect();
        assert_eq!(joined, ["new", "same", "judged", "timeout", "reference", "gone"]);
        // What is to be yielded is the newer matrix's word.
        assert_eq!(revision.plan.cells[2].cell.expect.codes, [CheckCode::TorchMissing.into()]);
    }

    #[test]
    fn pruning_goes_both_ways_and_the_plan_can_still_hold_the_attempts() {
        let mut older = testing::plan(["now_pruned", "was_pruned", "always"].map(|name| cell(name, |_| {})));
        let mut newer = older.clone();
        older.cells[1].pruned = Some("another stack".into());
        newer.cells[0].pruned = Some("another stack".into());
        (older.cells[2].pruned, newer.cells[2].pruned) = (Some("a".into()), Some("b".into()));
        let revision = revise(&older, newer);
        assert_eq!(ids(&revision.invalid), ["now_pruned", "was_pruned"]);
        assert_eq!(ids(&revision.pruned), ["now_pruned"]);
        let pruned: Vec<Option<&str>> =
            revision.plan.cells.iter().map(|planned| planned.pruned.as_deref()).collect();
        assert_eq!(pruned, [None, None, Some("b")]);
    }

    #[test]
    fn a_host_that_is_reached_elsewhere_is_another_host() {
        let older = testing::plan([cell("same", |_| {})]);
        let mut newer = older.clone();
        newer.hosts[0].backend = crate::model::BackendKind::Host;
        assert_eq!(ids(&revise(&older, newer).invalid), ["same"]);
    }
}
