//! Runs the checker beside doubles, and holds every run to what must always be so.
//!
//! Main types: [`Checker`], a run to be; [`Outcome`], what it gave. Each run has a marker in its environment, which every
//! process below it inherits: none may be left when the checker is gone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gpusweep_report::{Code, Outcome as CheckOutcome, Report, Stage};

/// Name of the marker.
const MARK: &str = "GPUSWEEP_TEST_MARK";

/// Told to the test binary when it is to be a checker with short limits; see [`Checker::with_short_import`].
const SHORT: &str = "GPUSWEEP_TEST_ARGUMENTS";

static RUNS: AtomicU32 = AtomicU32::new(0);

/// A run of the checker.
pub(crate) struct Checker {
    command: Command,
    arguments: Vec<OsString>,
    mark: String,
    short_import: bool,
    /// Working directory of the run, empty unless a test fills it.
    pub(crate) folder: tempfile::TempDir,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) line: String,
    pub(crate) elapsed: Duration,
}

impl Checker {
    /// One without arguments, in an environment that holds nothing but PATH and the marker.
    pub(crate) fn new() -> Self {
        let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().expect("a folder for the run");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpusweep-checker"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env(MARK, &mark);
        command.current_dir(folder.path()).stdin(Stdio::null());
        Self { command, arguments: Vec::new(), mark, short_import: false, folder }
    }

    /// One beside the double of torch, which has this many GPUs of a CUDA build.
    pub(crate) fn with_gpus(count: u32) -> Self {
        Self::new().double().env("FAKE_CUDA", "12.8").env("FAKE_GPUS", count.to_string())
    }

    /// One that asks for the CPU beside the double of a torch without GPU backend.
    pub(crate) fn on_cpu() -> Self {
        Self::new().double().args(["--device", "cpu"])
    }

    pub(crate) fn double(self) -> Self {
        self.env("PYTHONPATH", doubles())
    }

    /// What is to go wrong in the double.
    pub(crate) fn fault(self, steps: &str) -> Self {
        self.env("FAKE_TORCH", steps)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With one second for the import. The program has no such option, so the test binary becomes a checker that was
    /// linked with other limits: [`checker_with_short_limits`].
    pub(crate) fn with_short_import(mut self) -> Self {
        self.short_import = true;
        self
    }

    /// The command, for tests that need more than a run to its end.
    pub(crate) fn into_command(mut self) -> (Command, tempfile::TempDir, String) {
        if self.short_import {
            let mut other = Command::new(std::env::current_exe().expect("this test binary"));
            other.args(["--exact", "harness::checker_with_short_limits", "--ignored", "--nocapture"]);
            other.env_clear().current_dir(self.folder.path()).stdin(Stdio::null());
            for (name, value) in self.command.get_envs() {
                other.env(name, value.unwrap_or_default());
            }
            other.env(SHORT, self.arguments.join(OsStr::new("\n")));
            return (other, self.folder, self.mark);
        }
        self.command.args(&self.arguments);
        (self.command, self.folder, self.mark)
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Outcome {
        self.run_keeping_folder().0
    }

    pub(crate) fn run_keeping_folder(self) -> (Outcome, tempfile::TempDir) {
        let short = self.short_import;
        let start = Instant::now();
        let (mut command, folder, mark) = self.into_command();
        let output = command.output().expect("the checker starts");
        let elapsed = start.elapsed();
        let stdout = String::from_utf8(output.stdout).expect("a report is UTF-8");
        let stdout = if short { report_among_test_output(&stdout) } else { stdout };
        let exit = if short { None } else { output.status.code() };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.is_empty() || exit != Some(0), "a check that holds says nothing on stderr: {said}");
        nothing_is_left(&mark);
        (read(&stdout, exit, elapsed), folder)
    }
}

/// What every report must be, whatever happened.
pub(crate) fn read(stdout: &str, exit: Option<i32>, elapsed: Duration) -> Outcome {
    let line = stdout.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {stdout:?}"));
    assert!(!line.contains('\n'), "more than one line: {stdout}");
    let report = Report::parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    if let Some(exit) = exit {
        assert_eq!(exit, i32::from(report.exit_code), "exit status and report differ: {line}");
    }
    assert_eq!(report.first_error.is_none(), report.code.passed(), "{line}");
    Outcome { report, line: line.to_owned(), elapsed }
}

impl Outcome {
    /// Holds code and stage to the expected ones.
    #[track_caller]
    pub(crate) fn expect(&self, code: Code, stage: Stage) -> &Self {
        assert_eq!((self.report.code, self.report.stage), (code, stage), "{}", self.line);
        self
    }

    /// Holds the first error to the expected class, and to a text that it contains.
    #[track_caller]
    pub(crate) fn expect_error(&self, kind: &str, text: &str) -> &Self {
        let error = self.report.first_error.as_ref().unwrap_or_else(|| panic!("no error: {}", self.line));
        assert_eq!(error.kind, kind, "{}", self.line);
        assert!(error.message.contains(text), "no `{text}` in: {}", self.line);
        self
    }

    /// Stages with this outcome.
    pub(crate) fn stages(&self, outcome: CheckOutcome) -> Vec<Stage> {
        self.report.checks.iter().filter(|check| check.outcome == outcome).map(|check| check.name).collect()
    }
}

/// Processes with the marker of a run.
pub(crate) fn processes_of(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    })
    .collect()
}

#[track_caller]
pub(crate) fn nothing_is_left(mark: &str) {
    assert_eq!(processes_of(mark), Vec::<i32>::new(), "processes are left");
}

/// The folder with the double of torch.
pub(crate) fn doubles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doubles")
}

/// An executable file with this text.
pub(crate) fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a program");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn report_among_test_output(stdout: &str) -> String {
    let line = stdout.lines().find(|line| line.starts_with('{'));
    format!("{}\n", line.unwrap_or_else(|| panic!("no report: {stdout}")))
}

/// Not a test: a checker with short limits, run by the tests in a process of its own.
#[test]
#[ignore = "a helper program of other tests"]
fn checker_with_short_limits() {
    let Some(arguments) = std::env::var_os(SHORT) else { return };
    let arguments = arguments.into_string().expect("arguments");
    let arguments = arguments.split('\n').filter(|argument| !argument.is_empty());
    let Ok(gpusweep_checker::Asks::Check(options)) =
        gpusweep_checker::Options::parse(arguments.map(Into::into))
    else {
        panic!("no check");
    };
    let limits = gpusweep_checker::Limits { import: Duration::from_secs(1), ..Default::default() };
    // On a line of its own, behind what the test harness printed.
    println!();
    std::process::exit(i32::from(gpusweep_checker::run(&options, &limits)));
}
