//! `gpusweep run`.

use std::path::Path;

use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Outcome;
use super::failure::Failure;
use super::options::{Color, RunOptions};
use super::record::{RecordError, Recorder};
use super::sweep::{Sweep, commands, load};
use super::terminal::{self, say};
use crate::backend;
use crate::exit::Exit;
use crate::journal::{JournalError, RunFolder};
use crate::ledger::Ledger;
use crate::model::{BackendKind, CellCode, Code};
use crate::plan::Plan;
use crate::progress::{Progress, Voice};
use crate::render::{self, View};
use crate::run::{Backends, End, Options};
use crate::summary::Summary;
use crate::table::Layout;

/// Plans, launches, collects, and shows.
pub(super) fn run(options: RunOptions, color: Color) -> Outcome {
    let sweep = load(&options.matrix)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
    // Before anything is made: from here on a signal ends the sweep with its rows written down.
    let signals = {
        let _inside = runtime.enter();
        Signals::listen().map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?
    };
    let run = run_id();
    let mut folder = make_folder(options.out.as_deref(), &run, &sweep)?;
    let mut ledger = Ledger::new(&sweep.plan);
    let end = runtime.block_on(execute(&options, &sweep, run, &mut folder, &mut ledger, signals));
    // Whatever happened, what is known is written down and shown.
    let summary = Summary::build(&sweep.plan, &ledger, &commands(&sweep.plan));
    let layout = Layout::of(&summary);
    let view = View { summary: &summary, layout: &layout, style: terminal::style(color) };
    let saved = save(&folder, &view);
    show(&options.format, &view)?;
    say(&format!("run folder: {}", folder.path().display()));
    let end = end?;
    saved?;
    end.left.iter().for_each(|left| say(&format!("warning: not removed: {left}; run `gpusweep clean`")));
    Ok(exit(&sweep.plan, &summary, &end))
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

async fn execute(
    options: &RunOptions,
    sweep: &Sweep,
    run: String,
    folder: &mut RunFolder,
    ledger: &mut Ledger,
    signals: Signals,
) -> Result<End, Failure> {
    let plan = &sweep.plan;
    let progress = Progress::new(plan, terminal::progress());
    let cancel = CancellationToken::new();
    tokio::spawn(signals.stop(cancel.clone(), progress.voice()));
    let mut recorder =
        Recorder { folder, ledger, progress, fail_fast: options.fail_fast, retries: options.retries };
    let backends: Backends =
        plan.hosts.iter().map(|host| (host.name.clone(), backend::open(host, &run, plan))).collect();
    let jobs = options.jobs.or(plan.limits.jobs).map(|jobs| jobs as usize);
    let outcome = crate::run::run(plan, &backends, Options { run, jobs, cancel }, &mut recorder).await;
    recorder.progress.finish();
    outcome.map_err(|error| match error {
        RecordError::Journal(error) => Failure::from(error),
        RecordError::Ledger(error) => Failure::failed(error),
    })
}

/// The signals by which a user ends a sweep.
struct Signals([Signal; 3]);

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
        voice.say("left at once; run `gpusweep clean` to remove what is left");
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

/// Unique on this machine and nearly so elsewhere: the time, and a number that no two processes share at that time.
fn run_id() -> String {
    let now = Timestamp::now();
    let unique = now.subsec_nanosecond().unsigned_abs().rotate_left(8) ^ std::process::id();
    format!("{}-{:06x}", now.strftime("%Y%m%dt%H%M%Sz"), unique & 0x00ff_ffff)
}

/// The folder that the user names, else one of the time and the matrix; with the run's own number where another sweep
/// of the same name began in the same second.
fn make_folder(out: Option<&Path>, run: &str, sweep: &Sweep) -> Result<RunFolder, Failure> {
    let create = |path: &Path| RunFolder::create(path, &sweep.source, &sweep.plan);
    let (time, unique) = run.split_once('-').unwrap_or((run, ""));
    let usual = Path::new("runs").join(format!("{}-{}", time.to_uppercase(), sweep.plan.name));
    let made = match (out, create(out.unwrap_or(&usual))) {
        (None, Err(JournalError::Taken(_))) => {
            create(&usual.with_file_name(format!("{}-{}-{unique}", time.to_uppercase(), sweep.plan.name)))
        }
        (_, made) => made,
    };
    // Nothing was launched yet, so this is about what was asked.
    made.map_err(|error| {
        Failure::from(error)
            .exit(Exit::Usage)
            .hint("give --out a new folder in a place that you may write to")
    })
}
