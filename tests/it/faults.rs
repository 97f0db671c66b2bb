//! Each way in which a cell can fail to give a report has its own code, on the real engine, and one row.

use std::io::Write as _;

use serde_json::Value;

use crate::engine::{Image, Sweep, docker, one_cell, prepare, sweep};

const PYTHON: &str = "localhost/gpusweep/python:1";

/// The one row of a sweep, with its code, exit status and verdict checked.
fn only<'a>(run: &'a Sweep, code: &str, exit: u8, verdict: &str) -> &'a Value {
    assert_eq!(run.cells().len(), 1, "{:#}", run.summary);
    let cell = &run.cells()[0];
    assert_eq!(cell["code"], code, "{cell:#}\n{}", run.stderr);
    assert_eq!(cell["exit_code"], exit);
    assert_eq!(cell["verdict"], verdict, "{cell:#}");
    assert!(cell["next_action"].as_str().is_some_and(|text| !text.is_empty()), "{cell:#}");
    assert!(run.stdout.contains(code), "{}", run.stdout);
    cell
}

fn message(cell: &Value) -> &str {
    cell["first_error"]["message"].as_str().unwrap_or_else(|| panic!("no first error: {cell:#}"))
}

#[test]
fn a_missing_image_blocks_its_cell_alone() {
    let run = sweep(&format!(
        "schema: gpusweep.matrix/1\nname: test\nimages:\n  - {{ name: gone, ref: localhost/gpusweep-test/no-such-image:1 }}\n  - {{ name: there, ref: \"{PYTHON}\" }}\nexpect: [{{ when: {{ image: there }}, code: TORCH_MISSING }}]\n"
    ));
    assert_eq!(run.status, Some(1));
    let gone = run.cell(&[("image", "gone")]);
    assert_eq!(
        (gone["code"].as_str(), gone["verdict"].as_str()),
        (Some("IMAGE_UNAVAILABLE"), Some("blocked"))
    );
    assert_eq!(gone["exit_code"], 21);
    assert!(message(gone).contains("no-such-image") || message(gone).contains("pull"), "{gone:#}");
    assert_eq!(run.cell(&[("image", "there")])["verdict"], "expected");
}

#[test]
fn a_refused_exposure_is_a_finding_in_the_engines_words() {
    let run = sweep(&one_cell(PYTHON, "visibility: [nvidia-all]"));
    assert_eq!(run.status, Some(1));
    let cell = only(&run, "LAUNCH_REFUSED", 23, "unexpected");
    assert!(message(cell).contains("could not select device driver"), "{cell:#}");
    assert_eq!(cell["container_exit_code"], Value::Null);
}

#[test]
fn a_refused_exposure_can_be_what_is_expected() {
    let run = sweep(&one_cell(
        PYTHON,
        "visibility: [{ name: kfd, devices: [/dev/no-such-node] }]\nexpect: [{ when: { visibility: kfd }, code: LAUNCH_REFUSED }]",
    ));
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert_eq!(run.cells()[0]["verdict"], "expected");
}

#[test]
fn an_image_of_another_architecture_is_named() {
    let image = Image::foreign("foreign", "s390x");
    let run = sweep(&one_cell(&image.reference, ""));
    let cell = only(&run, "PLATFORM_MISMATCH", 22, "blocked");
    assert!(message(cell).contains("s390x"), "{cell:#}");
}

#[test]
fn a_cell_that_hangs_ends_at_its_deadline() {
    let image = Image::with_torch("hang", "import time\ntime.sleep(600)\n");
    let began = std::time::Instant::now();
    let run = sweep(&one_cell(&image.reference, "limits: { cell_timeout: 3s }"));
    assert!(began.elapsed().as_secs() < 30);
    let cell = only(&run, "CELL_TIMEOUT", 26, "unexpected");
    assert!(cell["duration_ms"].as_u64().unwrap() >= 3000);
}

#[test]
fn a_container_killed_for_memory_is_told_from_a_failing_check() {
    let image =
        Image::with_torch("memory", "hoard = []\nwhile True:\n    hoard.append(bytearray(8 << 20))\n");
    let run = sweep(&one_cell(&image.reference, "limits: { memory: 64m }"));
    only(&run, "CONTAINER_KILLED", 27, "unexpected");
}

#[test]
fn a_container_killed_from_outside_is_named() {
    let image = Image::with_torch("killed", "import time\ntime.sleep(600)\n");
    let live = prepare(&one_cell(&image.reference, "")).start();
    docker(&["kill", "--signal", "KILL", &running_container(&live.folder())]);
    let run = live.ended();
    only(&run, "CONTAINER_KILLED", 27, "unexpected");
}

/// Waits until the one cell of a sweep runs, and returns its container.
pub(crate) fn running_container(folder: &std::path::Path) -> String {
    for _ in 0..300 {
        let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
        if journal.contains(r#""phase":"running""#) {
            let label = format!("label=gpusweep={}", crate::engine::run_id(folder));
            return docker(&["ps", "--quiet", "--filter", &label]);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("no cell came to run");
}

#[test]
fn what_is_printed_beside_the_report_is_never_taken_for_one() {
    let image = Image::with_torch("beside", "import time\ntime.sleep(8)\n");
    let live = prepare(&one_cell(&image.reference, "")).start();
    let container = running_container(&live.folder());
    // The image itself cannot do this; somebody with rights on the engine's machine can.
    let forged = r#"{"schema":"gpusweep.report/1","code":"GPU_CHECK_PASSED","exit_code":0}"#;
    let process = docker(&["inspect", "--format", "{{.State.Pid}}", &container]);
    let stdout = format!("/proc/{process}/fd/1");
    let mut stdout = std::fs::OpenOptions::new().write(true).open(stdout).unwrap();
    writeln!(stdout, "{forged}").unwrap();
    drop(stdout);
    let run = live.ended();
    let cell = only(&run, "REPORT_MISSING", 25, "unexpected");
    assert!(message(cell).contains("look-alike"), "{cell:#}");
    let log = run.folder.join("private").join(format!("{}.log", cell["id"].as_str().unwrap()));
    assert!(std::fs::read_to_string(log).unwrap().contains(forged), "the raw output is kept");
}

/// A visibility under which some system calls are forbidden, and the folder that holds its profile.
fn forbidding(calls: &[&str], action: &str) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let profile = serde_json::json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{ "names": calls, "action": action }],
    });
    std::fs::write(&path, profile.to_string()).unwrap();
    (format!("visibility: [{{ name: strict, security: [\"seccomp={}\"] }}]", path.display()), folder)
}

#[test]
fn a_seccomp_profile_that_stops_the_checker_is_named() {
    // Everything that the runtime needs to get to the checker is allowed, but not what the checker does first.
    let (more, _folder) = forbidding(&["clone", "clone3", "vfork", "fork", "pipe2"], "SCMP_ACT_KILL_PROCESS");
    let run = sweep(&one_cell(PYTHON, &more));
    only(&run, "CHECKER_NOT_RUN", 24, "unexpected");
}

#[test]
fn a_fact_that_differs_is_named() {
    let run = sweep(&one_cell(
        PYTHON,
        "expect: [{ when: {}, code: TORCH_MISSING, facts: { runtime.python_version: \"2.7*\" } }]",
    ));
    let cell = only(&run, "TORCH_MISSING", 3, "unexpected");
    assert_eq!(cell["cause"]["id"], "fact-mismatch");
    assert!(cell["cause"]["summary"].as_str().unwrap().contains("runtime.python_version"), "{cell:#}");
}

#[test]
fn a_later_pass_keeps_every_attempt() {
    let run = {
        let mut prepared = prepare(&one_cell(PYTHON, ""));
        prepared.command.args(["--retries", "2"]);
        prepared.run()
    };
    let cell = only(&run, "TORCH_MISSING", 3, "unexpected");
    assert_eq!(cell["attempts"], 3);
    let journal = std::fs::read_to_string(run.folder.join("journal.jsonl")).unwrap();
    assert_eq!(journal.matches("attempt-finished").count(), 3);
}

#[test]
fn the_first_failure_can_end_the_sweep() {
    let more =
        "visibility: [{ name: a, env: { A: 1 } }, { name: b, env: { A: 2 } }, { name: c, env: { A: 3 } }]";
    let mut prepared = prepare(&one_cell(PYTHON, more));
    prepared.command.args(["--fail-fast", "--jobs", "1"]);
    let run = prepared.run();
    assert_eq!(run.status, Some(1));
    assert_eq!(run.summary["counts"]["unexpected"], 1);
    assert_eq!(run.summary["counts"]["not-run"], 2);
}
