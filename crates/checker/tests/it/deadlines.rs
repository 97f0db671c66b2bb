//! Hangs: each names its stage, in time, with nothing left behind.

use std::time::Duration;

use gpusweep_report::{Code, Stage};

use crate::harness::Checker;

const FIVE: [&str; 2] = ["--timeout", "5"];

/// Generous, as tests share the machine; a deadline that is not kept would be an hour.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn times_out(checker: Checker, stage: Stage) {
    let outcome = checker.args(FIVE).run();
    outcome.expect(Code::Timeout, stage).expect_error("Timeout", "stopped after 5 s");
    assert!(outcome.elapsed >= Duration::from_secs(5), "too early: {:?}", outcome.elapsed);
    assert!(outcome.elapsed < SOON, "too late: {:?}", outcome.elapsed);
}

#[test]
fn a_hanging_interpreter_is_stopped() {
    let checker = Checker::new().with_short_import();
    let python = checker.folder.path().join("python");
    crate::harness::program(&python, "#!/bin/sh\nsleep 3600\n");
    times_out(checker.args(["--python", python.to_str().unwrap()]), Stage::Interpreter);
}

#[test]
fn a_hanging_import_is_stopped() {
    times_out(Checker::with_gpus(1).fault("import=hang").with_short_import(), Stage::Import);
}

#[test]
fn the_import_has_an_allowance_of_its_own() {
    // Longer than the computation's deadline, and still no fault.
    let checker = Checker::on_cpu().args(FIVE);
    let site = checker.folder.path().join("site");
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("sitecustomize.py"), "import time\ntime.sleep(6)\n").unwrap();
    let path = std::env::join_paths([site, crate::harness::doubles()]).unwrap();
    checker.env("PYTHONPATH", path).run().expect(Code::CpuCheckPassed, Stage::Complete);
}

#[test]
fn a_hang_before_the_computation_is_stopped() {
    times_out(Checker::with_gpus(1).fault("available=hang"), Stage::Device);
}

#[test]
fn a_hanging_allocation_is_stopped() {
    times_out(Checker::with_gpus(1).fault("allocate=hang"), Stage::Allocate);
}

#[test]
fn a_hanging_product_is_stopped() {
    times_out(Checker::with_gpus(1).fault("product=hang"), Stage::Product);
}

#[test]
fn a_hanging_gradient_is_stopped() {
    times_out(Checker::with_gpus(1).fault("gradient=hang"), Stage::Gradient);
}

#[test]
fn a_hanging_synchronisation_is_stopped() {
    times_out(Checker::with_gpus(1).fault("synchronize=hang"), Stage::Synchronize);
}

#[test]
fn a_worker_that_ignores_signals_is_stopped() {
    times_out(Checker::with_gpus(1).fault("product=deaf"), Stage::Product);
}

#[test]
fn what_was_found_before_the_hang_is_kept() {
    let outcome = Checker::with_gpus(3).fault("product=hang").args(FIVE).run();
    outcome.expect(Code::Timeout, Stage::Product);
    assert!(outcome.report.runtime.unwrap().python_version.is_some());
    assert_eq!(outcome.report.pytorch.unwrap().visible_device_count, Some(3));
}
