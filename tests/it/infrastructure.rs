//! Engines that go away and come back, and GPUs that are leased: what decides on when a cell runs, and how often.
//!
//! A relay before the real engine stands for an engine that dies; device nodes that every machine has stand for a GPU's.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine::{Image, prepare, sweep};
use crate::relay::Relay;

/// What a sweep may take although an engine of its is gone.
const SOON: Duration = Duration::from_secs(60);

fn slow(name: &str) -> Image {
    let torch = format!("# {name}\nimport time\ntime.sleep(2)\nraise ValueError('slept')");
    Image::with_recipe(name, &[("/usr/lib/python3/dist-packages/torch/__init__.py", &torch)], "")
}

fn matrix(image: &str, hosts: &str) -> String {
    format!(
        "schema: gpusweep.matrix/1\nname: it\nimages: [{{ name: slow, ref: \"{image}\" }}]\n\
         visibility: [none, {{ name: a, shm_size: 65m }}, {{ name: b, shm_size: 66m }}, {{ name: c, shm_size: 67m }}]\n\
         hosts: {hosts}\nexpect: [{{ when: {{}}, code: TORCH_IMPORT_FAILED }}]\nlimits: {{ per_host: 2 }}\n"
    )
}

fn journal(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Waits until that many attempts have come to this step.
fn reached(folder: &Path, phase: &str, times: usize) {
    let deadline = Instant::now() + SOON;
    while journal(folder).iter().filter(|event| event["phase"] == phase).count() < times {
        assert!(Instant::now() < deadline, "no attempt came to {phase}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_engine_that_comes_back_costs_attempts_and_no_rows() {
    let (image, relay) = (slow("comes-back"), Relay::new());
    let hosts = format!("[\"unix://{}\"]", relay.socket().display());
    let live = prepare(&matrix(&image.reference, &hosts)).start();
    reached(&live.folder(), "running", 2);
    relay.cut();
    std::thread::sleep(Duration::from_millis(1200));
    relay.mend();
    let run = live.ended();
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    let attempts: Vec<u64> = run.cells().iter().map(|cell| cell["attempts"].as_u64().unwrap()).collect();
    assert!(attempts.iter().any(|attempts| *attempts > 1), "{attempts:?}");
    assert!(run.cells().iter().all(|cell| cell["flaky"] == false), "{:#}", run.summary);
}

#[test]
fn an_engine_that_stays_away_is_set_aside_and_the_others_go_on() {
    let (image, relay) = (slow("stays-away"), Relay::new());
    let hosts = format!("[local, {{ name: bad, endpoint: \"unix://{}\" }}]", relay.socket().display());
    let began = Instant::now();
    let live = prepare(&matrix(&image.reference, &hosts)).start();
    reached(&live.folder(), "running", 3);
    relay.cut();
    let run = live.ended();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let of = |host: &str| run.cells().iter().filter(|cell| cell["host"] == host).cloned().collect::<Vec<_>>();
    assert!(of("local").iter().all(|cell| cell["verdict"] == "expected"), "{}", run.stdout);
    let bad = of("bad");
    assert!(
        bad.iter().all(|cell| cell["code"] == "ENGINE_UNREACHABLE" && cell["verdict"] == "blocked"),
        "{:#}",
        run.summary
    );
    assert!(
        run.stdout.contains("host `bad` was set aside: its engine did not answer 4 times in a row"),
        "{}",
        run.stdout
    );
    assert_eq!(run.status, Some(1));
    // What the controller could not remove, as it was cut off, goes now.
    relay.mend();
    let cleaned = crate::engine::gpusweep()
        .args(["clean", "--host", &format!("unix://{}", relay.socket().display())])
        .output();
    assert!(cleaned.unwrap().status.success());
}

/// Cells that were under way at the same time, as pairs.
fn together(folder: &Path) -> BTreeSet<(String, String)> {
    let (mut under_way, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    for event in journal(folder) {
        let cell = event["cell"].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str() {
            Some("attempt-started") => {
                pairs.extend(under_way.iter().map(|other: &String| (other.clone(), cell.clone())));
                under_way.insert(cell);
            }
            Some("attempt-finished") => drop(under_way.remove(&cell)),
            _ => {}
        }
    }
    pairs
}

#[test]
fn no_two_cells_share_a_gpu_unless_the_matrix_says_so() {
    let gpus = |share: &str| {
        format!(
            "schema: gpusweep.matrix/1\nname: it\nimages: [{{ name: it, ref: \"localhost/gpusweep/bare:1\" }}]\n\
             visibility: [none, {{ name: none2, shm_size: 65m }}, {{ name: held1, devices: [/dev/zero] }}, {{ name: held2, devices: [/dev/full] }}]\n\
             expect: [{{ when: {{}}, code: TORCH_MISSING }}]\nlimits: {{ jobs: 4, per_host: 4{share} }}\n"
        )
    };
    let both = |pairs: &BTreeSet<(String, String)>, word: &str| {
        pairs.iter().any(|(a, b)| a.contains(word) && b.contains(word))
    };
    let leased = sweep(&gpus(""));
    assert_eq!(leased.status, Some(0), "{}", leased.stdout);
    let pairs = together(&leased.folder);
    assert!(!both(&pairs, ".held") && both(&pairs, ".none"), "{pairs:?}");
    let shared = together(&sweep(&gpus(", share: true")).folder);
    assert!(both(&shared, ".held"), "{shared:?}");
}
