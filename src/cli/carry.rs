//! What `run` and `resume` have in common: carrying out cells, and concluding.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Outcome;
use super::failure::Failure;
use super::options::{Color, SweepOptions};
use super::record::{RecordError, Recorder};
use super::stream::{self, Stream};
use super::sweep::commands;
use super::terminal::{self, say};
use crate::backend;
use crate::exit::Exit;
use crate::journal::RunFolder;
use crate::ledger::Ledger;
use crate::model::{BackendKind, CellCode, Code};
use crate::plan::Plan;
use crate::progress::{Progress, Voice};
use crate::render::{self, View};
use crate::run::{Backends, End, Options, Start};
use crate::summary::Summary;
use crate::table::Layout;

/// What a part of a run works on.
pub(super) struct Part<'a> {
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a mut RunFolder,
    pub(super) ledger: &'a mut Ledger,
    pub(super) backends: &'a Backends,
}

/// The runtime, with the signals that end a sweep caught from here on.
pub(super) fn listen() -> Result<(Runtime, Signals), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
    let inside = runtime.enter();
    let signals =
        Signals::listen().map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    drop(inside);
    Ok((runtime, signals))
}

/// The back end of every host of a plan.
pub(super) fn open(plan: &Plan, run: &str) -> Backends {
    plan.hosts.iter().map(|host| (host.name.clone(), backend::open(host, run, plan))).collect()
}

/// Launches cells until none is left, and keeps what happens.
pub(super) async fn carry_out(
    part: Part<'_>,
    options: &SweepOptions,
    start: Start,
    signals: Signals,
) -> Result<End, Failure> {
    let Part { plan, folder, ledger, backends } = part;
    let progress = Progress::new(plan, terminal::progress());
    let cancel = CancellationToken::new();
    tokio::spawn(signals.stop(cancel.clone(), progress.voice()));
    let tried = ledger.records().filter(|record| !record.attempts().is_empty());
    let earlier = tried.map(|record| (record.cell().id().clone(), record.attempts().len())).collect();
    let stream = (options.format == stream::NAME).then(|| Stream::new(plan));
    let (fail_fast, retries) = (options.fail_fast, options.retries);
    let mut recorder = Recorder { folder, ledger, progress, stream, fail_fast, retries, earlier };
    let jobs = options.jobs.or(plan.limits.jobs).map(|jobs| jobs as usize);
    let outcome = crate::run::run(plan, backends, Options { jobs, cancel, start }, &mut recorder).await;
    recorder.progress.finish();
    outcome.map_err(|error| match error {
        RecordError::Journal(error) => Failure::from(error),
        RecordError::Ledger(error) => Failure::failed(error),
    })
}

/// Writes down and shows what is known, whatever happened, and says how the program ends.
pub(super) fn conclude(
    plan: &Plan,
    ledger: &Ledger,
    folder: &RunFolder,
    format: &str,
    color: Color,
    end: Result<End, Failure>,
) -> Outcome {
    let summary = Summary::build(plan, ledger, &commands(plan, Some(ledger)));
    let layout = Layout::of(&summary);
    let view = View { summary: &summary, layout: &layout, style: terminal::style(color) };
    let saved = save(folder, &view);
    if format != stream::NAME {
        show(format, &view)?;
    }
    say(&format!("run folder: {}", folder.path().display()));
    let end = end?;
    saved?;
    end.left.iter().for_each(|left| say(&format!("warning: not removed: {left}; run `gpusweep clean`")));
    Ok(exit(plan, &summary, &end))
}

fn save(folder: &RunFolder, view: &View<'_>) -> Result<(), Failure> {
    let json = render::format("json").ok_or_else(|| Failure::failed("the registry has no json format"))?;
    let mut document = Vec::new();
    json.render.render(view, &mut document)?;
    folder.document("summary.json", &document).map_err(Failure::from)
}

fn show(format: &str, view: &View<'_>) -> Result<(), Failure> {
    let format =
        render::format(format).ok_or_else(|| Failure::usage(format!("there is no format `{format}`")))?;
    match format.render.render(view, &mut std::io::stdout().lock()) {
        // Whoever read the output went away; the run's own outcome still counts.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(Failure::from),
    }
}

/// The signals by which a user ends a sweep.
pub(super) struct Signals([Signal; 3]);

impl Signals {
    fn listen() -> std::io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    /// The first signal stops the sweep cleanly, the second at once.
    async fn stop(mut self, cancel: CancellationToken, voice: Voice) {
        self.next().await;
        cancel.cancel();
        voice.say("stopping: removing the containers; once more to leave at once");
        self.next().await;
        voice.say("left at once; `gpusweep resume` goes on, `gpusweep clean` removes what is left");
        std::process::exit(i32::from(Exit::Interrupted.status()));
    }
}

fn exit(plan: &Plan, summary: &Summary, end: &End) -> Exit {
    if end.interrupted {
        Exit::Interrupted
    } else if no_engine(plan, summary) {
        Exit::NoEngine
    } else if summary.green && end.left.is_empty() {
        Exit::Green
    } else {
        Exit::NotGreen
    }
}

/// Whether engines were wanted, and none answered.
fn no_engine(plan: &Plan, summary: &Summary) -> bool {
    let engines = plan.hosts.iter().filter(|host| matches!(host.backend, BackendKind::Docker(_)));
    let names: Vec<&str> = engines.map(|host| host.name.as_str()).collect();
    let unreachable = Code::Cell(CellCode::EngineUnreachable);
    let tried = summary.cells.iter().filter(|cell| names.contains(&cell.host.as_str()));
    let mut codes = tried.filter_map(|cell| cell.code).peekable();
    codes.peek().is_some() && codes.all(|code| code == unreachable)
}
