//! Whatever happens to a sweep, nothing of it stays on the engine, and nobody else's things are touched.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::engine::{Created, Image, docker, gpusweep, one_cell, prepare, run_id};
use crate::faults::running_container;

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_leaves_every_row_and_no_container() {
    let image = Image::with_torch("interrupted", "import time\ntime.sleep(600)\n");
    let more = "visibility: [{ name: a, env: { A: 1 } }, { name: b, env: { A: 2 } }]";
    let mut prepared = prepare(&one_cell(&image.reference, more));
    prepared.command.args(["--jobs", "1"]);
    let live = prepared.start();
    running_container(&live.folder());
    let began = std::time::Instant::now();
    signal("INT", live.process());
    let run = live.ended();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(run.status, Some(130), "{}", run.stderr);
    assert_eq!(run.summary["green"], false);
    assert_eq!(run.summary["counts"]["not-run"], 2);
    assert_eq!(run.cells().len(), 2);
    assert_eq!(run.cell(&[("visibility", "a")])["code"], "CANCELLED");
}

#[test]
fn ctrl_c_before_anything_runs_leaves_nothing() {
    let live = prepare(&one_cell("localhost/gpusweep/python:1", "")).start();
    while !live.folder().exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal("TERM", live.process());
    // Signals are listened for before the folder is made, so the rows are written down however early one comes.
    let run = live.ended();
    assert_eq!(run.status, Some(130), "{}", run.stderr);
    assert_eq!(run.summary["counts"]["not-run"], 1);
}

#[test]
fn clean_removes_what_a_killed_sweep_left_and_nothing_else() {
    let image = Image::with_torch("crashed", "import time\ntime.sleep(600)\n");
    let mut live = prepare(&one_cell(&image.reference, "")).start();
    let container = running_container(&live.folder());
    let bystander = Created::new(&["localhost/gpusweep/python:1"]);

    let at_work = gpusweep().arg("clean").output().unwrap();
    assert!(String::from_utf8_lossy(&at_work.stderr).contains("still at work"), "{at_work:?}");
    assert_eq!(docker(&["ps", "--quiet", "--filter", &format!("id={container}")]), container);

    live.kill();
    let label = format!("label=gpusweep={}", run_id(&live.folder()));
    assert_ne!(docker(&["ps", "--quiet", "--filter", &label]), "");
    let cleaned = gpusweep().arg("clean").stderr(Stdio::inherit()).output().unwrap();
    assert_eq!(cleaned.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&cleaned.stdout).lines().count() >= 2, "a container and a volume");
    assert_eq!(docker(&["ps", "--all", "--quiet", "--filter", &label]), "");
    assert_eq!(docker(&["volume", "ls", "--quiet", "--filter", &label]), "");
    assert!(bystander.is_there());
}
