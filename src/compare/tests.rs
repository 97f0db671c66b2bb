//! Every kind of change, and how cells are matched.

use gpusweep_report::{Code as CheckCode, Pytorch};

use super::*;
use crate::model::{Cell, Observation};
use crate::testing::{Story, observed, parts, plan, report, reported};

fn cell(image: &str, host: &str) -> Cell {
    let mut parts = parts(image, "none", &[CheckCode::TorchMissing.into()]);
    parts.host = host.into();
    Cell::new(parts)
}

fn with_torch(version: &str) -> Observation {
    let pytorch = Pytorch {
        version: version.into(),
        cuda_build: None,
        hip_build: None,
        backend: "none".into(),
        gpu_available: None,
        visible_device_count: None,
        arch_list: None,
        devices: None,
    };
    observed(gpusweep_report::Report { pytorch: Some(pytorch), ..report(CheckCode::TorchMissing) })
}

/// A run of these cells, each with the observations of its attempts.
fn run(cells: Vec<(Cell, Vec<Observation>)>) -> Story {
    let mut story = Story::of(plan(cells.iter().map(|(cell, _)| cell.clone())));
    story.begin();
    for (cell, observations) in cells {
        for observation in observations {
            story.attempt(cell.id(), observation);
        }
    }
    story.end(false);
    story
}

fn compared(base: &Story, head: &Story) -> Comparison {
    let (earlier, later) = (base.summary(), head.summary());
    let (of_base, of_head) = (Facts::of(&base.ledger), Facts::of(&head.ledger));
    compare(&Side { summary: &earlier, facts: &of_base }, &Side { summary: &later, facts: &of_head })
}

fn expected() -> Vec<Observation> {
    vec![reported(CheckCode::TorchMissing)]
}

fn failing(code: CheckCode) -> Vec<Observation> {
    vec![reported(code)]
}

fn kinds(comparison: &Comparison) -> Vec<(Kind, &str)> {
    let image = |change: &'_ Change| change.cell.split(' ').next().unwrap_or_default().len();
    comparison.changes.iter().map(|change| (change.kind, &change.cell[..image(change)])).collect()
}

#[test]
fn every_kind_of_change_is_told_apart_and_the_worst_comes_first() {
    let at = |image: &str| cell(image, "local");
    let base = run(vec![
        (at("same"), expected()),
        (at("regressed"), expected()),
        (at("fixed"), failing(CheckCode::Timeout)),
        (at("otherwise"), failing(CheckCode::Timeout)),
        (at("flaky"), expected()),
        (at("gone"), expected()),
        (at("upgraded"), vec![with_torch("2.9.0")]),
    ]);
    let head = run(vec![
        (at("same"), expected()),
        (at("regressed"), failing(CheckCode::WorkerFailed)),
        (at("fixed"), expected()),
        (at("otherwise"), failing(CheckCode::WorkerFailed)),
        (at("flaky"), [failing(CheckCode::Timeout), expected()].concat()),
        (at("new"), failing(CheckCode::Timeout)),
        (at("upgraded"), vec![with_torch("2.9.1")]),
    ]);
    let found = compared(&base, &head);
    let order = [
        (Kind::Regression, "regressed"),
        (Kind::Changed, "otherwise"),
        (Kind::Flaky, "flaky"),
        (Kind::New, "new"),
        (Kind::Gone, "gone"),
        (Kind::Fix, "fixed"),
        (Kind::Facts, "upgraded"),
    ];
    assert_eq!(kinds(&found), order);
    assert_eq!((found.unchanged, found.regressed()), (1, true));
    assert_eq!(found.changes[6].facts[0].head.as_deref(), Some("2.9.1"));
    let mut out = Vec::new();
    write(&found, &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
    let back = compared(&head, &base);
    assert!(back.regressed(), "what was fixed is lost");
    assert!(!compared(&base, &base).regressed());
}

#[test]
fn a_cell_that_is_pruned_now_covers_nothing_any_more() {
    let base = run(vec![(cell("a", "local"), expected())]);
    let mut pruned = plan([cell("a", "local")]);
    pruned.cells[0].pruned = Some("another stack".into());
    let mut head = Story::of(pruned);
    head.begin().end(false);
    assert_eq!(kinds(&compared(&base, &head)), [(Kind::Gone, "a")]);
    assert_eq!(kinds(&compared(&head, &base)), [(Kind::New, "a")]);
    assert_eq!(kinds(&compared(&head, &head)), []);
}

#[test]
fn a_new_leak_is_a_regression_of_a_cell_that_failed_before() {
    let leaking = || {
        let mut report = report(CheckCode::Timeout);
        let node = gpusweep_report::Node { node: "/dev/kfd".into(), open: "ok".into(), gid: None };
        report.exposure.as_mut().unwrap().nodes.push(node);
        vec![observed(report)]
    };
    let base = run(vec![(cell("a", "local"), failing(CheckCode::Timeout))]);
    let head = run(vec![(cell("a", "local"), leaking())]);
    assert_eq!(kinds(&compared(&base, &head)), [(Kind::Regression, "a")]);
    assert_eq!(kinds(&compared(&head, &base)), [(Kind::Changed, "a")]);
}

#[test]
fn the_same_matrix_on_another_host_is_matched_where_that_is_unmistakable() {
    let base = run(vec![(cell("a", "local"), expected())]);
    let head = run(vec![(cell("a", "mi300x"), failing(CheckCode::Timeout))]);
    assert_eq!(kinds(&compared(&base, &head)), [(Kind::Regression, "a")]);
    let two = run(vec![(cell("a", "mi300x"), expected()), (cell("a", "h200"), expected())]);
    assert_eq!(
        kinds(&compared(&base, &two)),
        [(Kind::New, "a"), (Kind::New, "a"), (Kind::Gone, "a")],
        "which of the two it is cannot be told"
    );
}
