//! Which interpreter is taken, and what is said of one that does not run.

use gpusweep_report::{Code, Stage};

use crate::harness::{Checker, doubles, program};

fn found_by(outcome: &crate::harness::Outcome) -> Option<&str> {
    outcome.report.runtime.as_ref().unwrap().interpreter.as_deref()
}

fn real_python() -> &'static str {
    "/usr/bin/python3"
}

#[test]
fn a_configured_interpreter_is_the_only_one_tried() {
    let outcome = Checker::on_cpu().args(["--python", real_python()]).run();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert_eq!(found_by(&outcome), Some("configured"));
    let outcome = Checker::on_cpu().args(["--python", "/srv/nowhere/python9"]).run();
    outcome.expect(Code::TorchMissing, Stage::Interpreter).expect_error("NotFound", "python9");
    assert!(!outcome.line.contains("nowhere"));
}

#[test]
fn an_environment_comes_before_path_and_its_link_is_not_resolved() {
    let checker = Checker::on_cpu();
    let prefix = checker.folder.path().join("environment");
    let status = std::process::Command::new(real_python())
        .args(["-m", "venv", "--without-pip", "--symlinks"])
        .arg(&prefix)
        .status()
        .unwrap();
    assert!(status.success());
    let library = std::fs::read_dir(prefix.join("lib")).unwrap().next().unwrap().unwrap().path();
    // Only found where the environment's own prefix is kept.
    let text = format!("{}\n", doubles().display());
    std::fs::write(library.join("site-packages/double.pth"), text).unwrap();
    let outcome = checker.env("PYTHONPATH", "").env("VIRTUAL_ENV", &prefix).run();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert_eq!(found_by(&outcome), Some("venv"));
}

#[test]
fn python_on_path_comes_before_python3() {
    let checker = Checker::on_cpu();
    let folder = checker.folder.path().join("bin");
    program(&folder.join("python"), "#!/bin/sh\nexit 42\n");
    let path = std::env::join_paths(["/usr/bin".into(), "/bin".into(), folder]).unwrap();
    if std::path::Path::new("/usr/bin/python").exists() {
        eprintln!("skipped: this machine has /usr/bin/python, which is the first on PATH");
        return;
    }
    let outcome = checker.env("PATH", path).run();
    outcome.expect(Code::WorkerFailed, Stage::Interpreter).expect_error("Exit", "status 42");
    assert_eq!(found_by(&outcome), Some("path"));
}

#[test]
fn an_interpreter_that_cannot_be_executed_is_named() {
    let checker = Checker::new();
    let file = checker.folder.path().join("python");
    program(&file, "\u{1}\u{2} of another machine");
    let outcome = checker.args(["--python", file.to_str().unwrap()]).run();
    outcome
        .expect(Code::TorchMissing, Stage::Interpreter)
        .expect_error("ENOEXEC", "python cannot be executed");

    let checker = Checker::new();
    let file = checker.folder.path().join("python");
    std::fs::write(&file, "").unwrap();
    let outcome = checker.args(["--python", file.to_str().unwrap()]).run();
    outcome
        .expect(Code::TorchMissing, Stage::Interpreter)
        .expect_error("EACCES", "python cannot be executed");
}

#[test]
fn an_interpreter_that_dies_at_its_start_is_a_failed_worker() {
    let checker = Checker::new();
    let file = checker.folder.path().join("python");
    let text =
        "python: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file";
    program(&file, &format!("#!/bin/sh\necho '{text}' >&2\nexit 127\n"));
    let outcome = checker.args(["--python", file.to_str().unwrap()]).run();
    outcome.expect(Code::WorkerFailed, Stage::Interpreter).expect_error("Exit", "libpython3.11.so.1.0");
}

#[test]
fn the_working_directory_does_not_stand_in_for_torch() {
    for pythonpath in ["", ":/nowhere", "/nowhere:"] {
        let checker = Checker::new();
        for name in ["torch.py", "json.py"] {
            std::fs::write(checker.folder.path().join(name), "raise SystemExit(9)\n").unwrap();
        }
        let outcome = checker.env("PYTHONPATH", pythonpath).run();
        outcome.expect(Code::TorchMissing, Stage::Import);
    }
}

#[test]
fn nothing_is_written_beside_the_packages_of_the_image() {
    let checker = Checker::on_cpu();
    let packages = checker.folder.path().join("packages");
    let copied = std::process::Command::new("cp").arg("-r").arg(doubles()).arg(&packages).status().unwrap();
    assert!(copied.success());
    let _ = std::fs::remove_dir_all(packages.join("torch/__pycache__"));
    let (outcome, _folder) = checker.env("PYTHONPATH", &packages).run_keeping_folder();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert!(!packages.join("torch/__pycache__").exists());
}
