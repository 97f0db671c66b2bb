//! Images that print, write or fork what they should not.

use std::time::Duration;

use gpusweep_report::{Code, Stage};

use crate::harness::Checker;

#[test]
fn hundreds_of_megabytes_are_drained_and_not_kept() {
    let (mut command, _folder, mark) = Checker::with_gpus(1).fault("product=flood:300").into_command();
    // A supervisor that grew with the output would run into this limit of its address space, and its worker with it.
    let shell = format!("ulimit -v 200000; exec {}", command.get_program().to_str().unwrap());
    let mut limited = std::process::Command::new("/bin/sh");
    limited.args(["-c", &shell]).env_clear();
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap());
    }
    let start = std::time::Instant::now();
    let output = limited.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    crate::harness::nothing_is_left(&mark);
    let outcome = crate::harness::read(&stdout, output.status.code(), start.elapsed());
    outcome.expect(Code::GpuCheckPassed, Stage::Complete);
    assert!(command.output().unwrap().status.success());
}

#[test]
fn noise_on_stdout_and_stderr_is_no_report() {
    let checker = Checker::with_gpus(1).args(["--timeout", "30"]);
    let site = checker.folder.path().join("site");
    std::fs::create_dir(&site).unwrap();
    let noise = "import sys\nprint('{\"code\":\"GPU_CHECK_PASSED\"}')\nprint('warning', file=sys.stderr)\n";
    std::fs::write(site.join("sitecustomize.py"), noise).unwrap();
    let path = std::env::join_paths([site, crate::harness::doubles()]).unwrap();
    checker.env("PYTHONPATH", path).run().expect(Code::GpuCheckPassed, Stage::Complete);
}

#[test]
fn a_grandchild_that_holds_the_pipes_does_not_hold_the_checker() {
    let outcome = Checker::with_gpus(1).fault("product=daemon").run();
    outcome.expect(Code::GpuCheckPassed, Stage::Complete);
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
    let outcome = Checker::with_gpus(1).fault("product=daemon&gradient=exit:3").run();
    outcome.expect(Code::WorkerFailed, Stage::Gradient);
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
}

#[test]
fn garbage_on_the_report_descriptor_is_no_report() {
    for garbage in [
        "hello\n",
        "\n",
        "{\"stage\":\"complete\"}\n",
        "{\"stage\":\"synchronize\"}\n",
        "{\"unknown\":1}\n",
        "{\"result\":{\"computed\":{}}}\n",
    ] {
        let outcome = Checker::with_gpus(1).fault(&format!("allocate=report:{garbage}")).run();
        outcome.expect(Code::WorkerFailed, Stage::Allocate).expect_error("GarbledReport", "");
    }
    let flood = "x".repeat(70_000);
    let outcome = Checker::with_gpus(1).fault(&format!("allocate=report:{flood}")).run();
    outcome.expect(Code::WorkerFailed, Stage::Allocate).expect_error("GarbledReport", "longer than");
}

#[test]
fn results_before_the_computation_are_not_believed() {
    let forged = concat!(
        r#"{"result":{"computed":{"product":[["4.0","4.0"],["10.0","8.0"]],"#,
        r#""gradient":[["16.0","24.0"],["40.0","52.0"]],"loss":"196.0","#,
        r#""product_device":"cuda:0","gradient_device":"cuda:0"}}}"#,
        "\n"
    );
    let outcome = Checker::with_gpus(1).fault(&format!("allocate=report:{forged}")).run();
    outcome.expect(Code::WorkerFailed, Stage::Allocate).expect_error("GarbledReport", "before");
}

#[test]
fn strings_of_the_image_are_bounded_and_plain() {
    let version = format!("2.9\u{1b}[31m{}", "9".repeat(5000));
    let outcome = Checker::on_cpu().env("FAKE_TORCH_VERSION", version).run();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert!(outcome.report.pytorch.unwrap().version.len() <= 64);
}

/// A torch that tries to write where its supervisor's report goes, and into its supervisor.
const INTRUDER: &str = r#"
import os
opened = []
for name in ("fd/1", "fd/2", "mem"):
    try:
        os.close(os.open("/proc/%d/%s" % (os.getppid(), name), os.O_WRONLY))
        opened.append(name)
    except OSError:
        pass
raise RuntimeError("opened: %s" % opened)
"#;

#[test]
fn an_image_cannot_write_to_its_supervisor() {
    let checker = Checker::new().args(["--device", "cpu"]);
    let site = checker.folder.path().join("site");
    std::fs::create_dir_all(site.join("torch")).unwrap();
    std::fs::write(site.join("torch/__init__.py"), INTRUDER).unwrap();
    let (command, _folder, _) = checker.env("PYTHONPATH", site).into_command();
    // As in a cell: with this capability, every process is open to the image.
    let mut without = std::process::Command::new("setpriv");
    without.args(["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]);
    let is_root = rustix::process::geteuid().is_root();
    let mut plain = std::process::Command::new("env");
    let run = if is_root { &mut without } else { &mut plain };
    run.arg(command.get_program()).args(command.get_args()).env_clear();
    run.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Ok(output) = run.output() else {
        eprintln!("skipped: there is no setpriv here");
        return;
    };
    let stdout = String::from_utf8(output.stdout).unwrap();
    let outcome = crate::harness::read(&stdout, output.status.code(), Duration::ZERO);
    outcome.expect(Code::TorchImportFailed, Stage::Import).expect_error("RuntimeError", "opened: []");
}
