//! `gpusweep compare` on real runs.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::engine::{gpusweep, one_cell, sweep};

fn compare(base: &Path, head: &Path, more: &[&str]) -> Output {
    gpusweep().arg("compare").args([base, head]).args(more).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_regression_is_told_first_and_ends_with_one() {
    let of = |code: &str| {
        sweep(&one_cell("localhost/gpusweep/bare:1", &format!("expect: [{{ when: {{}}, code: {code} }}]")))
    };
    let (green, red) = (of("TORCH_MISSING"), of("GPU_UNAVAILABLE"));
    let worse = compare(&green.folder, &red.folder, &[]);
    assert_eq!(worse.status.code(), Some(1));
    assert!(
        stdout(&worse).starts_with(
            "Regressions\n  it none local 0: TORCH_MISSING expected -> TORCH_MISSING UNEXPECTED"
        ),
        "{}",
        stdout(&worse)
    );
    let better = compare(&red.folder, &green.folder, &[]);
    assert_eq!(better.status.code(), Some(0));
    assert!(stdout(&better).starts_with("Fixed\n"), "{}", stdout(&better));
    let same = compare(&green.folder, &green.folder, &["--format", "json"]);
    assert_eq!(same.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&same.stdout).unwrap();
    assert_eq!((&document["unchanged"], &document["changes"]), (&1.into(), &Value::Array(Vec::new())));
    let schema = gpusweep().args(["schema", "comparison"]).output().unwrap().stdout;
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let worse: Value =
        serde_json::from_slice(&compare(&green.folder, &red.folder, &["--format", "json"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&worse), "{worse:#}");
}

#[test]
fn what_is_no_run_folder_is_named() {
    let nowhere = Path::new("/nowhere");
    let refused = compare(nowhere, nowhere, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`/nowhere` is not a run folder"));
}
