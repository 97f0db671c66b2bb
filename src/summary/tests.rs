//! The shape of the document, and what may not get into it.

use std::collections::BTreeMap;

use gpusweep_report::{Cause, Code as CheckCode, Exposure, Node, Pytorch, Report};
use serde_json::{Value, json};

use super::*;
use crate::ledger::{Ledger, RunState, Verdict};
use crate::model::{Applied, Cell, Grant, Observation};
use crate::testing::{Story, cell, mixed, parts, plan, report, reported};

fn one(observation: Observation) -> SummaryCell {
    let cell = cell("torch", "nvidia-all", CheckCode::GpuCheckPassed);
    let id = cell.id().clone();
    let mut story = Story::of(plan([cell]));
    story.begin().attempt(&id, observation).end(false);
    story.summary().cells.remove(0)
}

fn with_exposure() -> Report {
    let node = |node: &str, open: &str| Node { node: node.into(), open: open.into(), gid: Some(992) };
    let variables = [("CUDA_VISIBLE_DEVICES", Some("")), ("HIP_VISIBLE_DEVICES", None)];
    Report {
        exposure: Some(Exposure {
            nodes: vec![node("/dev/kfd", "EACCES"), node("/dev/dri/renderD128", "ok")],
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.map(str::to_owned)))
                .collect(),
            shm_bytes: Some(67_108_864),
            groups: vec![0, 44],
            ..Exposure::default()
        }),
        pytorch: Some(Pytorch {
            version: "2.9.1".into(),
            cuda_build: None,
            hip_build: Some("6.4".into()),
            backend: "rocm".into(),
            gpu_available: Some(false),
            visible_device_count: Some(0),
            arch_list: None,
            devices: None,
        }),
        ..report(CheckCode::GpuUnavailable)
    }
}

fn applied(settings: &Value) -> Applied {
    Applied {
        digest: Some(format!("registry.example/torch@sha256:{}", "0a".repeat(32))),
        settings: settings.as_object().cloned().unwrap_or_default(),
        strangers: None,
    }
}

#[test]
fn a_row_has_every_field() {
    let settings = json!({ "runtime": "runc", "device_requests": [{ "Count": -1 }] });
    let row = one(Observation::Reported {
        report: Box::new(with_exposure()),
        exit: 6,
        applied: applied(&settings),
        oom_killed: false,
    });
    insta::assert_json_snapshot!(row);
}

#[test]
fn a_whole_run_of_every_verdict() {
    let summary = mixed().summary();
    let shown = json!({
        "schema": summary.schema, "name": summary.name, "state": summary.state,
        "started_at": summary.started_at, "finished_at": summary.finished_at,
        "green": summary.green, "counts": summary.counts,
        "verdicts": summary.cells.iter().map(|cell| cell.verdict).collect::<Vec<_>>(),
    });
    insta::assert_json_snapshot!(shown);
}

#[test]
fn it_reads_itself_back() {
    let summary = mixed().summary();
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
}

#[test]
fn its_schema_names_exactly_the_fields_that_are_written() {
    let schema = serde_json::to_value(schemars::schema_for!(Summary)).unwrap();
    let written = serde_json::to_value(mixed().summary()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&schema["properties"]), keys(&written));
    assert_eq!(keys(&schema["$defs"]["SummaryCell"]["properties"]), keys(&written["cells"][0]));
    assert_eq!(keys(&schema["$defs"]["Counts"]["properties"]), keys(&written["counts"]));
}

#[test]
fn times_and_state_follow_the_run() {
    let cell = cell("torch", "nvidia-all", CheckCode::GpuCheckPassed);
    let id = cell.id().clone();
    let mut story = Story::of(plan([cell]));
    let state = |story: &Story| {
        let summary = story.summary();
        (summary.state, summary.started_at.is_some(), summary.finished_at.is_some(), summary.green)
    };
    assert_eq!(state(&story), (RunState::Planned, false, false, false));
    story.begin();
    assert_eq!(state(&story), (RunState::Running, true, false, false));
    story.end(true);
    assert_eq!(state(&story), (RunState::Interrupted, true, false, false));
    story.begin().attempt(&id, reported(CheckCode::GpuCheckPassed)).end(false);
    assert_eq!(state(&story), (RunState::Finished, true, true, true));
}

#[test]
fn a_pruned_row_has_its_reason_and_no_action() {
    let summary = mixed().summary();
    let row = summary.cells.iter().find(|cell| cell.verdict == Verdict::Pruned).unwrap();
    assert_eq!(row.reason.as_deref(), Some("the variant is made for another stack"));
    assert_eq!((&row.cause, &row.next_action, row.code, row.attempts), (&None, &None, None, 0));
}

#[test]
fn a_container_that_contradicts_its_report_says_so() {
    let report = Box::new(report(CheckCode::GpuCheckPassed));
    let applied = Applied::default();
    let row = one(Observation::Reported { report, exit: 1, applied, oom_killed: false });
    assert_eq!((row.exit_code, row.container_exit_code, row.exit_mismatch()), (Some(0), Some(1), Some(1)));
    assert_eq!(row.verdict, Verdict::Unexpected);
    assert_eq!(row.cause.unwrap().id, "exit-code-mismatch");
}

#[test]
fn no_escape_path_or_secret_of_a_container_or_engine_survives() {
    let hostile = "/home/alice/x\u{1b}[2J\u{202e} hf_abcdefghijklmn\u{7}";
    let mut report = with_exposure();
    report.cause = Some(Cause { id: hostile.into(), summary: hostile.into(), next_action: hostile.into() });
    if let Some(error) = &mut report.first_error {
        error.kind = hostile.into();
        error.message = hostile.into();
    }
    if let Some(exposure) = &mut report.exposure {
        exposure.nodes[0].node = hostile.into();
        exposure.variables.insert(hostile.into(), Some(hostile.into()));
    }
    let settings = json!({ hostile: { "deep": [hostile] } });
    let applied = Applied { digest: Some(hostile.into()), ..applied(&settings) };
    let row = one(Observation::Reported { report: Box::new(report), exit: 6, applied, oom_killed: false });
    let text = serde_json::to_string(&row).unwrap();
    for trace in ["\\u001b", "\u{202e}", "\\u0007", "alice", "hf_"] {
        assert!(!text.contains(trace), "{trace} is in {text}");
    }
}

#[test]
fn grants_are_told_back_in_the_matrixs_words() {
    let request = |count, ids: &[&str], driver: &str, capabilities: &[&str]| Grant::DeviceRequest {
        driver: driver.into(),
        count,
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
    };
    let node = |path: &str, permissions: &str| Grant::DeviceNode {
        path: path.into(),
        permissions: permissions.into(),
    };
    let variable = |name: &str, value: &str| Grant::Env { name: name.into(), value: value.into() };
    let mut parts = parts("torch", "none", &[CheckCode::GpuCheckPassed.into()]);
    parts.visibility.grants = vec![
        request(-1, &[], "", &[]),
        request(0, &["0", "1"], "nvidia", &["compute", "utility"]),
        Grant::Cdi("amd.com/gpu=all".into()),
        node("/dev/kfd", "rwm"),
        node("/dev/dri", "r"),
        Grant::Runtime("nvidia".into()),
        variable("CUDA_VISIBLE_DEVICES", ""),
        Grant::Unset("HIP_VISIBLE_DEVICES".into()),
        Grant::Group(44),
        Grant::HostGroups,
        Grant::ShmSize(1 << 30),
        Grant::Ipc("host".into()),
        Grant::Ulimit { name: "memlock".into(), soft: -1, hard: -1 },
        Grant::Ulimit { name: "nofile".into(), soft: 1, hard: 2 },
        Grant::Security("seccomp=unconfined".into()),
        Grant::Privileged,
    ];
    let row = Story::of(plan([Cell::new(parts)])).summary().cells.remove(0);
    assert!(row.privileged());
    insta::assert_json_snapshot!(row.requested);
}

#[test]
fn a_token_in_the_matrix_is_not_told_back() {
    let mut parts = parts("torch", "none", &[CheckCode::GpuCheckPassed.into()]);
    let variable = |name: &str, value: &str| Grant::Env { name: name.into(), value: value.into() };
    parts.visibility.grants =
        vec![variable("HF_TOKEN", "abc123"), variable("X", "hf_abcdefghijklmn"), variable("Y", "/opt/a b")];
    let row = Story::of(plan([Cell::new(parts)])).summary().cells.remove(0);
    let told = json!({ "HF_TOKEN": "[redacted]", "X": "[redacted]", "Y": "/opt/a b" });
    assert_eq!(row.requested["env"], told);
}

#[test]
fn a_ledger_of_another_plan_still_gives_one_row_per_planned_cell() {
    let stranger = Ledger::new(&plan([]));
    let story = mixed();
    let summary = Summary::build(&story.plan, &stranger, &BTreeMap::new());
    assert_eq!(summary.cells.len(), story.plan.cells.len());
    assert!(!summary.green);
}
