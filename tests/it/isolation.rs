//! What a cell may see of a GPU, in real containers: a leak is red whatever the code.
//!
//! Doubles: a node 1:3, which is /dev/null, stands for a GPU's node that opens; a module that claims to be torch stands for
//! one that finds a GPU. The engine, its volumes and its device control group are real.

use std::path::Path;
use std::process::Command;

use crate::engine::{Image, docker, one_cell, sweep};

/// An image whose volume carries device nodes, removed with it.
struct Carrying(&'static str);

impl Carrying {
    fn nodes(reference: &'static str, folder: &str, nodes: &[&str]) -> Self {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("root");
        let inside = root.join(folder.trim_start_matches('/'));
        std::fs::create_dir_all(&inside).unwrap();
        for node in nodes {
            run(Command::new("mknod").args(["-m", "666"]).arg(inside.join(node)).args(["c", "1", "3"]));
        }
        let archive = work.path().join("root.tar");
        run(Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg("."));
        let volume = format!("VOLUME {folder}");
        docker(&["import", "-c", &volume, "-c", "ENV PATH=/", text(&archive), reference]);
        Self(reference)
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        docker(&["rmi", "--force", self.0]);
    }
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const EXPECTED: &str = "expect: [{ when: {}, code: [TORCH_MISSING, GPU_CHECK_PASSED, GPU_UNAVAILABLE] }]";

#[test]
fn a_node_that_opens_where_nothing_was_given_is_a_leak_under_the_expected_code() {
    let image = Carrying::nodes("localhost/gpusweep-test/leak:1", "/dev/dri", &["renderD128"]);
    let run = sweep(&one_cell(image.0, EXPECTED));
    let cell = &run.cells()[0];
    assert_eq!(run.status, Some(1));
    assert_eq!((&cell["code"], &cell["verdict"]), (&"TORCH_MISSING".into(), &"unexpected".into()));
    assert_eq!(cell["leak"], "no GPU was given, and the checker opened /dev/dri/renderD128");
    assert_eq!(cell["cause"]["id"], "gpu-leak");
    assert!(run.stdout.starts_with("LEAK: 1 cell "), "{}", run.stdout);
}

/// Debian's Python with the double of torch, and that many GPUs; their UUIDs end in their indices.
fn with_double(name: &'static str, gpus: u32) -> Image {
    let double = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/checker/tests/doubles/torch");
        let place = format!("/usr/lib/python3/dist-packages/torch/{name}");
        (place, std::fs::read_to_string(folder.join(name)).unwrap())
    };
    let files = ["__init__.py", "version.py", "cuda.py"].map(double);
    let files: Vec<(&str, &str)> =
        files.iter().map(|(place, text)| (place.as_str(), text.as_str())).collect();
    Image::with_recipe(name, &files, &format!("ENV FAKE_GPUS={gpus} FAKE_CUDA=12.8\n"))
}

/// The variable stands for what NVIDIA's runtime would make of it.
#[test]
fn a_cell_that_is_pinned_by_uuid_is_green_with_that_gpu_alone() {
    let image = with_double("pinned-torch", 1);
    let pinned = |uuid: &str| {
        let visibility =
            format!("visibility: [{{ name: it, env: {{ NVIDIA_VISIBLE_DEVICES: {uuid} }} }}]\n{EXPECTED}");
        sweep(&one_cell(&image.reference, &visibility))
    };
    let own = pinned("GPU-00000000-0000-0000-0000-000000000000");
    assert_eq!(own.status, Some(0), "{}", own.stdout);
    let report = own.report(&own.cells()[0]);
    assert!(!report.to_string().contains("0000-0000"), "the UUID itself stays inside");
    let other = pinned("GPU-00000000-0000-0000-0000-000000000005");
    assert_eq!(other.status, Some(1), "{}", other.stdout);
    let leak = other.cells()[0]["leak"].as_str().unwrap();
    assert_eq!(leak, "GPUs were asked for by UUID, and 1 GPU there has another one");
}

#[test]
fn a_gpu_that_a_probe_finds_where_nothing_was_given_is_a_leak() {
    let image = with_double("leaking-torch", 2);
    let run = sweep(&one_cell(&image.reference, EXPECTED));
    assert_eq!(run.cells()[0]["code"], "GPU_CHECK_PASSED", "{}", run.stdout);
    assert_eq!(run.status, Some(1), "{}", run.stdout);
    assert_eq!(run.cells()[0]["leak"], "no GPU was given, and torch found 2 GPUs", "{:#}", run.summary);
}

#[test]
fn an_image_that_has_nothing_of_a_gpu_is_no_leak() {
    let image = Carrying::nodes("localhost/gpusweep-test/no-leak:1", "/data", &["renderD128"]);
    let run = sweep(&one_cell(image.0, EXPECTED));
    assert_eq!((run.status, &run.cells()[0]["leak"]), (Some(0), &serde_json::Value::Null), "{}", run.stdout);
}

/// What the engine did set, and what never came through, in one row: variables do, a limit of /dev/shm does not where
/// the host's is shared.
#[test]
fn a_row_says_at_which_layer_a_request_was_lost() {
    let visibility = "visibility: [{ name: it, ipc: host, shm_size: 1g, env: { CUDA_VISIBLE_DEVICES: '' } }]";
    let matrix = one_cell("localhost/gpusweep/python:1", "expect: [{ when: {}, code: TORCH_MISSING }]");
    let run = sweep(&format!("{matrix}\n{visibility}\n"));
    let cell = &run.cells()[0];
    let parted = cell["parted"].as_array().unwrap();
    assert_eq!(parted.len(), 1, "{cell:#}");
    assert_eq!(
        (&parted[0]["layer"], &parted[0]["requested"]),
        (&"container".into(), &"shm_size 1073741824".into())
    );
    assert_eq!(cell["observed"]["variables"]["CUDA_VISIBLE_DEVICES"], "");
    assert_eq!(run.status, Some(0));
}
