//! Which facts may follow which, and what the ledger makes of them.

use gpusweep_report::Code as CheckCode;
use jiff::Timestamp;

use crate::event::{Event, EventKind};
use crate::ledger::{CellState, Ledger, LedgerError, RunState, Verdict};
use crate::model::{Cell, CellCode, CellId, FaultKind, Observation, Phase};
use crate::testing::{Story, cell, fault, plan, reported};

fn two_cells() -> (Story, CellId, CellId) {
    let cells = [
        cell("torch", "none", CheckCode::GpuUnavailable),
        cell("torch", "nvidia-all", CheckCode::GpuCheckPassed),
    ];
    let [first, second] = [cells[0].id().clone(), cells[1].id().clone()];
    (Story::of(plan(cells)), first, second)
}

fn run_started(run: &str) -> EventKind {
    EventKind::RunStarted { run: run.into(), name: "test".into(), cells: 2, checker: "c0ffee".into() }
}

fn started(cell: &CellId, attempt: u32) -> EventKind {
    EventKind::AttemptStarted { cell: cell.clone(), attempt }
}

fn finished(cell: &CellId, attempt: u32) -> EventKind {
    let observation = reported(CheckCode::GpuUnavailable);
    EventKind::AttemptFinished { cell: cell.clone(), attempt, duration_ms: 1, observation }
}

/// The refusal, after which the ledger must be as it was.
fn refused(story: &mut Story, kind: EventKind) -> LedgerError {
    let before = story.ledger.clone();
    let event = Event { seq: story.events.len() as u64, at: Timestamp::UNIX_EPOCH, kind };
    let error = story.ledger.apply(&event).unwrap_err();
    assert_eq!(story.ledger, before);
    error
}

#[test]
fn a_gap_or_a_repeated_number_is_refused() {
    let (mut story, ..) = two_cells();
    story.begin();
    for found in [0, 2] {
        let event = Event {
            seq: found,
            at: Timestamp::UNIX_EPOCH,
            kind: EventKind::RunFinished { interrupted: true },
        };
        assert_eq!(story.ledger.apply(&event), Err(LedgerError::Sequence { expected: 1, found }));
    }
}

#[test]
fn nothing_comes_before_the_start_or_after_the_end() {
    let (mut story, first, _) = two_cells();
    assert_eq!(refused(&mut story, started(&first, 1)), LedgerError::NotRunning { event: "attempt-started" });
    story.begin();
    assert_eq!(refused(&mut story, run_started("run-1")), LedgerError::StartedTwice);
    story.end(false);
    assert_eq!(refused(&mut story, started(&first, 1)), LedgerError::AfterEnd { event: "attempt-started" });
}

/// A resumed run: what was found stays, unless it is declared to be about something else.
#[test]
fn a_run_that_ended_goes_on_and_what_is_invalid_does_not_count() {
    let (mut story, first, second) = two_cells();
    let invalid =
        |cell: &CellId| EventKind::CellInvalidated { cell: cell.clone(), reason: "another image".into() };
    story
        .begin()
        .attempt(&first, reported(CheckCode::TorchMissing))
        .attempt(&second, reported(CheckCode::TorchMissing));
    story.end(false).begin();
    assert_eq!(story.ledger.finished(), 2);
    story.tell(invalid(&first));
    let record = story.ledger.record(&first).unwrap();
    assert_eq!((record.verdict(), record.started(), story.ledger.finished()), (Verdict::NotRun, 1, 1));
    story.start(&first);
    assert_eq!(refused(&mut story, invalid(&first)), LedgerError::InvalidatedUnderWay(first.clone()));
    story.finish(&first, reported(CheckCode::GpuUnavailable)).end(false);
    let record = story.ledger.record(&first).unwrap();
    assert_eq!((record.attempts().len(), record.valid_attempts().len(), record.flaky()), (2, 1, false));
}

#[test]
fn a_pruned_cell_can_be_taken_in_again() {
    let (mut story, first, _) = two_cells();
    let pruned = EventKind::CellPruned { cell: first.clone(), reason: "not in the matrix any more".into() };
    let again = EventKind::CellInvalidated { cell: first.clone(), reason: "the matrix has it again".into() };
    story.begin().tell(pruned);
    let runnable = story.ledger.runnable();
    story.tell(again);
    assert_eq!(story.ledger.runnable(), runnable + 1);
    story.attempt(&first, reported(CheckCode::GpuUnavailable));
}

#[test]
fn an_unknown_cell_is_refused() {
    let (mut story, ..) = two_cells();
    story.begin();
    let stranger = cell("other", "none", CheckCode::GpuUnavailable).id().clone();
    assert_eq!(refused(&mut story, started(&stranger, 1)), LedgerError::UnknownCell(stranger));
}

#[test]
fn attempts_are_numbered_and_do_not_overlap() {
    let (mut story, first, _) = two_cells();
    story.begin();
    let order = |expected, found| LedgerError::AttemptOrder { cell: first.clone(), expected, found };
    let not_under_way = |event| LedgerError::NotUnderWay { cell: first.clone(), event };
    assert_eq!(refused(&mut story, started(&first, 2)), order(1, 2));
    assert_eq!(refused(&mut story, finished(&first, 1)), not_under_way("attempt-finished"));
    let reached = EventKind::PhaseReached { cell: first.clone(), phase: Phase::Pull };
    assert_eq!(refused(&mut story, reached), not_under_way("phase-reached"));
    story.start(&first);
    let overlap = LedgerError::Overlap { cell: first.clone(), attempt: 2 };
    assert_eq!(refused(&mut story, started(&first, 2)), overlap);
    assert_eq!(refused(&mut story, finished(&first, 2)), order(1, 2));
    story.finish(&first, reported(CheckCode::RuntimeError));
    assert_eq!(refused(&mut story, finished(&first, 1)), not_under_way("attempt-finished"));
    assert_eq!(refused(&mut story, started(&first, 1)), order(2, 1));
}

#[test]
fn an_attempt_does_not_go_back() {
    let (mut story, first, _) = two_cells();
    story.begin().start(&first).tell(EventKind::PhaseReached { cell: first.clone(), phase: Phase::Start });
    let back = EventKind::PhaseReached { cell: first.clone(), phase: Phase::Pull };
    let error = LedgerError::PhaseBackwards { cell: first, from: Phase::Start, to: Phase::Pull };
    assert_eq!(refused(&mut story, back), error);
}

#[test]
fn a_run_does_not_end_with_an_attempt_under_way_unless_interrupted() {
    let (mut story, first, second) = two_cells();
    story.begin().start(&first);
    let end = EventKind::RunFinished { interrupted: false };
    assert_eq!(refused(&mut story, end), LedgerError::EndedUnderWay(first.clone()));
    story.end(true);
    assert_eq!(story.ledger.record(&first).unwrap().state(), &CellState::Abandoned);
    assert_eq!(story.ledger.record(&second).unwrap().state(), &CellState::Waiting);
    assert_eq!(story.ledger.state(), RunState::Interrupted);
}

#[test]
fn a_resumed_run_counts_nothing_twice() {
    let (mut story, first, second) = two_cells();
    story.begin().attempt(&first, reported(CheckCode::GpuUnavailable)).start(&second).end(true);
    assert!(!story.ledger.green());
    let other = LedgerError::OtherRun { expected: "run-1".into(), found: "run-2".into() };
    assert_eq!(refused(&mut story, run_started("run-2")), other);
    story.begin().attempt(&second, reported(CheckCode::GpuCheckPassed)).end(false);
    let record = story.ledger.record(&second).unwrap();
    assert_eq!((record.started(), record.attempts().len()), (2, 1));
    assert_eq!(record.attempts()[0].number, 2);
    assert_eq!(story.ledger.finished(), 2);
    assert!(story.ledger.green());
}

#[test]
fn a_cell_is_pruned_before_it_is_tried_or_not_at_all() {
    let (mut story, first, second) = two_cells();
    let pruned = |cell: &CellId| EventKind::CellPruned { cell: cell.clone(), reason: "no such node".into() };
    story.begin().tell(pruned(&first)).tell(pruned(&first));
    assert_eq!(story.ledger.record(&first).unwrap().pruned_because(), Some("no such node"));
    assert_eq!(story.ledger.runnable(), 1);
    assert_eq!(refused(&mut story, started(&first, 1)), LedgerError::TriedPruned(first));
    story.attempt(&second, reported(CheckCode::GpuCheckPassed));
    assert_eq!(refused(&mut story, pruned(&second)), LedgerError::PrunedTried(second));
}

#[test]
fn a_retried_cell_keeps_every_attempt_and_is_flaky() {
    let (mut story, _, second) = two_cells();
    story.begin().attempt(&second, reported(CheckCode::GpuUnavailable));
    assert!(!story.ledger.record(&second).unwrap().flaky());
    story.start(&second);
    assert_eq!(story.ledger.finished(), 0);
    assert_eq!(story.ledger.record(&second).unwrap().verdict(), Verdict::NotRun);
    story.finish(&second, reported(CheckCode::GpuCheckPassed));
    let record = story.ledger.record(&second).unwrap();
    assert!(record.flaky());
    assert_eq!(record.attempts().len(), 2);
    assert_eq!(record.code(), Some(CheckCode::GpuCheckPassed.into()));
}

#[test]
fn a_pass_after_the_user_stopped_an_attempt_is_not_flaky() {
    let (mut story, _, second) = two_cells();
    story.begin().attempt(&second, Observation::Cancelled { phase: Phase::Pull }).end(true);
    story.begin().attempt(&second, reported(CheckCode::GpuCheckPassed));
    assert!(!story.ledger.record(&second).unwrap().flaky());
}

/// Greenness of a run of one cell, with what it expects and what came of it.
fn green(cell: Cell, observation: Option<Observation>) -> bool {
    let id = cell.id().clone();
    let mut story = Story::of(plan([cell]));
    story.begin();
    if let Some(observation) = observation {
        story.attempt(&id, observation);
    }
    story.end(false);
    story.ledger.green()
}

#[test]
fn only_rows_that_are_expected_make_a_run_green() {
    let wanted = || cell("torch", "nvidia-all", CheckCode::GpuCheckPassed);
    assert!(green(wanted(), Some(reported(CheckCode::GpuCheckPassed))));
    assert!(!green(wanted(), Some(reported(CheckCode::GpuUnavailable))));
    assert!(!green(wanted(), Some(fault(FaultKind::ImageUnavailable, "no"))));
    assert!(!green(wanted(), None));
    let absent = cell("absent", "none", CellCode::ImageUnavailable);
    // Expected, but it ran nothing, and a run of nothing is never green.
    assert!(!green(absent, Some(fault(FaultKind::ImageUnavailable, "no"))));
}

#[test]
fn a_run_in_which_nothing_ran_is_not_green() {
    let mut nothing = plan([cell("torch", "none", CheckCode::GpuUnavailable)]);
    nothing.cells[0].pruned = Some("another stack".into());
    assert!(!Ledger::new(&nothing).green());
    assert!(!Ledger::new(&plan([])).green());
}
