//! What a run looks like from outside: hostile text in every field through every format, and a wide matrix.

use std::collections::BTreeMap;
use std::time::Duration;

use gpusweep::event::{Event, EventKind};
use gpusweep::ledger::Ledger;
use gpusweep::model::{
    Applied, Cell, CellId, CellParts, Checks, Device, Expectation, Fault, FaultKind, ImageRef, KillReason,
    Limits, Observation, Phase, Stack, Variant, Visibility,
};
use gpusweep::plan::{Plan, PlannedCell, RunLimits, SCHEMA};
use gpusweep::render::{FORMATS, Style, View, format};
use gpusweep::summary::{Summary, steers};
use gpusweep::table::Layout;
use gpusweep_report::{Code, FirstError, Probe, Report, Request, Stage, Status};

fn cell(image: &str, visibility: &str, code: Code) -> Cell {
    Cell::new(CellParts {
        image: ImageRef { name: image.into(), reference: format!("r.example/{image}"), family: image.into() },
        variant: Variant { name: "rocm644".into(), stack: Some(Stack::Rocm), toolkit: None },
        visibility: Visibility { name: visibility.into(), grants: Vec::new() },
        host: "local".into(),
        device: Device::Gpu(0),
        checks: Checks { timeout_s: 30, probe: Probe::Auto, host_check: false, python: None },
        expect: Expectation { codes: vec![code.into()], facts: Vec::new() },
        limits: Limits { cell_timeout: Duration::from_secs(60), memory: None },
    })
}

fn report(code: Code, message: &str) -> Report {
    Report {
        schema: gpusweep_report::SCHEMA.into(),
        checker_version: "0.1.0".into(),
        status: Status::Failed,
        code,
        exit_code: code.exit_code(),
        stage: Stage::Device,
        request: Request { device: "cuda:0".into(), timeout_s: 30, probe: Probe::Auto },
        runtime: None,
        pytorch: None,
        driver: None,
        execution: None,
        exposure: None,
        host_check: None,
        checks: Vec::new(),
        first_error: Some(FirstError { stage: Stage::Device, kind: message.into(), message: message.into() }),
        cause: None,
    }
}

fn reported(code: Code, message: &str) -> Observation {
    let report = Box::new(report(code, message));
    let exit = i64::from(report.exit_code);
    Observation::Reported { report, exit, applied: Applied::default(), oom_killed: false }
}

/// Runs each cell once, to the observation beside it; none = pruned.
fn run(cells: Vec<(Cell, Result<Observation, String>)>, command: &str) -> Summary {
    let planned = cells
        .iter()
        .map(|(cell, outcome)| PlannedCell { cell: cell.clone(), pruned: outcome.clone().err() })
        .collect();
    let plan = Plan {
        schema: SCHEMA.into(),
        name: command.into(),
        hosts: Vec::new(),
        source: gpusweep::plan::Source::default(),
        limits: RunLimits::default(),
        cells: planned,
    };
    let mut kinds = vec![EventKind::RunStarted {
        run: "r".into(),
        name: plan.name.clone(),
        cells: cells.len(),
        checker: "c".into(),
    }];
    let mut commands: BTreeMap<CellId, String> = BTreeMap::new();
    for (cell, outcome) in cells {
        let id = cell.id().clone();
        commands.insert(id.clone(), command.to_owned());
        if let Ok(observation) = outcome {
            kinds.push(EventKind::AttemptStarted { cell: id.clone(), attempt: 1 });
            kinds.push(EventKind::AttemptFinished { cell: id, attempt: 1, duration_ms: 10, observation });
        }
    }
    kinds.push(EventKind::RunFinished { interrupted: false });
    let mut ledger = Ledger::new(&plan);
    for (seq, kind) in (0..).zip(kinds) {
        ledger.apply(&Event { seq, at: jiff::Timestamp::UNIX_EPOCH, kind }).unwrap();
    }
    Summary::build(&plan, &ledger, &commands)
}

fn rendered(summary: &Summary, name: &str, style: Style) -> String {
    let layout = Layout::of(summary);
    let mut out = Vec::new();
    format(name).unwrap().render.render(&View { summary, layout: &layout, style }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const PAYLOADS: [&str; 7] = [
    "\u{1b}[2J\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}\u{1b}]8;;https://evil.example\u{1b}\\link",
    "a\rb\nc\td\u{8}",
    "\u{9b}31m\u{85}\u{7f}",
    "\u{202e}desrever\u{202c}\u{2066}x\u{2069}\u{200b}\u{feff}",
    "<script>alert(1)</script>|`x`|=cmd()|::error::x",
    "\u{e0041}\u{ad}\u{61c}\u{2028}",
];

fn hostile() -> Summary {
    let applied = |text: &str| Applied {
        digest: Some(text.into()),
        settings: serde_json::Map::from_iter([(text.to_owned(), text.into())]),
        strangers: None,
    };
    let mut cells = Vec::new();
    for (index, text) in PAYLOADS.into_iter().enumerate() {
        let fault = Fault { kind: FaultKind::ExposureRefused, message: text.into() };
        let observations = [
            Ok(reported(Code::GpuUnavailable, text)),
            Ok(Observation::NotStarted { phase: Phase::Create, fault }),
            Ok(Observation::Garbled { problem: text.into(), exit: 0, applied: applied(text) }),
            Ok(Observation::Killed { reason: KillReason::Signal(9), exit: 137, applied: applied(text) }),
            Err(text.to_owned()),
        ];
        for (number, observation) in observations.into_iter().enumerate() {
            let name = format!("{text}{index}");
            cells.push((cell(&name, &format!("{text}{number}"), Code::GpuCheckPassed), observation));
        }
    }
    run(cells, &format!("docker run -e X='{}' image", PAYLOADS.concat()))
}

#[test]
fn hostile_text_steers_no_terminal_in_any_format() {
    let summary = hostile();
    for format in FORMATS {
        for width in [None, Some(10), Some(80), Some(200)] {
            let text = rendered(&summary, format.name, Style { color: false, width });
            let found = text.chars().find(|c| *c != '\n' && steers(*c));
            assert_eq!(found, None, "{} at {width:?}", format.name);
        }
    }
}

#[test]
fn in_colour_only_our_own_colours_are_left() {
    let text = rendered(&hostile(), "table", Style { color: true, width: Some(200) });
    for sequence in text.split('\u{1b}').skip(1) {
        let (parameters, _) = sequence[1..].split_once('m').unwrap();
        assert!(sequence.starts_with('['), "{sequence}");
        assert!(parameters.chars().all(|c| c.is_ascii_digit() || c == ';'), "{sequence}");
    }
    assert_eq!(text.chars().find(|c| *c != '\n' && *c != '\u{1b}' && steers(*c)), None);
}

#[test]
fn no_line_break_of_a_name_breaks_the_table() {
    let text = rendered(&hostile(), "table", Style { color: false, width: Some(200) });
    for line in text.lines().filter(|line| line.starts_with('│')) {
        assert!(line.ends_with('│'), "{line}");
    }
}

/// Three images under every preset there is.
fn wide() -> Summary {
    let presets = [
        "none",
        "nvidia-all",
        "nvidia-0",
        "nvidia-cdi",
        "nvidia-runtime",
        "amd-all",
        "amd-no-group",
        "amd-cdi",
        "amd-runtime",
    ];
    let mut cells = Vec::new();
    for image in ["pytorch", "vllm", "base"] {
        for preset in presets {
            let isolated = matches!(preset, "none" | "amd-no-group");
            let code = if isolated { Code::GpuUnavailable } else { Code::GpuCheckPassed };
            let outcome = if preset.starts_with("nvidia") {
                Err("a rocm image cannot use an NVIDIA GPU".to_owned())
            } else {
                Ok(reported(Code::GpuUnavailable, "No HIP GPUs are available"))
            };
            cells.push((cell(image, preset, code), outcome));
        }
    }
    run(cells, "docker run --rm image")
}

#[test]
fn a_wide_matrix_is_cut_into_tables_that_fit_80_columns() {
    let text = rendered(&wide(), "table", Style { color: false, width: Some(80) });
    for line in text.lines().filter(|line| line.starts_with(['│', '┌', '╞', '└'])) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_wide_matrix_uses_200_columns() {
    insta::assert_snapshot!(rendered(&wide(), "table", Style { color: false, width: Some(200) }));
}
