//! A fixture per rule, and what is said where no rule speaks.

use gpusweep_report::{Cause, Code as CheckCode, Report};
use serde_json::json;

use super::*;
use crate::model::{Applied, CellCode, Code, Fact, FactValue, FaultKind, Grant, KillReason, Phase};
use crate::testing::{applied, cell, fault, observed, parts, report, reported};

fn expecting(code: impl Into<Code>) -> Cell {
    cell("torch", "nvidia-all", code)
}

fn with_facts(code: impl Into<Code>, facts: &[(&str, &str)]) -> Cell {
    let mut parts = parts("torch", "nvidia-all", &[code.into()]);
    let fact =
        |(path, glob): &(&str, &str)| Fact { path: (*path).into(), value: FactValue::Glob((*glob).into()) };
    parts.expect.facts = facts.iter().map(fact).collect();
    Cell::new(parts)
}

fn exits(code: CheckCode, status: i64) -> Observation {
    let report = Box::new(report(code));
    Observation::Reported { report, exit: status, applied: Applied::default(), oom_killed: false }
}

fn granted(grants: Vec<Grant>, code: CheckCode) -> Cell {
    let mut parts = parts("torch", "it", &[code.into()]);
    parts.visibility.grants = grants;
    Cell::new(parts)
}

/// One cell and observation for each rule.
fn fixtures() -> Vec<(&'static str, Cell, Observation)> {
    let passed = CheckCode::GpuCheckPassed;
    let killed =
        Observation::Killed { reason: KillReason::OutOfMemory, exit: 137, applied: Applied::default() };
    let unavailable = CheckCode::GpuUnavailable;
    let none = || cell("torch", "none", unavailable);
    let blind = Report { exposure: None, ..report(unavailable) };
    let device0 = Grant::DeviceRequest {
        driver: String::new(),
        count: 0,
        ids: vec!["0".into()],
        capabilities: Vec::new(),
    };
    vec![
        ("gpu-leak", none(), reported(passed)),
        ("exit-code-mismatch", expecting(passed), exits(passed, 137)),
        ("request-dropped", expecting(passed), applied(report(unavailable), &json!({ "runtime": "runc" }))),
        ("pinned-gpu-absent", granted(vec![device0], unavailable), reported(unavailable)),
        ("isolation-unproven", none(), observed(blind)),
        ("out-of-memory-kill", expecting(passed), killed),
        ("fact-mismatch", with_facts(passed, &[("checker_version", "2.*")]), reported(passed)),
        (
            "facts-unchecked",
            with_facts(CellCode::LaunchRefused, &[("pytorch.version", "2.*")]),
            fault(FaultKind::ExposureRefused, "unknown runtime"),
        ),
    ]
}

#[test]
fn every_rule_has_a_unique_name_and_recognises_its_fixture() {
    let named: Vec<&str> = fixtures().iter().map(|(id, ..)| *id).collect();
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(named, rules);
    for (id, cell, observation) in fixtures() {
        assert_eq!(cause(&cell, &observation).unwrap().id, id);
    }
}

#[test]
fn what_is_said_of_each_fixture() {
    let said: Vec<String> = fixtures()
        .iter()
        .map(|(_, cell, observation)| {
            let cause = cause(cell, observation).unwrap();
            format!("{}: {} -> {}", cause.id, cause.summary, next_action(cell, observation).unwrap())
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn several_facts_are_all_named() {
    let cell = with_facts(
        CheckCode::GpuCheckPassed,
        &[("checker_version", "2.*"), ("status", "passed"), ("stage", "x")],
    );
    let cause = cause(&cell, &reported(CheckCode::GpuCheckPassed)).unwrap();
    assert_eq!(
        cause.summary,
        "checker_version is \"0.1.0\", expected \"2.*\"; stage is \"complete\", expected \"x\""
    );
}

#[test]
fn a_fact_is_not_spoken_of_where_the_code_is_the_finding() {
    let cell = with_facts(CheckCode::GpuCheckPassed, &[("checker_version", "2.*")]);
    assert_eq!(cause(&cell, &reported(CheckCode::TorchMissing)), None);
    assert_eq!(cause(&cell, &fault(FaultKind::ImageUnavailable, "gone")), None);
}

#[test]
fn the_checkers_own_cause_and_action_stand_where_no_rule_speaks() {
    let mut report = report(CheckCode::TorchMissing);
    report.cause = Some(Cause {
        id: "other-interpreter".into(),
        summary: "another interpreter here has torch".into(),
        next_action: "pass --python to the checker".into(),
    });
    let diagnosis = diagnose(&expecting(CheckCode::GpuCheckPassed), &observed(report));
    assert_eq!(diagnosis.cause.unwrap().id, "other-interpreter");
    assert_eq!(diagnosis.next_action.as_deref(), Some("pass --python to the checker"));
}

#[test]
fn the_codes_action_stands_where_no_cause_is_known() {
    let cell = expecting(CheckCode::GpuCheckPassed);
    let action = |observation| next_action(&cell, &observation);
    assert_eq!(action(reported(CheckCode::GpuCheckPassed)), None);
    assert_eq!(
        action(reported(CheckCode::GpuUnavailable)).as_deref(),
        Some(CheckCode::GpuUnavailable.next_action())
    );
    assert_eq!(
        action(fault(FaultKind::EngineUnreachable, "")).as_deref(),
        Some(CellCode::EngineUnreachable.next_action())
    );
}

#[test]
fn a_pass_that_nobody_wanted_does_not_say_go_on() {
    let isolated = expecting(CheckCode::GpuUnavailable);
    let action = next_action(&isolated, &reported(CheckCode::GpuCheckPassed)).unwrap();
    assert_eq!(action, "find out what let this check succeed, or correct `expect:` in the matrix");
    let gpu = expecting(CheckCode::GpuCheckPassed);
    let action = next_action(&gpu, &reported(CheckCode::CpuCheckPassed)).unwrap();
    assert_eq!(action, CheckCode::CpuCheckPassed.next_action());
}

#[test]
fn a_first_error_is_told_for_everything_that_ended() {
    let applied = Applied::default;
    let observations = [
        reported(CheckCode::GpuCheckPassed),
        reported(CheckCode::TorchImportFailed),
        Observation::Garbled { problem: "no report\u{1b}[2J".into(), exit: 0, applied: applied() },
        fault(FaultKind::ExposureRefused, "unknown or invalid runtime name: nvidia"),
        Observation::TimedOut { phase: Phase::Running, applied: applied() },
        Observation::Killed { reason: KillReason::Signal(15), exit: 143, applied: applied() },
        Observation::Cancelled { phase: Phase::Pull },
    ];
    let told = |observation| match first_error(observation) {
        Some(FirstErrorRow { stage, kind, message }) => {
            format!("{} | {kind} | {message}", stage.unwrap_or_default())
        }
        None => "none".into(),
    };
    let told: Vec<String> = observations.iter().map(told).collect();
    insta::assert_snapshot!(told.join("\n"));
}
