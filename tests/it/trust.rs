//! What must never come out green, be lost, or be touched: cases that once did.

use std::process::Stdio;

use crate::engine::{Created, Image, docker, gpusweep, one_cell, prepare, sweep};

const PYTHON: &str = "localhost/gpusweep/python:1";

/// A program that prints what a passing checker would print.
fn forged() -> String {
    let report = serde_json::json!({
        "schema": "gpusweep.report/1", "checker_version": env!("CARGO_PKG_VERSION"), "status": "passed",
        "code": "CPU_CHECK_PASSED", "exit_code": 0, "stage": "complete",
        "request": { "device": "cpu", "timeout_s": 30, "probe": "auto" },
        "runtime": null, "pytorch": null, "exposure": null, "host_check": null,
        "execution": { "device": "cpu", "product_verified": true, "gradient_verified": true, "loss": 196.0 },
        "checks": [], "first_error": null, "cause": null
    });
    format!("#!/bin/sh\necho '{report}'\n")
}

#[test]
fn an_image_cannot_put_its_own_file_over_the_checker() {
    let lines = "RUN chmod 755 /a/b/gpusweep-checker && ln -s /a/b /.gpusweep\nVOLUME /a/b\n";
    let evil = Image::with_recipe("evil", &[("/a/b/gpusweep-checker", &forged())], lines);
    let run = sweep(&format!(
        "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: evil, ref: \"{}\" }}, {{ name: good, ref: \"{PYTHON}\" }}]\n\
         checks: {{ device: cpu }}\nlimits: {{ jobs: 1 }}\n",
        evil.reference
    ));
    for image in ["evil", "good"] {
        assert_eq!(run.cell(&[("image", image)])["code"], "TORCH_MISSING", "{:#}", run.summary);
    }
    assert_eq!(run.status, Some(1));
}

#[test]
fn a_file_where_the_checker_used_to_lie_harms_nobody() {
    let blocker = Image::with_recipe("blocker", &[], "RUN echo x > /.gpusweep\n");
    let run = sweep(&one_cell(&blocker.reference, "expect: [{ when: {}, code: TORCH_MISSING }]"));
    assert_eq!(run.status, Some(0), "{}", run.stdout);
}

/// The worker shares a process space with the checker, which is PID 1 and writes the report.
#[test]
fn the_worker_cannot_reach_into_the_checker() {
    let torch = "
doors = []
for path in ('/proc/1/fd/1', '/proc/1/fd/2', '/proc/1/mem', '/proc/1/environ'):
    try:
        open(path, 'rb' if path.endswith('environ') else 'r+b', buffering=0).read(1)
        doors.append(path.rsplit('/', 1)[1])
    except OSError:
        pass
raise ValueError('open doors: %s' % doors)
";
    let image = Image::with_torch("doors", torch);
    let run = sweep(&one_cell(&image.reference, "expect: [{ when: {}, code: TORCH_IMPORT_FAILED }]"));
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    let report = run.report(&run.cells()[0]);
    assert_eq!(report["first_error"]["message"], "open doors: []");
}

#[test]
fn volumes_of_an_image_go_with_its_containers() {
    let names = || -> Vec<String> {
        docker(&["volume", "ls", "--quiet"])
            .lines()
            .filter(|name| name.len() == 64)
            .map(str::to_owned)
            .collect()
    };
    let image = Image::with_recipe("volumes", &[], "VOLUME /data /data2\n");
    let before = names();
    let run = sweep(&one_cell(&image.reference, "expect: [{ when: {}, code: TORCH_MISSING }]"));
    assert_eq!(run.status, Some(0));
    let after: Vec<String> = names().into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(after, Vec::<String>::new());
}

#[test]
fn a_broken_stderr_changes_no_outcome() {
    let mut prepared = prepare(&one_cell(PYTHON, "expect: [{ when: {}, code: TORCH_MISSING }]"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    prepared.command.stderr(Stdio::from(full));
    assert_eq!(prepared.run().status, Some(0));
}

#[test]
fn nothing_but_missing_images_is_never_green() {
    let run = sweep(&one_cell(
        "localhost/gpusweep-test/never-made:1",
        "expect: [{ when: {}, code: IMAGE_UNAVAILABLE }]",
    ));
    assert_eq!(run.cells()[0]["verdict"], "expected");
    assert_eq!(run.summary["green"], false);
    assert_eq!(run.status, Some(1));
}

#[test]
fn a_dead_engine_is_told_from_failing_rows_whatever_else_is_planned() {
    let matrix = format!(
        "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"{PYTHON}\" }}]\n\
         variants: {{ rocm: {{ stack: rocm }} }}\nvisibility: [none, nvidia-all]\n"
    );
    let mut prepared = prepare(&matrix);
    prepared.command.env("DOCKER_HOST", "unix:///nonexistent.sock");
    let run = prepared.run();
    assert_eq!(run.summary["counts"]["pruned"], 1);
    assert_eq!(run.status, Some(3), "{}", run.stderr);
}

#[test]
fn two_hosts_may_be_one_engine() {
    let route = gpusweep::backend::docker::route(&gpusweep::model::Endpoint::Current).unwrap();
    let gpusweep::backend::docker::Route::Unix(socket) = route else { panic!("{route:?} is no socket") };
    let more = format!(
        "hosts: [local, {{ name: again, endpoint: \"unix://{socket}\" }}]\nexpect: [{{ when: {{}}, code: TORCH_MISSING }}]"
    );
    let run = sweep(&one_cell(PYTHON, &more));
    assert_eq!(run.cells().len(), 2);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
}

#[test]
fn clean_leaves_what_only_inherits_the_label() {
    let image = Image::with_recipe("labelled", &[], "LABEL gpusweep=theirs\n");
    let theirs = Created::new(&[&image.reference]);
    let ours = Created::new(&["--label", "gpusweep=crashed", PYTHON]);
    let output = gpusweep().arg("clean").output().unwrap();
    assert!(theirs.is_there(), "{output:?}");
    assert!(!ours.is_there(), "{output:?}");
}

#[test]
fn a_secret_of_the_matrix_is_in_no_summary() {
    let more = "visibility: [{ name: secret, env: { HF: hf_abcdefghijklmnopqrst, DB_TOKEN: canary1, LINK: \"https://u:canary2@host/x\" } }]\n\
                expect: [{ when: {}, code: TORCH_MISSING }]";
    let run = sweep(&one_cell(PYTHON, more));
    assert_eq!(run.status, Some(0));
    let summary = run.summary.to_string();
    for secret in ["hf_abcdefghijklmnopqrst", "canary1", "canary2"] {
        assert!(!summary.contains(secret) && !run.stdout.contains(secret), "{secret}: {summary}");
    }
}
