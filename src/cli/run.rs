//! `gpusweep run`.

use std::path::Path;

use jiff::Timestamp;

use super::Outcome;
use super::carry::{self, Part, conclude};
use super::failure::Failure;
use super::options::{Color, RunOptions};
use super::sweep::{Sweep, load};
use crate::backend::checker;
use crate::event::EventKind;
use crate::exit::Exit;
use crate::journal::{JournalError, RunFolder};
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::run::Start;

/// Plans, launches, collects, and shows.
pub(super) fn run(options: RunOptions, color: Color) -> Outcome {
    let sweep = load(&options.matrix)?;
    // Before anything is made: from here on a signal ends the sweep with its rows written down.
    let (runtime, signals) = carry::listen()?;
    let run = run_id();
    let mut folder = make_folder(options.out.as_deref(), &run, &sweep)?;
    let mut ledger = Ledger::new(&sweep.plan);
    let backends = carry::open(&sweep.plan, &run);
    let start = start(&sweep.plan, run);
    let part = Part { plan: &sweep.plan, folder: &mut folder, ledger: &mut ledger, backends: &backends };
    let end = runtime.block_on(carry::carry_out(part, &options.sweep, start, signals));
    conclude(&sweep.plan, &ledger, &folder, &options.sweep.format, color, end)
}

/// A run that begins: everything is still to be done.
fn start(plan: &Plan, run: String) -> Start {
    let cells =
        plan.runnable().map(|cell| (cell.id().clone(), 1)).collect::<std::collections::BTreeMap<_, _>>();
    let started = EventKind::RunStarted {
        run,
        name: plan.name.clone(),
        cells: cells.len(),
        checker: checker::digest(),
    };
    let pruned = plan.cells.iter().filter_map(|planned| {
        Some(EventKind::CellPruned { cell: planned.cell.id().clone(), reason: planned.pruned.clone()? })
    });
    Start { seq: 0, opening: std::iter::once(started).chain(pruned).collect(), cells }
}

/// Unique on this machine and nearly so elsewhere: the time, and a number that no two processes share at that time.
pub(super) fn run_id() -> String {
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
