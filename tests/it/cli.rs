//! What a user meets at the command line, apart from real sweeps: errors, plans, schemas.

use std::process::Command;

use serde_json::Value;

use crate::engine::{gpusweep, one_cell, sweep};

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn matrix(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.yaml");
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

#[test]
fn a_wrong_matrix_is_told_in_one_error_and_launches_nothing() {
    let (folder, file) = matrix(&one_cell("localhost/gpusweep/bare:1", "visiblity: [none]"));
    let out = folder.path().join("run");
    let (status, stdout, stderr) = run(gpusweep().arg("run").arg(&file).arg("--out").arg(&out));
    assert_eq!(status, Some(2));
    assert_eq!(stdout, "");
    assert!(stderr.contains("m.yaml:4:1"), "{stderr}");
    assert!(stderr.contains("4 | visiblity: [none]\n  | ^\n"), "{stderr}");
    assert!(stderr.contains("visiblity") && stderr.contains("did you mean `visibility`"), "{stderr}");
    assert!(!out.exists());
}

#[test]
fn usage_errors_name_the_way_out() {
    let (status, _, stderr) = run(gpusweep().args(["run", "/nonexistent.yaml"]));
    assert_eq!(status, Some(2));
    assert!(stderr.contains("/nonexistent.yaml") && stderr.contains("hint:"), "{stderr}");
    let (status, _, stderr) = run(gpusweep().args(["report", "/"]));
    assert_eq!(status, Some(2));
    assert!(stderr.contains("not a run folder"), "{stderr}");
    let (_folder, file) = matrix(&one_cell("localhost/gpusweep/bare:1", ""));
    let (status, _, stderr) = run(gpusweep().args(["plan", "--only", "colour=red"]).arg(&file));
    assert_eq!(status, Some(2), "{stderr}");
    let (status, _, stderr) = run(gpusweep().args(["plan", "--only", "image=nothing"]).arg(&file));
    assert_eq!(status, Some(2));
    assert!(stderr.contains("--only"), "{stderr}");
}

#[test]
fn a_run_folder_in_use_is_left_as_it_is() {
    let (folder, file) = matrix(&one_cell("localhost/gpusweep/bare:1", ""));
    let (status, _, stderr) = run(gpusweep().arg("run").arg(&file).arg("--out").arg(folder.path()));
    assert_eq!(status, Some(2));
    assert!(stderr.contains("already exists"), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_printed_docker_line_gives_what_the_sweep_gave() {
    let more = "visibility: [{ name: odd, env: { CUDA_VISIBLE_DEVICES: \"\", NVIDIA_VISIBLE_DEVICES: \"a b'c\" }, shm_size: 32m }]";
    let (_folder, file) = matrix(&one_cell("localhost/gpusweep/python:1", more));
    let (status, stdout, _) = run(gpusweep().args(["plan", "--format", "docker"]).arg(&file));
    assert_eq!(status, Some(0));
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_gpusweep")).parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let (status, report, stderr) = run(Command::new("sh").args(["-c", &stdout]).env("PATH", path));
    assert_eq!(status, Some(3), "{stdout}\n{stderr}");
    let by_hand: Value = serde_json::from_str(&report).unwrap();
    let run = sweep(&std::fs::read_to_string(&file).unwrap());
    let swept = run.report(&run.cells()[0]);
    assert_eq!(by_hand["code"], swept["code"]);
    assert_eq!(by_hand["exposure"], swept["exposure"]);
    assert_eq!(swept["exposure"]["variables"]["NVIDIA_VISIBLE_DEVICES"], "a b'c");
    assert_eq!(swept["exposure"]["shm_bytes"], 32 << 20);
    assert!(stdout.contains(run.cells()[0]["command"].as_str().unwrap()));
}

#[test]
fn a_container_gets_no_more_than_it_is_granted() {
    let run = sweep(&one_cell("localhost/gpusweep/python:1", ""));
    let applied = &run.cells()[0]["applied"];
    assert_eq!(applied["network_mode"], "none");
    assert_eq!(applied["cap_drop"], serde_json::json!(["ALL"]));
    assert_eq!(applied["security_opt"], serde_json::json!(["no-new-privileges"]));
    assert_eq!(applied["privileged"], Value::Null);
    assert_eq!(applied["runtime"], "runc");
    assert_eq!(applied["env"]["NVIDIA_VISIBLE_DEVICES"], "void");
}

#[test]
fn every_schema_is_printed_and_the_documents_fit() {
    for name in ["matrix", "report", "summary"] {
        let (status, stdout, _) = run(gpusweep().args(["schema", name]));
        assert_eq!(status, Some(0));
        let schema: Value = serde_json::from_str(&stdout).unwrap();
        assert!(schema["properties"].as_object().is_some_and(|fields| fields.len() > 3), "{name}");
    }
}

#[test]
fn the_checker_is_written_out_and_runs_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (status, stdout, _) = run(gpusweep().args(["checker", "--dir"]).arg(folder.path()));
    assert_eq!(status, Some(0));
    let (status, report, _) =
        run(Command::new(stdout.trim()).args(["--device", "cpu", "--python", "/nonexistent"]));
    assert_eq!(status, Some(3));
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["code"], "TORCH_MISSING");
}

/// Each is made by the definition of the command line, so that what is tested is that every command is in it.
#[test]
fn completions_and_manual_pages_know_every_command() {
    let run = |arguments: &[&str]| {
        let output = gpusweep().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let help = run(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        // A line that is indented further goes on with the one before it.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    let work = tempfile::tempdir().unwrap();
    run(&["man", "--dir", work.path().to_str().unwrap()]);
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert!(commands.iter().all(|name| script.contains(name)), "{shell}");
    }
    let page = run(&["man"]);
    for name in commands {
        assert!(page.contains(&format!("gpusweep\\-{name}(1)")), "{name}: {page}");
        assert!(work.path().join(format!("gpusweep-{name}.1")).is_file(), "{name}");
    }
}
