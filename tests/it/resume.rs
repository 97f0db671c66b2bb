//! `gpusweep resume` on a real engine: after SIGKILL, after Ctrl-C, after the engine or the disk was gone, and where
//! something is another than it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::engine::{Image, docker, gpusweep, prepare};

const BARE: &str = "localhost/gpusweep/bare:1";

/// A sweep of many quick cells, some of which are not as expected.
const MANY: &str = r#"
schema: gpusweep.matrix/1
name: many
images: [{ name: bare, ref: "localhost/gpusweep/bare:1" }, { name: gone, ref: "localhost/gpusweep/gone:1" }]
visibility: [none, { name: masked, env: { CUDA_VISIBLE_DEVICES: "" } }, { name: shm, shm_size: 128m }]
checks: { device: [0, 1, 2, cpu] }
expect:
  - { when: { image: gone }, code: IMAGE_UNAVAILABLE }
  - { when: { device: 2 }, code: GPU_UNAVAILABLE }
  - { when: {}, code: TORCH_MISSING }
limits: { jobs: 2 }
"#;

fn resume(folder: &Path, more: &[&str]) -> Command {
    let mut command = gpusweep();
    command.arg("resume").arg(folder).args(more).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn summary(folder: &Path) -> Value {
    let output = gpusweep().arg("report").arg(folder).args(["--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What must be the same however often a run was interrupted.
fn results(summary: &Value) -> BTreeMap<String, Value> {
    let cells = summary["cells"].as_array().unwrap();
    let lasting = |cell: &Value| {
        let mut cell = cell.as_object().unwrap().clone();
        for passing in ["attempts", "duration_ms"] {
            cell.remove(passing);
        }
        Value::from(cell)
    };
    let results: BTreeMap<String, Value> =
        cells.iter().map(|cell| (cell["id"].as_str().unwrap().to_owned(), lasting(cell))).collect();
    assert_eq!(results.len(), cells.len(), "a cell has more than one row");
    results
}

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn left(folder: &Path) -> String {
    let run = run_of(folder);
    let label = format!("label=gpusweep={run}");
    docker(&["ps", "--all", "--quiet", "--filter", &label])
        + &docker(&["volume", "ls", "--quiet", "--filter", &label])
}

fn run_of(folder: &Path) -> String {
    let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let started = journal.lines().find(|line| line.contains("run-started")).unwrap();
    serde_json::from_str::<Value>(started).unwrap()["run"].as_str().unwrap().to_owned()
}

fn attempts(folder: &Path) -> BTreeMap<String, u64> {
    let summary = summary(folder);
    let cells = summary["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| {
            (cell["image"].to_string() + &cell["visibility"].to_string(), cell["attempts"].as_u64().unwrap())
        })
        .collect()
}

/// Moments that differ from run to run, without a generator of random numbers: the clock's last digits.
fn moment() -> Duration {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    Duration::from_micros(u64::from(nanos / 1000 % 450_000))
}

#[test]
fn fifty_kills_at_any_moment_lose_nothing_and_count_nothing_twice() {
    let undisturbed = prepare(MANY).run();
    assert_eq!(undisturbed.status, Some(1), "{}", undisturbed.stderr);

    let mut live = prepare(MANY).start();
    let folder = live.folder();
    std::thread::sleep(moment() / 2);
    live.kill();
    for _ in 1..50 {
        // Killed before there was a plan: nothing was promised yet.
        if !folder.join("plan.json").exists() {
            drop(std::fs::remove_dir_all(&folder));
            live = prepare(MANY).start();
            std::thread::sleep(moment() / 2);
            live.kill();
            continue;
        }
        let mut child = resume(&folder, &[]).spawn().unwrap();
        std::thread::sleep(moment());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let last = resume(&folder, &[]).output().unwrap();
    assert_eq!(last.status.code(), Some(1), "{}", text(&last));
    let parts = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap().matches("run-started").count();
    assert!(parts >= 5, "only {parts} kills met a sweep at work");
    let found = summary(&folder);
    assert_eq!(results(&found), results(&undisturbed.summary));
    assert_eq!(
        (&found["counts"], &found["state"]),
        (&undisturbed.summary["counts"], &Value::from("finished"))
    );
    assert_eq!(left(&folder), "");
    // A report in the folder is the one that its row stands for.
    for cell in found["cells"].as_array().unwrap().iter().filter(|cell| !cell["status"].is_null()) {
        let file = folder.join("reports").join(format!("{}.json", cell["id"].as_str().unwrap()));
        let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(report["code"], cell["code"]);
    }
    let again = resume(&folder, &[]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again).contains("nothing is left to run"), "{}", text(&again));
}

#[test]
fn a_finished_cell_is_not_run_again_after_ctrl_c() {
    let slow = Image::with_recipe(
        "slow-python",
        &[("/usr/lib/python3/dist-packages/torch/__init__.py", "import time; time.sleep(3)")],
        "",
    );
    let matrix = format!(
        "schema: gpusweep.matrix/1\nname: it\nimages: [{{ name: bare, ref: \"{BARE}\" }}, {{ name: slow, ref: \"{}\" }}]\n\
         expect: [{{ when: {{ image: bare }}, code: TORCH_MISSING }}, {{ when: {{}}, code: TORCH_IMPORT_FAILED }}]\n\
         limits: {{ jobs: 1 }}\n",
        slow.reference
    );
    let prepared = prepare(&matrix);
    let live = prepared.start();
    let folder = live.folder();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(folder.join("journal.jsonl"))
        .unwrap_or_default()
        .contains("attempt-finished")
    {
        assert!(std::time::Instant::now() < deadline, "the first cell never ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Still at work: a second controller is turned away.
    let second = resume(&folder, &[]).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second).contains("a sweep is at work in this run folder"), "{}", text(&second));
    let process = i32::try_from(live.process()).unwrap();
    assert!(Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap().success());
    let interrupted = live.ended();
    assert_eq!((interrupted.status, &interrupted.summary["counts"]["not-run"]), (Some(130), &1.into()));
    assert!(interrupted.stdout.contains("gpusweep resume"), "{}", interrupted.stdout);
    let last = resume(&folder, &[]).output().unwrap();
    assert_eq!(last.status.code(), Some(0), "{}", text(&last));
    let attempts = attempts(&folder);
    assert_eq!(attempts.values().copied().collect::<Vec<_>>(), [1, 2], "{attempts:?}");
    assert_eq!(left(&folder), "");
}

const THREE: &str = r#"
schema: gpusweep.matrix/1
name: three
images: [{ name: bare, ref: "IMAGE" }]
visibility: [none, { name: masked, env: { CUDA_VISIBLE_DEVICES: "" } }, { name: shm, shm_size: 128m }]
expect: [{ when: {}, code: TORCH_MISSING }]
"#;

#[test]
fn a_changed_matrix_runs_only_what_it_changes() {
    let run = prepare(&THREE.replace("IMAGE", BARE)).run();
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    // One exposure is another, one is gone, one is new, and what is expected of the rest is judged anew.
    let changed = THREE
        .replace("IMAGE", BARE)
        .replace("\"\" } }", "\"0\" } }")
        .replace("shm, shm_size", "more, shm_size");
    let changed = changed.replace("code: TORCH_MISSING", "code: [TORCH_MISSING, GPU_UNAVAILABLE]");
    std::fs::write(run.folder.join("matrix.yaml"), &changed).unwrap();
    let resumed = resume(&run.folder, &[]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed));
    let said = text(&resumed);
    assert!(said.contains("1 cell did not keep their result: the matrix was changed"), "{said}");
    assert!(said.contains("resuming: 2 of 4 cells are to run"), "{said}");
    let found = summary(&run.folder);
    let row = |visibility: &str| {
        let cells = found["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["visibility"] == visibility).unwrap();
        (cell["attempts"].as_u64().unwrap(), cell["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(row("none"), (1, "expected".into()));
    assert_eq!(row("masked"), (2, "expected".into()));
    assert_eq!(row("more"), (1, "expected".into()));
    assert_eq!(row("shm"), (1, "pruned".into()));
    // Back again: what was taken out runs, and what its other definition found does not stand for it.
    let file = run.folder.with_extension("yaml");
    std::fs::write(&file, THREE.replace("IMAGE", BARE)).unwrap();
    let back = resume(&run.folder, &["--matrix", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(back.status.code(), Some(0), "{}", text(&back));
    let found = summary(&run.folder);
    let verdicts: Vec<&Value> =
        found["cells"].as_array().unwrap().iter().map(|cell| &cell["verdict"]).collect();
    assert_eq!(verdicts, ["expected", "expected", "expected", "pruned"], "{found:#}");
    assert_eq!(found["green"], true);
}

#[test]
fn a_tag_that_stands_for_another_image_runs_again_and_so_does_everything_under_another_checker() {
    let tag = "localhost/gpusweep-test/moving:1";
    docker(&["tag", BARE, tag]);
    let _remove = Untag(tag);
    let matrix = THREE
        .replace("IMAGE", tag)
        .replace("images: [", &format!("images: [{{ name: still, ref: \"{BARE}\" }}, "));
    let run = prepare(&matrix).run();
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    docker(&["tag", "localhost/gpusweep/python:1", tag]);
    let resumed = resume(&run.folder, &[]).output().unwrap();
    assert!(
        text(&resumed).contains(
            "3 cells did not keep their result: `localhost/gpusweep-test/moving:1` is another image now"
        ),
        "{}",
        text(&resumed)
    );
    let by_image = |image: &str| {
        let found = summary(&run.folder);
        let cells = found["cells"].as_array().unwrap().iter().filter(|cell| cell["image"] == image);
        cells.map(|cell| cell["attempts"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((by_image("still"), by_image("bare")), (vec![1; 3], vec![2; 3]));

    // As if the last part had been run by another build.
    let journal = run.folder.join("journal.jsonl");
    let told = std::fs::read_to_string(&journal).unwrap();
    let digest = gpusweep::backend::checker::digest();
    assert!(told.contains(&digest));
    std::fs::write(&journal, told.replace(&digest, "0123456789ab")).unwrap();
    let resumed = resume(&run.folder, &[]).output().unwrap();
    assert!(
        text(&resumed).contains("6 cells did not keep their result: the checker is another one"),
        "{}",
        text(&resumed)
    );
    assert_eq!((by_image("still"), by_image("bare")), (vec![2; 3], vec![3; 3]));
}

struct Untag(&'static str);

impl Drop for Untag {
    fn drop(&mut self) {
        docker(&["rmi", self.0]);
    }
}

#[test]
fn what_an_engine_that_was_gone_kept_from_running_runs_once_it_is_back() {
    let work = tempfile::tempdir().unwrap();
    let socket = work.path().join("engine.sock");
    let matrix = format!("{}hosts: [\"unix://{}\"]\n", THREE.replace("IMAGE", BARE), socket.display());
    let gone = prepare(&matrix).run();
    assert_eq!((gone.status, &gone.summary["counts"]["blocked"]), (Some(3), &3.into()), "{}", gone.stderr);
    std::os::unix::fs::symlink("/var/run/docker.sock", &socket).unwrap();
    let back = resume(&gone.folder, &[]).output().unwrap();
    assert_eq!(back.status.code(), Some(0), "{}", text(&back));
    let found = summary(&gone.folder);
    assert_eq!((&found["counts"]["expected"], &found["cells"][0]["flaky"]), (&3.into(), &false.into()));
}

#[test]
fn a_torn_journal_and_a_full_disk_are_gone_on_from() {
    let run = prepare(&THREE.replace("IMAGE", BARE)).run();
    let journal = run.folder.join("journal.jsonl");
    let told = std::fs::read(&journal).unwrap();
    // As a power cut leaves it: the last lines are gone, and one is cut in two; zeros may stand in its place.
    let lines: Vec<&[u8]> = told.split_inclusive(|byte| *byte == b'\n').collect();
    let last_finished =
        lines.iter().rposition(|line| line.windows(16).any(|part| part == b"attempt-finished")).unwrap();
    for tail in [&lines[last_finished][..40], &[0; 64]] {
        std::fs::write(&journal, [&lines[..last_finished].concat(), tail].concat()).unwrap();
        let resumed = resume(&run.folder, &[]).output().unwrap();
        assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed));
        assert_eq!(results(&summary(&run.folder)), results(&run.summary));
    }
    // Damage elsewhere is no torn line: nothing is guessed.
    let damaged = [&lines[..2].concat(), &b"{}\n"[..], &lines[2..].concat()].concat();
    std::fs::write(&journal, &damaged).unwrap();
    let refused = resume(&run.folder, &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("journal.jsonl` line 3"), "{}", text(&refused));
    assert_eq!(std::fs::read(&journal).unwrap(), damaged);
}

/// Lines for other programs, of a run and of its resumed part.
#[test]
fn a_sweep_can_be_followed_line_by_line() {
    let mut prepared = prepare(&THREE.replace("IMAGE", BARE));
    prepared.command.args(["--format", "json-lines", "--only", "visibility=none"]);
    let run = prepared.run();
    let lines =
        |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let told = lines(&run.stdout);
    let events: Vec<&str> = told.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!((events.first(), events.last()), (Some(&"run-started"), Some(&"run-finished")));
    let finished = told.iter().find(|line| line["event"] == "attempt-finished").unwrap();
    assert_eq!(
        (&finished["row"]["code"], &finished["row"]["verdict"]),
        (&"TORCH_MISSING".into(), &"expected".into())
    );
    assert_eq!(finished.get("observation"), None);
    let last = told.last().unwrap();
    assert_eq!((&last["green"], &last["counts"]["expected"]), (&true.into(), &1.into()));
    let again = resume(&run.folder, &["--format", "json-lines"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&again.stdout), "", "nothing happens");
}

#[test]
fn what_is_no_run_folder_is_left_alone() {
    let work = tempfile::tempdir().unwrap();
    for folder in [work.path().to_owned(), work.path().join("nothing")] {
        let refused = resume(&folder, &[]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused).contains("is not a run folder"), "{}", text(&refused));
    }
    assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0);
}
