//! `gpusweep resume`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures_util::future::join_all;
use jiff::Timestamp;

use super::Outcome;
use super::carry::{self, Part, conclude};
use super::failure::Failure;
use super::options::{Color, ResumeOptions};
use super::recorded::replay;
use super::run::run_id;
use super::sweep::{digest, planned, read};
use super::terminal::say;
use crate::backend::checker;
use crate::event::{Event, EventKind};
use crate::exit::Exit;
use crate::journal::{Recorded, RunFolder};
use crate::ledger::{Ledger, Record, RunState, Verdict};
use crate::model::{Cell, CellId, Observation};
use crate::plan::{Expr, Plan, Revision, revise};
use crate::run::{Backends, End, Start};

/// Goes on with a sweep: what was found stays, what is missing is run.
pub(super) fn resume(options: &ResumeOptions, color: Color) -> Outcome {
    let opened = RunFolder::resume(&options.run).map_err(|error| Failure::from(error).exit(Exit::Usage))?;
    let (mut folder, Recorded { plan, events }) = opened;
    let mut history = History::replay(&plan, events, &options.run)?;
    let changed = changed_matrix(&folder, &plan, options.matrix.as_deref())?;
    let (source, Revision { plan, invalid, pruned }) = match changed {
        Some((source, newer)) => (Some(source), revise(&plan, newer)),
        None => (None, Revision { plan, invalid: Vec::new(), pruned: Vec::new() }),
    };
    let (runtime, signals) = carry::listen()?;
    let run = history.ledger.run().map_or_else(run_id, str::to_owned);
    let backends = carry::open(&plan, &run);
    let left = runtime.block_on(clear(&backends));
    left.iter().for_each(|left| say(&format!("warning: not removed: {left}")));

    let mut stale: BTreeMap<CellId, String> = invalid.into_iter().collect();
    if source.is_some() {
        returned(&history.ledger, &plan, &pruned, &mut stale);
    }
    other_checker(&history.ledger, &mut stale);
    runtime.block_on(other_images(&history.ledger, &backends, &mut stale));
    if history.ledger.state() == RunState::Finished
        && stale.is_empty()
        && source.is_none()
        && missing(&history.ledger).is_empty()
    {
        say("nothing is left to run");
        let end = Ok(End { interrupted: false, left });
        return conclude(&plan, &history.ledger, &folder, &options.sweep.format, color, end);
    }
    history.go_on(&mut folder, run, &plan, &stale, &pruned)?;
    if let Some(source) = source {
        folder.replan(&source, &plan)?;
        history = History::replay(&plan, history.events, &options.run)?;
    }
    let cells = missing(&history.ledger);
    tell(cells.len(), &stale, history.ledger.records().count());
    let start = Start { seq: history.ledger.next_seq(), opening: Vec::new(), cells };
    let part = Part { plan: &plan, folder: &mut folder, ledger: &mut history.ledger, backends: &backends };
    let end = runtime.block_on(carry::carry_out(part, &options.sweep, start, signals));
    conclude(&plan, &history.ledger, &folder, &options.sweep.format, color, end)
}

/// What happened so far.
struct History {
    events: Vec<Event>,
    ledger: Ledger,
}

impl History {
    fn replay(plan: &Plan, events: Vec<Event>, folder: &Path) -> Result<Self, Failure> {
        let ledger = replay(plan, &events, folder)?;
        Ok(Self { events, ledger })
    }

    /// Tells that the run goes on, and what of it does not count any more. A controller that was killed could not tell
    /// that it ended.
    fn go_on(
        &mut self,
        folder: &mut RunFolder,
        run: String,
        plan: &Plan,
        stale: &BTreeMap<CellId, String>,
        pruned: &[(CellId, String)],
    ) -> Result<(), Failure> {
        if self.ledger.state() == RunState::Running {
            self.tell(folder, EventKind::RunFinished { interrupted: true })?;
        }
        let to_run = |record: &&Record| is_missing(record) || stale.contains_key(record.cell().id());
        let cells = self.ledger.records().filter(to_run).count() - pruned.len();
        let (name, checker) = (plan.name.clone(), checker::digest());
        self.tell(folder, EventKind::RunStarted { run, name, cells, checker })?;
        for (cell, reason) in stale {
            self.tell(folder, EventKind::CellInvalidated { cell: cell.clone(), reason: reason.clone() })?;
        }
        for (cell, reason) in pruned {
            self.tell(folder, EventKind::CellPruned { cell: cell.clone(), reason: reason.clone() })?;
        }
        Ok(())
    }

    fn tell(&mut self, folder: &mut RunFolder, kind: EventKind) -> Result<(), Failure> {
        let event = Event { seq: self.ledger.next_seq(), at: Timestamp::now(), kind };
        folder.append(&event)?;
        self.ledger.apply(&event).map_err(Failure::failed)?;
        self.events.push(event);
        Ok(())
    }
}

/// The matrix and its plan, where it is another than the run was made of.
fn changed_matrix(
    folder: &RunFolder,
    plan: &Plan,
    other: Option<&Path>,
) -> Result<Option<(String, Plan)>, Failure> {
    let (source, name) = match other {
        Some(path) => (read(path)?, path.display().to_string()),
        None => (folder.matrix()?, folder.path().join("matrix.yaml").display().to_string()),
    };
    if digest(&source) == plan.source.sha256 {
        return Ok(None);
    }
    let typed = |texts: &[String]| {
        let parsed: Result<Vec<Expr>, _> = texts.iter().map(|text| text.parse()).collect();
        parsed.map_err(Failure::usage)
    };
    let newer = planned(&source, &name, &typed(&plan.source.only)?, &typed(&plan.source.skip)?)?;
    Ok(Some((source, newer)))
}

/// Cells that a changed matrix had taken out and another one has again.
fn returned(ledger: &Ledger, plan: &Plan, pruned: &[(CellId, String)], stale: &mut BTreeMap<CellId, String>) {
    let taken_out: BTreeSet<&CellId> = pruned.iter().map(|(cell, _)| cell).collect();
    for cell in plan.runnable().map(Cell::id).filter(|cell| !taken_out.contains(cell)) {
        if ledger.record(cell).is_some_and(|record| record.pruned_because().is_some()) {
            stale.entry(cell.clone()).or_insert_with(|| "the matrix has it again".to_owned());
        }
    }
}

/// Removes what the earlier controller left: its containers are of no use without the secrets that it took with it.
async fn clear(backends: &Backends) -> Vec<String> {
    let clear = backends.values().map(|backend| async {
        backend.prepare().await;
        backend.finish().await
    });
    join_all(clear).await.concat()
}

/// Every check was made by the checker of the run so far: another one may find something else.
fn other_checker(ledger: &Ledger, stale: &mut BTreeMap<CellId, String>) {
    if ledger.checker().is_none_or(|earlier| earlier == checker::digest()) {
        return;
    }
    // A container ran where the engine set something.
    for record in
        ledger.records().filter(|record| record.observation().and_then(Observation::applied).is_some())
    {
        stale.entry(record.cell().id().clone()).or_insert_with(|| "the checker is another one".to_owned());
    }
}

/// A tag may stand for another image by now. Images that are gone, or whose host does not answer, are left alone.
async fn other_images(ledger: &Ledger, backends: &Backends, stale: &mut BTreeMap<CellId, String>) {
    let mut now: BTreeMap<(&str, &str), Option<String>> = BTreeMap::new();
    for record in ledger.records() {
        let cell = record.cell();
        let (Some(earlier), Some(backend)) = (digest_of(record), backends.get(&cell.host)) else { continue };
        let image = (cell.host.as_str(), cell.image.reference.as_str());
        let found = match now.entry(image) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(backend.digest(image.1).await),
        };
        if found.as_deref().is_some_and(|found| found != earlier) {
            let reason = format!("`{}` is another image now", cell.image.reference);
            stale.entry(cell.id().clone()).or_insert(reason);
        }
    }
}

fn digest_of(record: &Record) -> Option<&str> {
    record.observation()?.applied()?.digest.as_deref()
}

/// The cells that are to run, each with the number of its next attempt.
fn missing(ledger: &Ledger) -> BTreeMap<CellId, u32> {
    let missing = ledger.records().filter(|record| is_missing(record));
    missing.map(|record| (record.cell().id().clone(), record.started() + 1)).collect()
}

/// What did not run, and what could not: whatever kept it from running may be mended.
fn is_missing(record: &Record) -> bool {
    match record.verdict() {
        Verdict::NotRun | Verdict::Blocked => true,
        Verdict::Expected | Verdict::Unexpected | Verdict::Pruned => false,
    }
}

fn tell(missing: usize, stale: &BTreeMap<CellId, String>, all: usize) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in stale.values() {
        *reasons.entry(reason).or_default() += 1;
    }
    for (reason, cells) in reasons {
        let s = if cells == 1 { "" } else { "s" };
        say(&format!("{cells} cell{s} did not keep their result: {reason}"));
    }
    say(&format!("resuming: {missing} of {all} cells are to run"));
}
