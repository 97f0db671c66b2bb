//! What the tests of real sweeps have in common: running the program, reading its run folder, making small images.
//!
//! Every sweep that is run here is checked to have left nothing on the engine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) fn gpusweep() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gpusweep"))
}

/// Runs `docker`, and returns what it printed.
pub(crate) fn docker(arguments: &[&str]) -> String {
    docker_on(None, arguments)
}

/// The same on another engine than this machine's own.
pub(crate) fn docker_on(socket: Option<&str>, arguments: &[&str]) -> String {
    let output = client(socket).args(arguments).output().expect("docker is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "docker {arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn client(socket: Option<&str>) -> Command {
    let mut client = Command::new("docker");
    client.args(socket.map(|socket| ["--host", socket]).into_iter().flatten());
    client
}

/// A sweep that was run.
pub(crate) struct Sweep {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) folder: PathBuf,
    pub(crate) summary: Value,
    work: Work,
}

/// The folder of one sweep, and the engine that it is on where that is not this machine's own. Where its test fails,
/// whatever the sweep left there is removed with it.
struct Work(TempDir, Option<String>);

impl Drop for Work {
    fn drop(&mut self) {
        if std::thread::panicking() {
            remove_run(&self.0.path().join("run"), self.1.as_deref());
        }
    }
}

/// A failing test tells of its own failure, so nothing here panics.
fn remove_run(folder: &Path, socket: Option<&str>) {
    let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let started: Option<Value> = journal.lines().nth(1).and_then(|line| serde_json::from_str(line).ok());
    let Some(run) = started.as_ref().and_then(|event| event["run"].as_str()) else { return };
    let label = format!("label=gpusweep={run}");
    let listed = |arguments: &[&str]| -> Vec<String> {
        let output = client(socket).args(arguments).args(["--quiet", "--filter", &label]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    };
    for container in listed(&["ps", "--all"]) {
        discard_on(socket, &["rm", "--force", "--volumes", &container]);
    }
    for volume in listed(&["volume", "ls"]) {
        discard_on(socket, &["volume", "rm", &volume]);
    }
}

/// Removes something that may be gone already.
fn discard(arguments: &[&str]) {
    discard_on(None, arguments);
}

fn discard_on(socket: Option<&str>, arguments: &[&str]) {
    let _ = client(socket).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// A container that a test made by itself, removed at its end.
pub(crate) struct Created(String);

impl Created {
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self(docker(&[&["create"], arguments].concat()))
    }

    /// Whether it is still there.
    pub(crate) fn is_there(&self) -> bool {
        !docker(&["ps", "--all", "--quiet", "--filter", &format!("id={}", self.0)]).is_empty()
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        discard(&["rm", "--force", "--volumes", &self.0]);
    }
}

/// A sweep at work, killed where its test fails.
pub(crate) struct Live {
    child: Option<Child>,
    prepared: Option<Prepared>,
}

impl Live {
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.prepared.as_ref().expect("it was prepared").folder()
    }

    /// As the kernel or a power cut would.
    pub(crate) fn kill(&mut self) {
        let child = self.child.as_mut().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Sweep {
        let output = self.child.take().expect("it runs").wait_with_output().unwrap();
        self.prepared.take().expect("it was prepared").ended(output)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A matrix in a folder of its own, and the command that sweeps it.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    work: Work,
}

/// Prepares `gpusweep run` on this matrix.
pub(crate) fn prepare(matrix: &str) -> Prepared {
    prepare_on(None, matrix)
}

/// The same for a matrix whose containers are on another engine than this machine's own.
pub(crate) fn prepare_on(socket: Option<&str>, matrix: &str) -> Prepared {
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("matrix.yaml");
    std::fs::write(&file, matrix).unwrap();
    let mut command = gpusweep();
    command.arg("run").arg(&file).arg("--out").arg(work.path().join("run"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Prepared { command, work: Work(work, socket.map(str::to_owned)) }
}

impl Prepared {
    pub(crate) fn folder(&self) -> PathBuf {
        self.work.0.path().join("run")
    }

    pub(crate) fn start(mut self) -> Live {
        Live { child: Some(self.command.spawn().unwrap()), prepared: Some(self) }
    }

    pub(crate) fn run(mut self) -> Sweep {
        let output = self.command.output().unwrap();
        self.ended(output)
    }

    /// Reads the run folder, and demands that nothing of the run is left.
    pub(crate) fn ended(self, output: Output) -> Sweep {
        let folder = self.folder();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = std::fs::read_to_string(folder.join("summary.json"));
        let text = text.unwrap_or_else(|error| panic!("no summary: {error}\n{stderr}"));
        let sweep = Sweep {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr,
            summary: serde_json::from_str(&text).unwrap(),
            folder,
            work: self.work,
        };
        sweep.nothing_is_left();
        sweep
    }
}

/// Runs a matrix to its end.
pub(crate) fn sweep(matrix: &str) -> Sweep {
    prepare(matrix).run()
}

impl Sweep {
    pub(crate) fn cells(&self) -> &Vec<Value> {
        self.summary["cells"].as_array().unwrap()
    }

    /// The one cell with these coordinates.
    pub(crate) fn cell(&self, coordinates: &[(&str, &str)]) -> &Value {
        let fits = |cell: &&Value| coordinates.iter().all(|(key, value)| cell[*key] == *value);
        let found: Vec<&Value> = self.cells().iter().filter(fits).collect();
        assert_eq!(found.len(), 1, "{coordinates:?} in {:#}", self.summary);
        found[0]
    }

    /// The report of a cell, as it lies in the run folder.
    pub(crate) fn report(&self, cell: &Value) -> Value {
        let path = self.folder.join("reports").join(format!("{}.json", cell["id"].as_str().unwrap()));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// The run's id, which labels its containers.
    pub(crate) fn run_id(&self) -> String {
        run_id(&self.folder)
    }

    fn nothing_is_left(&self) {
        nothing_is_left(self.work.1.as_deref(), &self.run_id());
    }
}

/// Demands that an engine has neither container nor volume of this run.
pub(crate) fn nothing_is_left(socket: Option<&str>, run: &str) {
    let label = format!("label=gpusweep={run}");
    assert_eq!(docker_on(socket, &["ps", "--all", "--quiet", "--filter", &label]), "", "containers are left");
    assert_eq!(docker_on(socket, &["volume", "ls", "--quiet", "--filter", &label]), "", "volumes are left");
}

/// The id of the run in this folder, from its journal.
pub(crate) fn run_id(folder: &Path) -> String {
    let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let started: Value = serde_json::from_str(journal.lines().nth(1).expect("a first event")).unwrap();
    started["run"].as_str().unwrap().to_owned()
}

/// A small image for one test, removed at its end.
pub(crate) struct Image {
    pub(crate) reference: String,
}

impl Image {
    /// `localhost/gpusweep/python:1` with further files: pairs of a path in the image and its content.
    pub(crate) fn with_files(name: &str, files: &[(&str, &str)]) -> Self {
        Self::with_recipe(name, files, "")
    }

    /// The same, with further lines of a Dockerfile.
    pub(crate) fn with_recipe(name: &str, files: &[(&str, &str)], lines: &str) -> Self {
        Self::on("python", name, files, lines)
    }

    /// The same, on another image of `images/`.
    pub(crate) fn on(base: &str, name: &str, files: &[(&str, &str)], lines: &str) -> Self {
        let mut recipe = format!("FROM localhost/gpusweep/{base}:1\n");
        let context = tempfile::tempdir().unwrap();
        for (number, (path, content)) in files.iter().enumerate() {
            std::fs::write(context.path().join(number.to_string()), content).unwrap();
            recipe.push_str(&format!("COPY {number} {path}\n"));
        }
        recipe.push_str(lines);
        Self::build(name, &recipe, context)
    }

    /// An image whose `torch` is this text: a double, where a real one cannot be made to behave so.
    pub(crate) fn with_torch(name: &str, torch: &str) -> Self {
        Self::with_files(name, &[("/usr/lib/python3/dist-packages/torch/__init__.py", torch)])
    }

    /// An image that says it is for another architecture. Made by hand, since an engine makes images for itself only.
    pub(crate) fn foreign(name: &str, architecture: &str) -> Self {
        let image = Self { reference: format!("localhost/gpusweep-test/{name}:{}", std::process::id()) };
        let config = serde_json::json!({ "architecture": architecture, "os": "linux", "config": {}, "rootfs": { "type": "layers", "diff_ids": [] } });
        let manifest =
            serde_json::json!([{ "Config": "config.json", "RepoTags": [image.reference], "Layers": [] }]);
        let work = tempfile::tempdir().unwrap();
        let archive = work.path().join("image.tar");
        let mut builder = tar::Builder::new(std::fs::File::create(&archive).unwrap());
        for (file, content) in [("config.json", config), ("manifest.json", manifest)] {
            std::fs::write(work.path().join(file), content.to_string()).unwrap();
            builder.append_path_with_name(work.path().join(file), file).unwrap();
        }
        builder.finish().unwrap();
        docker(&["load", "--input", archive.to_str().unwrap()]);
        image
    }

    /// An image with one file of this machine and nothing else.
    pub(crate) fn with_only(name: &str, file: &Path, place: &str) -> Self {
        let context = tempfile::tempdir().unwrap();
        std::fs::copy(file, context.path().join("file")).unwrap();
        Self::build(name, &format!("FROM scratch\nCOPY file {place}\n"), context)
    }

    fn build(name: &str, recipe: &str, context: TempDir) -> Self {
        let reference = format!("localhost/gpusweep-test/{name}:{}", std::process::id());
        std::fs::write(context.path().join("Dockerfile"), recipe).unwrap();
        docker(&["build", "--quiet", "--tag", &reference, context.path().to_str().unwrap()]);
        Self { reference }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        discard(&["rmi", "--force", &self.reference]);
    }
}

/// A matrix of one image under one visibility.
pub(crate) fn one_cell(reference: &str, more: &str) -> String {
    format!("schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"{reference}\" }}]\n{more}\n")
}
