//! The main job, as the README's first command does it: `matrices/quickstart.yaml` on the real engine.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::engine::{Sweep, gpusweep, sweep};

fn quickstart() -> Sweep {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/matrices/quickstart.yaml");
    sweep(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn the_quickstart_is_green_and_says_what_each_image_has() {
    let run = quickstart();
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.summary["schema"], "gpusweep.summary/1");
    assert_eq!(run.summary["green"], true);
    let expected = [
        ("bare", "0", "TORCH_MISSING", 3, "interpreter"),
        ("bare", "cpu", "TORCH_MISSING", 3, "interpreter"),
        ("python", "0", "TORCH_MISSING", 3, "import"),
        ("python", "cpu", "TORCH_MISSING", 3, "import"),
        ("torch-cpu", "0", "GPU_BACKEND_ABSENT", 5, "backend"),
        ("torch-cpu", "cpu", "CPU_CHECK_PASSED", 0, "complete"),
    ];
    for (image, device, code, exit, stage) in expected {
        let cell = run.cell(&[("image", image), ("device", device)]);
        let found = json!([
            cell["code"],
            cell["exit_code"],
            cell["container_exit_code"],
            cell["stage"],
            cell["verdict"]
        ]);
        assert_eq!(found, json!([code, exit, exit, stage, "expected"]), "{cell:#}");
    }
    every_cell_has_one_row(&run);
    the_computation_was_real(&run);
    the_folder_is_complete(&run);
    a_later_report_is_the_same(&run);
}

/// The journal knows each planned cell once, and so does the summary.
fn every_cell_has_one_row(run: &Sweep) {
    let plan: Value = serde_json::from_slice(&std::fs::read(run.folder.join("plan.json")).unwrap()).unwrap();
    let ids = |cells: &Value| -> Vec<String> {
        cells.as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&plan["cells"]), ids(&run.summary["cells"]));
    let counted: u64 =
        run.summary["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, run.cells().len() as u64);
    let baselines = run.cells().iter().filter(|cell| cell["image"] == "(host)").count();
    assert!(baselines > 0, "the host's own check is shown");
}

fn the_computation_was_real(run: &Sweep) {
    let report = run.report(run.cell(&[("image", "torch-cpu"), ("device", "cpu")]));
    assert_eq!(report["execution"]["loss"], 196.0);
    assert_eq!(report["execution"]["product_verified"], true);
    assert_eq!(report["execution"]["gradient_verified"], true);
    assert_eq!(report["execution"]["device"], "cpu");
    assert_eq!(report["pytorch"]["gpu_available"], Value::Null);
    assert_eq!(report["pytorch"]["visible_device_count"], Value::Null);
    assert!(report["pytorch"]["version"].as_str().unwrap().starts_with("1.13"));
}

fn the_folder_is_complete(run: &Sweep) {
    for name in ["matrix.yaml", "plan.json", "journal.jsonl", "summary.json", "reports", "private"] {
        assert!(run.folder.join(name).exists(), "{name}");
    }
    let private = std::fs::metadata(run.folder.join("private")).unwrap();
    assert_eq!(private.permissions().mode() & 0o777, 0o700);
    for cell in run.cells() {
        run.report(cell);
        assert!(run.folder.join("private").join(format!("{}.log", cell["id"].as_str().unwrap())).exists());
    }
}

fn a_later_report_is_the_same(run: &Sweep) {
    let output = gpusweep().arg("report").arg(&run.folder).args(["--format", "json"]).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again, run.summary);
    let output = gpusweep().arg("report").arg(&run.folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), run.stdout);
    assert!(run.stdout.contains("TORCH_MISSING 3"), "{}", run.stdout);
}

#[test]
fn without_an_engine_the_cells_are_blocked_and_the_host_is_still_checked() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/matrices/quickstart.yaml");
    let mut run = crate::engine::prepare(&std::fs::read_to_string(path).unwrap());
    run.command.env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let run = run.run();
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert_eq!(run.summary["green"], false);
    for cell in run.cells() {
        if cell["image"] == "(host)" {
            assert_eq!(cell["verdict"], "expected", "{cell:#}");
        } else {
            assert_eq!(cell["verdict"], "blocked");
            assert_eq!(cell["code"], "ENGINE_UNREACHABLE");
            assert_eq!(cell["exit_code"], 20);
        }
    }
    assert!(run.stdout.contains("ENGINE_UNREACHABLE"), "{}", run.stdout);
}
