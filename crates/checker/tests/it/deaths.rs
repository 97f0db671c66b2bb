//! A worker that dies: by a signal, by itself, or because the supervisor was told to stop.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use gpusweep_report::{Code, Stage};

use crate::harness::{Checker, nothing_is_left, processes_of, read};

#[test]
fn a_signal_without_a_word_is_a_failed_worker() {
    for (point, stage) in
        [("import", Stage::Import), ("available", Stage::Device), ("product", Stage::Product)]
    {
        for signal in ["SIGSEGV", "SIGBUS", "SIGKILL"] {
            let outcome = Checker::with_gpus(1).fault(&format!("{point}=signal:{signal}")).run();
            outcome.expect(Code::WorkerFailed, stage).expect_error("Signal", &format!("killed by {signal}"));
        }
    }
}

#[test]
fn a_signal_behind_a_backend_error_is_that_error() {
    let texts = [
        "HSA_STATUS_ERROR_OUT_OF_RESOURCES: the runtime failed to allocate",
        "Memory access fault by GPU node-1 on address 0x7f. Reason: Unknown.",
        "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
        "CUDA error: device-side assert triggered",
    ];
    for text in texts {
        let outcome = Checker::with_gpus(1).fault(&format!("gradient=signal:SIGABRT:{text}")).run();
        outcome.expect(Code::RuntimeError, Stage::Gradient);
        outcome.expect_error("Signal", "killed by SIGABRT: ").expect_error("Signal", &text[..10]);
        assert_eq!(outcome.report.exit_code, 9);
    }
}

#[test]
fn what_an_image_prints_for_itself_is_not_quoted() {
    let outcome = Checker::with_gpus(1).fault("product=signal:SIGSEGV:our customers are ill").run();
    outcome.expect(Code::WorkerFailed, Stage::Product);
    assert!(!outcome.line.contains("customers"));
}

#[test]
fn a_worker_that_leaves_without_a_report_has_failed() {
    for (point, stage) in [("import", Stage::Import), ("allocate", Stage::Allocate)] {
        for status in ["0", "1", "77"] {
            let outcome = Checker::with_gpus(1).fault(&format!("{point}=exit:{status}")).run();
            outcome.expect(Code::WorkerFailed, stage);
            outcome.expect_error("Exit", &format!("exited with status {status}"));
        }
    }
}

#[test]
fn a_stopped_checker_still_reports_and_leaves_nothing() {
    for (signal, name) in [("TERM", "SIGTERM"), ("INT", "SIGINT"), ("HUP", "SIGHUP")] {
        let fault = "allocate=daemon&product=deaf";
        let (mut command, _folder, mark) = Checker::with_gpus(1).fault(fault).into_command();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        // The checker, the worker and its daemon; the worker is deaf a moment later.
        while processes_of(&mark).len() < 3 {
            assert!(start.elapsed() < Duration::from_secs(20), "the worker does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        let stop = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(stop.unwrap().success());
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let exit = child.wait().unwrap().code();
        nothing_is_left(&mark);
        let outcome = read(&stdout, exit, start.elapsed());
        outcome.expect(Code::WorkerFailed, Stage::Product);
        outcome.expect_error("Signal", &format!("stopped by {name}"));
    }
}

#[test]
fn a_worker_that_stops_its_supervisor_gets_a_report_too() {
    let outcome = Checker::with_gpus(1).fault("gradient=kill-parent:SIGTERM").run();
    outcome.expect(Code::WorkerFailed, Stage::Gradient).expect_error("Signal", "stopped by SIGTERM");
}
