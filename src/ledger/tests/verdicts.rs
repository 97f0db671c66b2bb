//! One test per rule of judgement.

use gpusweep_report::Code as CheckCode;
use serde_json::json;

use crate::ledger::{self, Verdict, code, verdict};
use crate::model::{
    Applied, Cell, CellCode, Code, Fact, FactValue, FaultKind, KillReason, Observation, Phase,
};
use crate::testing::{cell, fault, parts, report, reported};

fn expecting(code: impl Into<Code>) -> Cell {
    cell("torch", "nvidia-all", code)
}

fn with_fact(codes: &[Code], path: &str, value: FactValue) -> Cell {
    let mut parts = parts("torch", "nvidia-all", codes);
    parts.expect.facts.push(Fact { path: path.into(), value });
    Cell::new(parts)
}

fn killed(reason: KillReason) -> Observation {
    Observation::Killed { reason, exit: 137, applied: Applied::default() }
}

fn garbled() -> Observation {
    Observation::Garbled { problem: "no report".into(), exit: 0, applied: Applied::default() }
}

#[test]
fn the_expected_code_is_expected_and_another_is_not() {
    let cell = expecting(CheckCode::GpuCheckPassed);
    assert_eq!(verdict(&cell, &reported(CheckCode::GpuCheckPassed)), Verdict::Expected);
    assert_eq!(verdict(&cell, &reported(CheckCode::GpuUnavailable)), Verdict::Unexpected);
}

#[test]
fn a_failure_that_was_expected_is_expected_and_a_pass_then_is_not() {
    let cell = expecting(CheckCode::GpuUnavailable);
    assert_eq!(verdict(&cell, &reported(CheckCode::GpuUnavailable)), Verdict::Expected);
    assert_eq!(verdict(&cell, &reported(CheckCode::GpuCheckPassed)), Verdict::Unexpected);
}

#[test]
fn any_of_several_codes_will_do() {
    let codes = [CheckCode::GpuUnavailable.into(), CellCode::LaunchRefused.into()];
    let cell = Cell::new(parts("torch", "nvidia-all", &codes));
    assert_eq!(verdict(&cell, &reported(CheckCode::GpuUnavailable)), Verdict::Expected);
    assert_eq!(verdict(&cell, &fault(FaultKind::ExposureRefused, "no")), Verdict::Expected);
    assert_eq!(verdict(&cell, &reported(CheckCode::RuntimeError)), Verdict::Unexpected);
}

#[test]
fn an_exit_status_that_contradicts_the_report_is_unexpected() {
    let cell = expecting(CheckCode::TorchMissing);
    let mut observation = reported(CheckCode::TorchMissing);
    let Observation::Reported { exit, .. } = &mut observation else { unreachable!() };
    *exit = 137;
    assert_eq!(code(&observation), CheckCode::TorchMissing.into());
    assert_eq!(verdict(&cell, &observation), Verdict::Unexpected);
}

#[test]
fn a_fact_that_differs_is_unexpected() {
    let codes = [CheckCode::GpuCheckPassed.into()];
    let holds = with_fact(&codes, "execution.loss", FactValue::Exactly(json!(196.0)));
    let differs = with_fact(&codes, "checker_version", FactValue::Glob("2.*".into()));
    let observation = reported(CheckCode::GpuCheckPassed);
    assert_eq!(verdict(&holds, &observation), Verdict::Expected);
    assert_eq!(verdict(&differs, &observation), Verdict::Unexpected);
    let mismatches = ledger::fact_mismatches(&differs, &observation);
    assert_eq!(mismatches[0].found.as_deref(), Some("\"0.1.0\""));
}

#[test]
fn a_fact_that_cannot_be_checked_is_unexpected() {
    let codes = [CellCode::LaunchRefused.into()];
    let cell = with_fact(&codes, "code", FactValue::Glob("*".into()));
    assert_eq!(verdict(&cell, &fault(FaultKind::ExposureRefused, "no")), Verdict::Unexpected);
}

/// A worker that died of a signal, in the checker's own words.
fn worker_died(message: &str, oom_killed: bool) -> Observation {
    let mut report = report(CheckCode::WorkerFailed);
    if let Some(error) = &mut report.first_error {
        error.kind = "Signal".into();
        error.message = message.into();
    }
    Observation::Reported { report: Box::new(report), exit: 11, applied: Applied::default(), oom_killed }
}

#[test]
fn a_worker_killed_for_memory_is_a_killed_container() {
    for message in ["killed by SIGKILL", "killed by SIGKILL: last words", "killed by signal 9"] {
        assert_eq!(code(&worker_died(message, false)), CheckCode::WorkerFailed.into());
        let observation = worker_died(message, true);
        assert_eq!(code(&observation), CellCode::ContainerKilled.into());
        assert_eq!(verdict(&expecting(CellCode::ContainerKilled), &observation), Verdict::Expected);
        assert_eq!(verdict(&expecting(CheckCode::GpuCheckPassed), &observation), Verdict::Unexpected);
    }
}

#[test]
fn a_worker_that_died_otherwise_beside_an_oom_kill_keeps_its_code() {
    for message in ["killed by SIGABRT: error 9", "killed by SIGSEGV: SIGKILL"] {
        assert_eq!(code(&worker_died(message, true)), CheckCode::WorkerFailed.into());
    }
}

#[test]
fn what_ran_without_a_report_is_unexpected_unless_asked_for() {
    let timed_out = Observation::TimedOut { phase: Phase::Running, applied: Applied::default() };
    for (observation, own) in [
        (garbled(), CellCode::ReportMissing),
        (timed_out, CellCode::CellTimeout),
        (killed(KillReason::OutOfMemory), CellCode::ContainerKilled),
        (killed(KillReason::Signal(15)), CellCode::ContainerKilled),
        (fault(FaultKind::CheckerNotRun, "exec format"), CellCode::CheckerNotRun),
        (fault(FaultKind::ExposureRefused, "no such runtime"), CellCode::LaunchRefused),
    ] {
        assert_eq!(code(&observation), own.into());
        assert_eq!(
            verdict(&expecting(CheckCode::GpuCheckPassed), &observation),
            Verdict::Unexpected,
            "{own:?}"
        );
        assert_eq!(verdict(&expecting(own), &observation), Verdict::Expected, "{own:?}");
    }
}

#[test]
fn what_could_not_run_is_blocked_unless_asked_for() {
    for (kind, own) in [
        (FaultKind::EngineUnreachable, CellCode::EngineUnreachable),
        (FaultKind::ImageUnavailable, CellCode::ImageUnavailable),
        (FaultKind::PlatformMismatch, CellCode::PlatformMismatch),
        (FaultKind::LaunchRefused, CellCode::LaunchRefused),
    ] {
        let observation = fault(kind, "no");
        assert_eq!(code(&observation), own.into());
        assert_eq!(verdict(&expecting(CheckCode::GpuCheckPassed), &observation), Verdict::Blocked, "{own:?}");
        assert_eq!(verdict(&expecting(own), &observation), Verdict::Expected, "{own:?}");
    }
}

#[test]
fn what_the_user_stopped_is_not_run_whatever_was_expected() {
    let observation = Observation::Cancelled { phase: Phase::Running };
    assert_eq!(code(&observation), CellCode::Cancelled.into());
    assert_eq!(verdict(&expecting(CheckCode::GpuCheckPassed), &observation), Verdict::NotRun);
    assert_eq!(verdict(&expecting(CellCode::Cancelled), &observation), Verdict::NotRun);
}

#[test]
fn names_are_the_published_ones() {
    for verdict in Verdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
    }
    assert_eq!(Verdict::NotRun.as_str(), "not-run");
}
