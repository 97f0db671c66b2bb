//! What holds for every format, whatever the order of the events.

use gpusweep_report::Code as CheckCode;
use proptest::prelude::*;

use super::*;
use crate::event::EventKind;
use crate::ledger::{CellState, RunState};
use crate::model::{CellId, FaultKind, Observation, Phase};
use crate::table::{Axis, Header, Table};
use crate::testing::{self, Story, fault, reported};

fn render_all(summary: &Summary) {
    let layout = Layout::of(summary);
    for format in FORMATS {
        let view = View { summary, layout: &layout, style: Style { color: false, width: Some(80) } };
        let mut out = Vec::new();
        format.render.render(&view, &mut out).unwrap();
        assert!(out.ends_with(b"\n"), "{}", format.name);
    }
}

/// With exposures on a side of the table, and with none.
#[test]
fn a_privileged_exposure_is_marked_in_every_table() {
    let summary = testing::mixed().summary();
    let axes = [Axis::Image, Axis::Variant, Axis::Visibility, Axis::Host, Axis::Device];
    for (rows, columns) in axes.into_iter().flat_map(|rows| axes.map(|columns| (rows, columns))) {
        if rows == columns {
            continue;
        }
        let layout = Layout::choose(&summary, Some(rows), Some(columns), None);
        for style in [Some(40), Some(80), None].map(|width| Style { color: false, width }) {
            let view = View { summary: &summary, layout: &layout, style };
            let mut out = Vec::new();
            format("table").unwrap().render.render(&view, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("(privileged)"), "{rows:?} {columns:?} {style:?}\n{text}");
        }
        let table = Table::build(&summary, &layout);
        let marked = |headers: &[Header]| headers.iter().filter(|header| header.privileged).count();
        let cells = table.cells.iter().flatten().filter(|cell| cell.privileged).count();
        assert!(marked(&table.rows) + marked(&table.columns) + cells > 0, "{rows:?} {columns:?}");
    }
    let plain = Story::of(testing::plan([testing::cell("a", "none", CheckCode::TorchMissing)])).summary();
    let layout = Layout::choose(&plain, Some(Axis::Image), Some(Axis::Device), None);
    assert!(Table::build(&plain, &layout).cells.iter().flatten().all(|cell| !cell.privileged));
}

fn observation(choice: u8) -> Observation {
    match choice % 6 {
        0 => reported(CheckCode::GpuCheckPassed),
        1 => reported(CheckCode::GpuUnavailable),
        2 => fault(FaultKind::ImageUnavailable, "not found"),
        3 => fault(FaultKind::ExposureRefused, "unknown runtime"),
        4 => Observation::Cancelled { phase: Phase::Running },
        _ => Observation::TimedOut { phase: Phase::Running, applied: crate::model::Applied::default() },
    }
}

/// Tells one legal event out of those that may come next, as the two choices pick it.
fn step(story: &mut Story, which: usize, choice: u8) {
    match story.ledger.state() {
        RunState::Planned | RunState::Interrupted => {
            story.begin();
            return;
        }
        RunState::Finished => return,
        RunState::Running => {}
    }
    let ids: Vec<CellId> = story.ledger.records().map(|record| record.cell().id().clone()).collect();
    let running = |story: &Story| {
        let under_way = |state: &CellState| matches!(state, CellState::Running { .. });
        story.ledger.records().any(|record| under_way(record.state()))
    };
    match ids.get(which % (ids.len() + 1)) {
        None => {
            let interrupted = choice < 128 || running(story);
            story.end(interrupted);
        }
        Some(id) => match story.ledger.record(id).unwrap().state().clone() {
            CellState::Pruned { reason } => {
                story.tell(EventKind::CellPruned { cell: id.clone(), reason });
            }
            CellState::Waiting | CellState::Finished | CellState::Abandoned => {
                story.start(id);
            }
            CellState::Running { phase, .. } if choice >= 128 && phase < Phase::Running => {
                story.tell(EventKind::PhaseReached { cell: id.clone(), phase: Phase::Running });
            }
            CellState::Running { .. } => {
                story.finish(id, observation(choice));
            }
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_legal_order_gives_one_row_per_planned_cell(steps in prop::collection::vec((any::<usize>(), any::<u8>()), 0..60)) {
        let plan = testing::mixed().plan;
        let planned: Vec<CellId> = plan.cells.iter().map(|planned| planned.cell.id().clone()).collect();
        let mut story = Story::of(plan);
        for (which, choice) in steps {
            step(&mut story, which, choice);
            let summary = story.summary();
            let rows: Vec<CellId> = summary.cells.iter().map(|cell| cell.id.clone()).collect();
            prop_assert_eq!(&rows, &planned);
            prop_assert_eq!(summary.counts.total(), planned.len());
            let not_green = summary.counts.unexpected + summary.counts.blocked + summary.counts.not_run;
            prop_assert!(!summary.green || (not_green == 0 && summary.counts.expected > 0));
            render_all(&summary);
        }
    }

    #[test]
    fn a_replayed_run_equals_the_live_one(steps in prop::collection::vec((any::<usize>(), any::<u8>()), 0..60)) {
        let mut story = Story::of(testing::mixed().plan);
        for (which, choice) in steps {
            step(&mut story, which, choice);
        }
        let mut replayed = crate::ledger::Ledger::new(&story.plan);
        for event in &story.events {
            let line = serde_json::to_string(event).unwrap();
            replayed.apply(&serde_json::from_str(&line).unwrap()).unwrap();
        }
        prop_assert_eq!(replayed, story.ledger);
    }
}

#[test]
fn a_plan_without_cells_renders() {
    render_all(&Story::of(testing::plan([])).summary());
}
