//! Nothing that the user did not ask to share leaves the machine: canaries are planted wherever private things lie in a
//! real container, and looked for in everything that a run exports.

use std::path::{Path, PathBuf};

use crate::engine::{Image, gpusweep, one_cell, sweep};

/// Never stands in a report's allowed fields by chance.
const CANARY: &str = "canary7f3a";

/// Everything in a run folder but what is private by name, and the matrix, which is the user's own text.
fn exported(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.ends_with("private") || entry.ends_with("matrix.yaml") {
            continue;
        }
        if entry.is_dir() { files.extend(exported(&entry)) } else { files.push(entry) }
    }
    files
}

fn image() -> Image {
    // The error that reaches the report quotes everything private at once; the path to it is private too.
    let torch = format!(
        "import os, socket, sys\n\
         sys.path.append('/home/{CANARY}-user/{CANARY}-project')\n\
         from {CANARY}_module import fail\n\
         fail(' '.join([os.environ['API_KEY'], os.environ['HOME'], os.environ['DEPLOY_NOTE'], socket.gethostname(), __file__]))\n"
    );
    let module = format!(
        "def fail(text):\n    raise RuntimeError('cannot load ' + text + '\\n at /opt/{CANARY}-dir/libfoo.so.3 token={CANARY}-token')\n"
    );
    let package = format!("/usr/lib/python3/dist-packages/{CANARY}_package/__init__.py");
    let lines = format!(
        "ENV API_KEY={CANARY}-key DEPLOY_NOTE={CANARY}-note HOME=/home/{CANARY}-user USER={CANARY}-user\n\
         LABEL note={CANARY}-label\nWORKDIR /home/{CANARY}-user\n"
    );
    Image::with_recipe(
        "canary",
        &[
            ("/usr/lib/python3/dist-packages/torch/__init__.py", &torch),
            (&format!("/home/{CANARY}-user/{CANARY}-project/{CANARY}_module.py"), &module),
            (&package, ""),
        ],
        &lines,
    )
}

#[test]
fn no_exported_file_holds_what_is_private() {
    let image = image();
    let run = sweep(&one_cell(&image.reference, "checks: { device: [0, cpu] }"));
    for cell in run.cells() {
        assert_eq!(cell["code"], "TORCH_IMPORT_FAILED", "{cell:#}");
        let message = cell["first_error"]["message"].as_str().unwrap();
        assert!(message.contains("cannot load") && message.contains("libfoo.so.3"), "{message}");
        let log = run.folder.join("private").join(format!("{}.log", cell["id"].as_str().unwrap()));
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("Traceback") && log.contains(CANARY), "the raw error stays here: {log}");
    }
    let files = exported(&run.folder);
    assert!(files.len() >= 5, "{files:?}");
    for file in &files {
        holds_no_canary(&file.display().to_string(), &std::fs::read(file).unwrap());
    }
    holds_no_canary("stdout", run.stdout.as_bytes());
    for format in gpusweep::render::FORMATS.iter().map(|format| format.name) {
        let output = gpusweep().arg("report").arg(&run.folder).args(["--format", format]).output().unwrap();
        assert!(output.status.success());
        holds_no_canary(format, &output.stdout);
    }
}

fn holds_no_canary(name: &str, content: &[u8]) {
    let text = String::from_utf8_lossy(content);
    let found = text.find(CANARY).map(|at| &text[at.saturating_sub(60)..(at + 30).min(text.len())]);
    assert_eq!(found, None, "{name} holds something private");
}
