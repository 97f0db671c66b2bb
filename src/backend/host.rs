//! This machine itself, without a container: the baseline that tells a host's fault from a container's.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gpusweep_report::frame::{self, Key};
use rustix::process::{Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

use super::docker::{CHECKER, checker_arguments, quoted};
use super::leftovers::{self, Leftovers};
use super::report::{Ended, attempt, key};
use super::{Attempt, AttemptContext, Backend, checker};
use crate::model::{Applied, Cell, Fault, FaultKind, Observation, Phase};

/// What is kept of each of the checker's two streams.
const STREAM_BYTES: u64 = 1 << 20;

/// How long the checker may take to end its worker and itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Runs the checker as a child of this process.
#[derive(Default)]
pub(super) struct HostBackend {
    checker: OnceCell<Result<Installed, String>>,
}

/// The checker as a file of this run, and the folder that goes with it.
struct Installed {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn install() -> std::io::Result<Installed> {
    let folder = tempfile::Builder::new().prefix("gpusweep-").tempdir()?;
    Ok(Installed { path: checker::install(folder.path())?, _folder: folder })
}

impl Backend for HostBackend {
    fn prepare(&self) -> BoxFuture<'_, usize> {
        // One at a time: baselines are compared with each other, and share the machine with its containers.
        async { 1 }.boxed()
    }

    fn attempt<'a>(&'a self, cell: &'a Cell, context: AttemptContext) -> BoxFuture<'a, Attempt> {
        async move {
            context.reach(Phase::Prepare);
            let installed =
                self.checker.get_or_init(|| async { install().map_err(|error| error.to_string()) });
            match installed.await {
                Ok(installed) => run(&installed.path, cell, &context).await,
                Err(error) => not_run(Phase::Prepare, error),
            }
        }
        .boxed()
    }

    fn digest<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        async { None }.boxed()
    }

    fn finish(&self) -> BoxFuture<'_, Vec<String>> {
        // The folder goes with the back end.
        async { Vec::new() }.boxed()
    }
}

/// The line that runs the same check by hand.
pub(super) fn command(cell: &Cell) -> String {
    let arguments: Vec<String> = checker_arguments(cell).iter().map(|argument| quoted(argument)).collect();
    format!("{CHECKER} {}", arguments.join(" "))
}

fn not_run(phase: Phase, error: &str) -> Attempt {
    let fault = Fault { kind: FaultKind::CheckerNotRun, message: gpusweep_report::one_line(error, &[]) };
    Attempt::bare(Observation::NotStarted { phase, fault }, error)
}

async fn run(checker: &std::path::Path, cell: &Cell, context: &AttemptContext) -> Attempt {
    context.reach(Phase::Start);
    let key = match key() {
        Ok(key) => key,
        Err(fault) => return not_run(Phase::Start, &fault.message),
    };
    let leftovers = Leftovers::of(&key);
    let mut command = Command::new(checker);
    command.env(frame::VARIABLE, key.to_variable()).env(leftovers::VARIABLE, leftovers.mark());
    command.args(checker_arguments(cell)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C in a terminal reaches a whole group: the checker must end when the sweep says so, not by itself.
    command.process_group(0).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_run(Phase::Start, &error.to_string()),
    };
    context.reach(Phase::Running);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let both = async { tokio::join!(drain(stdout), drain(stderr), child.wait()) };
    let attempt = tokio::select! {
        biased;
        () = context.cancel.cancelled() => {
            stop(&mut child).await;
            Attempt::bare(Observation::Cancelled { phase: Phase::Running }, Vec::new())
        }
        () = tokio::time::sleep(cell.limits.cell_timeout) => {
            stop(&mut child).await;
            let observation = Observation::TimedOut { phase: Phase::Running, applied: Applied::default() };
            Attempt::bare(observation, Vec::new())
        }
        (stdout, stderr, status) = both => match status {
            Ok(status) => judge(cell, &key, &stdout, &stderr, status),
            Err(error) => not_run(Phase::Running, &error.to_string()),
        },
    };
    // A checker that was killed could not end its worker.
    leftovers.end().await;
    attempt
}

/// Reads a stream to its end, and keeps its beginning.
async fn drain(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(STREAM_BYTES).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    kept
}

/// Asks the checker to end its worker and itself, and kills it where it does not.
async fn stop(child: &mut Child) {
    let process = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        let _ = kill_process(process, Signal::TERM);
        // One that its worker stopped hears nothing until it is let go on.
        let _ = kill_process(process, Signal::CONT);
    }
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

fn judge(cell: &Cell, key: &Key, stdout: &[u8], stderr: &[u8], status: ExitStatus) -> Attempt {
    use std::os::unix::process::ExitStatusExt as _;
    // As a shell and an engine tell a signal.
    let exit = i64::from(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    let applied = Applied::default();
    attempt(cell, Ended { key, stdout, log: [stdout, stderr].concat(), exit, oom_killed: false, applied })
}
