//! Plans, reports and stories for the unit tests of the readers.
//!
//! Main types: [`Story`], which tells a run event by event, and the functions that make what it is told of.

use std::collections::BTreeMap;
use std::time::Duration;

use gpusweep_report::{
    Check, Code as CheckCode, Driver, Execution, Exposure, FirstError, Outcome, Probe, Report, Request,
    Stage, Status,
};
use jiff::Timestamp;

use crate::event::{Event, EventKind};
use crate::ledger::Ledger;
use crate::model::{
    Applied, BackendKind, Cell, CellId, CellParts, Checks, Code, Device, Endpoint, Expectation, Fault,
    FaultKind, Grant, Host, ImageRef, Limits, Observation, Phase, Stack, Variant, Visibility,
};
use crate::plan::{Plan, PlannedCell, RunLimits, SCHEMA, Source};
use crate::summary::Summary;

/// What a cell is made of, to be changed before it is built.
pub(crate) fn parts(image: &str, visibility: &str, codes: &[Code]) -> CellParts {
    CellParts {
        image: ImageRef {
            name: image.into(),
            reference: format!("registry.example/{image}:latest"),
            family: image.into(),
        },
        variant: Variant { name: "-".into(), stack: None, toolkit: None },
        visibility: Visibility { name: visibility.into(), grants: grants(visibility) },
        host: "local".into(),
        device: Device::Gpu(0),
        checks: Checks { timeout_s: 30, probe: Probe::Auto, host_check: false, python: None },
        expect: Expectation { codes: codes.to_vec(), facts: Vec::new() },
        limits: Limits { cell_timeout: Duration::from_secs(600), memory: None },
    }
}

fn grants(visibility: &str) -> Vec<Grant> {
    match visibility {
        "none" => Vec::new(),
        "privileged" => vec![Grant::Privileged],
        _ => vec![Grant::DeviceRequest {
            driver: String::new(),
            count: -1,
            ids: Vec::new(),
            capabilities: Vec::new(),
        }],
    }
}

pub(crate) fn variant(name: &str, stack: Stack) -> Variant {
    Variant { name: name.into(), stack: Some(stack), toolkit: None }
}

pub(crate) fn cell(image: &str, visibility: &str, code: impl Into<Code>) -> Cell {
    Cell::new(parts(image, visibility, &[code.into()]))
}

pub(crate) fn plan(cells: impl IntoIterator<Item = Cell>) -> Plan {
    let planned = |cell| PlannedCell { cell, pruned: None };
    Plan {
        schema: SCHEMA.into(),
        name: "test".into(),
        hosts: vec![Host {
            name: "local".into(),
            backend: BackendKind::Docker(Endpoint::Current),
            stacks: None,
            slots: None,
        }],
        source: Source::default(),
        limits: RunLimits::default(),
        cells: cells.into_iter().map(planned).collect(),
    }
}

/// A report that is valid for its code.
pub(crate) fn report(code: CheckCode) -> Report {
    let passed = code.passed();
    let device = if code == CheckCode::CpuCheckPassed { "cpu" } else { "cuda:0" };
    Report {
        schema: gpusweep_report::SCHEMA.into(),
        checker_version: "0.1.0".into(),
        status: if passed { Status::Passed } else { Status::Failed },
        code,
        exit_code: code.exit_code(),
        stage: if passed { Stage::Complete } else { Stage::Import },
        request: Request { device: device.into(), timeout_s: 30, probe: Probe::Auto },
        runtime: None,
        pytorch: None,
        driver: None,
        execution: passed.then(|| Execution {
            device: device.into(),
            product_verified: true,
            gradient_verified: true,
            loss: Some(196.0),
        }),
        exposure: (device != "cpu").then(Exposure::default),
        host_check: None,
        checks: vec![Check { name: Stage::Import, outcome: Outcome::Passed, elapsed_ms: 3 }],
        first_error: (!passed).then(|| FirstError {
            stage: Stage::Import,
            kind: "ImportError".into(),
            message: format!("the error of {code}"),
        }),
        cause: None,
    }
}

pub(crate) fn observed(report: Report) -> Observation {
    let exit = i64::from(report.exit_code);
    Observation::Reported { report: Box::new(report), exit, applied: Applied::default(), oom_killed: false }
}

/// A driver that started, and what it counts.
pub(crate) fn driver(count: Option<u32>, devices: Option<Vec<gpusweep_report::Device>>) -> Driver {
    Driver {
        api: "cuda".into(),
        library: None,
        version: None,
        init_result: Some(0),
        init_name: None,
        device_count: count,
        devices,
    }
}

/// The same, with what the engine says it set.
pub(crate) fn applied(report: Report, settings: &serde_json::Value) -> Observation {
    let settings = settings.as_object().cloned().unwrap_or_default();
    let exit = i64::from(report.exit_code);
    let applied = Applied { settings, ..Applied::default() };
    Observation::Reported { report: Box::new(report), exit, applied, oom_killed: false }
}

pub(crate) fn reported(code: CheckCode) -> Observation {
    observed(report(code))
}

pub(crate) fn fault(kind: FaultKind, message: &str) -> Observation {
    Observation::NotStarted { phase: Phase::Create, fault: Fault { kind, message: message.into() } }
}

/// A run, told event by event.
pub(crate) struct Story {
    pub plan: Plan,
    pub ledger: Ledger,
    pub events: Vec<Event>,
}

impl Story {
    pub(crate) fn of(plan: Plan) -> Self {
        Self { ledger: Ledger::new(&plan), plan, events: Vec::new() }
    }

    /// Tells the next event, which must be legal.
    pub(crate) fn tell(&mut self, kind: EventKind) -> &mut Self {
        let seq = self.events.len() as u64;
        let at = Timestamp::from_second(1_767_225_600 + i64::try_from(seq).unwrap()).unwrap();
        let event = Event { seq, at, kind };
        self.ledger.apply(&event).unwrap();
        self.events.push(event);
        self
    }

    pub(crate) fn begin(&mut self) -> &mut Self {
        let cells = self.plan.runnable().count();
        self.tell(EventKind::RunStarted {
            run: "run-1".into(),
            name: self.plan.name.clone(),
            cells,
            checker: "c0ffee".into(),
        })
    }

    pub(crate) fn start(&mut self, cell: &CellId) -> &mut Self {
        let attempt = self.ledger.record(cell).unwrap().started() + 1;
        self.tell(EventKind::AttemptStarted { cell: cell.clone(), attempt })
    }

    pub(crate) fn finish(&mut self, cell: &CellId, observation: Observation) -> &mut Self {
        let attempt = self.ledger.record(cell).unwrap().started();
        self.tell(EventKind::AttemptFinished { cell: cell.clone(), attempt, duration_ms: 1234, observation })
    }

    pub(crate) fn attempt(&mut self, cell: &CellId, observation: Observation) -> &mut Self {
        self.start(cell).finish(cell, observation)
    }

    pub(crate) fn end(&mut self, interrupted: bool) -> &mut Self {
        self.tell(EventKind::RunFinished { interrupted })
    }

    pub(crate) fn summary(&self) -> Summary {
        let commands: BTreeMap<CellId, String> = self
            .plan
            .runnable()
            .map(|cell| (cell.id().clone(), format!("docker run --rm {}", cell.image.reference)))
            .collect();
        Summary::build(&self.plan, &self.ledger, &commands)
    }
}

/// A run with a row of every verdict, several of them failing alike.
pub(crate) fn mixed() -> Story {
    let mut cells = Vec::new();
    for image in ["torch-cuda", "torch-cpu", "python"] {
        for visibility in ["none", "nvidia-all", "privileged"] {
            let code =
                if visibility == "none" { CheckCode::GpuUnavailable } else { CheckCode::GpuCheckPassed };
            let mut parts = parts(image, visibility, &[code.into()]);
            parts.variant = variant("cu128", Stack::Cuda);
            cells.push(Cell::new(parts));
        }
    }
    let mut plan = plan(cells);
    plan.cells[5].pruned = Some("the variant is made for another stack".into());
    let ids: Vec<CellId> = plan.cells.iter().map(|planned| planned.cell.id().clone()).collect();
    let mut story = Story::of(plan);
    let refused = "could not select device driver \"\" with capabilities: [[gpu]]";
    story
        .begin()
        .attempt(&ids[0], reported(CheckCode::GpuUnavailable))
        .attempt(&ids[1], fault(FaultKind::ExposureRefused, refused))
        .attempt(&ids[2], reported(CheckCode::GpuUnavailable))
        .attempt(&ids[2], reported(CheckCode::GpuCheckPassed))
        .attempt(&ids[3], reported(CheckCode::GpuBackendAbsent))
        .attempt(&ids[4], fault(FaultKind::ExposureRefused, refused))
        .attempt(&ids[6], fault(FaultKind::ImageUnavailable, "manifest for python:latest not found"))
        .attempt(&ids[7], Observation::Cancelled { phase: Phase::Pull })
        .end(true);
    story
}
