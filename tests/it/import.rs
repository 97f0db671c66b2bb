//! Imported matrices: realistic sources by snapshot, and errors and exit codes at the command line.

mod properties;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use gpusweep::matrix::import::{Keys, bake, github};
use serde_json::json;

use crate::engine::{gpusweep, sweep};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import").join(name)
}

fn run(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = gpusweep();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that ends on an error before it reads is no fault of the test.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What is imported from a fixture, what is said, and what `gpusweep plan` makes of it.
fn whole(arguments: &[&str], name: &str) -> String {
    let path = fixture(name);
    let arguments: Vec<&str> = [&["import"], arguments, &[path.to_str().unwrap()]].concat();
    let (status, matrix, said) = run(&arguments, "");
    assert_eq!(status, Some(0), "{said}");
    let (status, plan, wrong) = run(&["plan", "-"], &matrix);
    assert_eq!(status, Some(0), "{wrong}\n{matrix}");
    format!("{matrix}\n──── said\n{said}\n──── plan\n{plan}")
}

#[test]
fn a_bake_file_becomes_a_matrix_that_plans() {
    insta::assert_snapshot!(whole(&["bake"], "bake.json"));
}

#[test]
fn rows_of_github_become_a_matrix_that_plans() {
    insta::assert_snapshot!(whole(&["github"], "include.json"));
}

#[test]
fn axes_of_github_are_combined_and_keys_can_be_given() {
    let keys = ["github", "--image-key", "image.base_image", "--variant-key", "image.flavor"];
    insta::assert_snapshot!(whole(&keys, "axes.json"));
}

/// On the real engine: the repository's name tells that it is a CPU build, and so what it must answer where nothing is exposed.
#[test]
fn an_imported_matrix_runs_as_it_is() {
    let source = json!({ "target": { "torch": { "tags": ["localhost/gpusweep/torch-cpu:1"] } } });
    let run = sweep(&bake(&source.to_string(), "base").unwrap().matrix);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    let cell = &run.cells()[0];
    let told =
        ["image", "variant", "stack", "visibility", "code", "verdict"].map(|key| cell[key].as_str().unwrap());
    assert_eq!(told, ["torch", "cpu", "cpu", "none", "GPU_BACKEND_ABSENT", "expected"]);
}

#[test]
fn the_same_rows_are_read_wherever_they_stand() {
    let rows = json!([{ "image": "r.example/a:cu128" }, { "image": "r.example/a:cpu" }]);
    let bare = github(&rows.to_string(), "x", &Keys::default()).unwrap().matrix;
    for document in [
        json!({ "include": rows }),
        json!({ "matrix": { "include": rows } }),
        json!({ "strategy": { "fail-fast": true, "matrix": { "include": rows } } }),
    ] {
        assert_eq!(github(&document.to_string(), "x", &Keys::default()).unwrap().matrix, bare, "{document}");
    }
    let job = json!({ "name": "w", "on": "push", "jobs": { "a": { "steps": [] }, "b": { "strategy": { "matrix": { "include": rows } } } } });
    let workflow = github(&job.to_string(), "x", &Keys::default()).unwrap().matrix;
    assert_eq!(workflow.replace("job `b`, ", ""), bare);
}

#[test]
fn include_adds_to_what_the_axes_make_or_stands_alone_as_on_github() {
    // GitHub's own example of what `include` does, with an image in each.
    let source = json!({
        "image": ["r/apple:1", "r/pear:1"],
        "cuda": ["12.6", "12.8"],
        "include": [
            { "flavor": "cpu" },
            { "flavor": "rocm", "cuda": "12.8" },
            { "image": "r/banana:1" },
            { "image": "r/banana:1", "cuda": "13.0" },
        ],
    });
    let Err(error) =
        github(&source.to_string(), "x", &Keys { image: Some("shape".to_owned()), ..Keys::default() })
    else {
        panic!("a key that is not there was taken")
    };
    assert!(error.hint().contains("`cuda`, `flavor`, `image`"), "{error:?}");
    let imported = github(&source.to_string(), "x", &Keys::default()).unwrap();
    // Four combinations of two images, and two rows of a third one, of which nothing tells the stack: each image once.
    assert_eq!((imported.images, imported.warnings.len()), (3, 4), "{}", imported.matrix);
    assert!(imported.matrix.contains("row 5") && imported.warnings[2].contains("row 6"), "{imported:#?}");
}

#[test]
fn an_image_without_a_tag_takes_its_tag_or_whole_references_from_another_key() {
    for (row, expected) in [
        (json!({ "image": "r.example/a", "tag": "cu128" }), "r.example/a:cu128"),
        (json!({ "image": { "repository": "r.example/a", "tag": "cu128" } }), "r.example/a:cu128"),
        (json!({ "image": "r.example/a", "tags": ["latest", "cu128"] }), "r.example/a:cu128"),
        (
            json!({ "image": "r.example/a", "tags": "r.example/a:latest\nr.example/a:rocm6.4" }),
            "r.example/a:rocm6.4",
        ),
        (json!({ "image": "r.example/a:1", "tag": "cu128" }), "r.example/a:1"),
        (json!({ "image": "r.example/a", "container": "ubuntu:24.04" }), "r.example/a"),
        (
            json!({ "container": { "image": "r.example/a:1" }, "base_image": "nvidia/cuda:12.8.1-base" }),
            "r.example/a:1",
        ),
        (
            json!({ "base_image": "nvidia/cuda:12.8.1-base", "platform": "linux/amd64" }),
            "nvidia/cuda:12.8.1-base",
        ),
        (json!({ "built": "r.example/a:1", "platform": "linux/amd64", "file": "docker/a" }), "r.example/a:1"),
        (json!({ "image": "ubuntu", "ref": "main" }), "ubuntu"),
    ] {
        let imported = github(&json!([row]).to_string(), "x", &Keys::default())
            .unwrap_or_else(|error| panic!("{row}: {error}"));
        assert!(imported.matrix.contains(&format!("ref: \"{expected}\"")), "{row}\n{}", imported.matrix);
    }
}

/// The error of input that cannot be imported: exit 2, nothing on stdout, one error with a way out.
fn refused(arguments: &[&str], input: &str) -> String {
    let (status, stdout, stderr) = run(&[&["import"], arguments].concat(), input);
    assert_eq!((status, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    assert!(stderr.contains("\nhint: "), "{stderr}");
    stderr
}

#[test]
fn errors_name_what_is_wrong_and_the_way_out() {
    let rows = r#"[{"image": "r/a:1", "cuda": 128}]"#;
    let two = r#"[{"first": "r/a:1", "second": "r/b:1"}]"#;
    let told: Vec<String> = [
        (&["bake", "-"][..], ""),
        (&["bake", "-"], "#1 [internal] load\n{}"),
        (&["bake", "-"], "{}"),
        (&["bake", "-"], rows),
        (&["bake", "-"], r#"{"target": {}}"#),
        (&["bake", "-"], r#"{"target": {"a": {"tags": ["r/a:${TAG}"]}, "b": {"tags": null}}}"#),
        (&["github", "-"], r#"{"target": {"a": {"tags": ["r/a:1"]}}}"#),
        (&["github", "-"], "[]"),
        (&["github", "-"], "[1]"),
        (&["github", "-"], r#"{"include": {}}"#),
        (&["github", "-"], r#"{"strategy": {"matrix": "${{ fromJSON(needs.plan.outputs.matrix) }}"}}"#),
        (&["github", "-"], r#"[{"cuda": "12.8", "tag": "2.9"}]"#),
        (&["github", "-"], two),
        (&["github", "-"], r#"[{"image": "ghcr.io/${{ github.repository }}:1"}, {"image": ""}]"#),
        (&["github", "--image-key", "imge", "-"], rows),
        (&["github", "--variant-key", "\u{1b}[31mflavor", "-"], rows),
        (&["github", "--image-key", "cuda", "-"], r#"[{"image": "r/a:1", "cuda": "A:B:C"}]"#),
        (&["bake", "/nonexistent.json"], ""),
    ]
    .iter()
    .map(|(arguments, input)| format!("{arguments:?} {input}\n{}", refused(arguments, input)))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn out_is_written_once_and_never_over_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m.yaml");
    let (source, path) = (fixture("bake.json"), out.to_str().unwrap());
    let arguments = ["import", "bake", source.to_str().unwrap(), "--out", path];
    let (status, stdout, stderr) = run(&arguments, "");
    assert_eq!((status, stdout.as_str()), (Some(0), ""), "{stderr}");
    assert!(stderr.ends_with(&format!("5 images imported; next: gpusweep plan {path}\n")), "{stderr}");
    let first = std::fs::read_to_string(&out).unwrap();
    assert_eq!(run(&["plan", path], "").0, Some(0));
    assert!(refused(&arguments[1..], "").contains("already exists"));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), first);
    // Nothing is created where nothing could be imported.
    let other = folder.path().join("other.yaml");
    refused(&["bake", "-", "--out", other.to_str().unwrap()], "{}");
    assert!(!other.exists());
    refused(&["bake", source.to_str().unwrap(), "--out", "/nonexistent/m.yaml"], "");
}
