//! The live view of a sweep, on stderr.
//!
//! Main type: [`Progress`]. It reads events and the ledger that has taken them in, and decides nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::diagnose;
use crate::event::{Event, EventKind};
use crate::ledger::{Attempt, Ledger, Record, Verdict};
use crate::model::{Cell, CellId, Phase};
use crate::plan::Plan;
use crate::summary::visible;
use crate::table::duration;

/// Running cells that are named below the bar; the rest is counted.
const NAMED: usize = 4;
/// How often the bar's clock is redrawn.
const TICK: Duration = Duration::from_millis(200);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A bar, which needs a terminal; failures are printed above it as they come.
    Bar,
    /// One line per finished attempt.
    Lines,
    /// Not at all.
    Quiet,
}

/// Says something beside the view without spoiling it.
#[derive(Clone)]
pub struct Voice(Option<ProgressBar>);

impl Voice {
    /// Says one line on stderr. A stderr that cannot be written to is no reason to stop.
    pub fn say(&self, line: &str) {
        match &self.0 {
            Some(bar) => bar.println(line),
            None => drop(writeln!(std::io::stderr(), "{line}")),
        }
    }
}

/// The live view.
pub struct Progress {
    sink: Sink,
    running: BTreeMap<CellId, Phase>,
}

enum Sink {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
    Quiet,
}

impl Progress {
    /// A view on stderr.
    #[must_use]
    pub fn new(plan: &Plan, mode: Mode) -> Self {
        match mode {
            Mode::Bar => Self::bar(plan, ProgressDrawTarget::stderr()),
            Mode::Lines => Self::lines(Box::new(std::io::stderr())),
            Mode::Quiet => Self::of(Sink::Quiet),
        }
    }

    /// Lines that go elsewhere.
    #[must_use]
    pub fn lines(out: Box<dyn Write + Send>) -> Self {
        Self::of(Sink::Lines(out))
    }

    fn bar(plan: &Plan, target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(plan.runnable().count() as u64), target);
        // The template is a constant; should it ever be refused, the plain bar is no reason to stop a sweep.
        if let Ok(style) =
            ProgressStyle::with_template("[{elapsed_precise}] [{bar:40}] {pos}/{len} cells\n{wide_msg}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(TICK);
        Self::of(Sink::Bar(bar))
    }

    const fn of(sink: Sink) -> Self {
        Self { sink, running: BTreeMap::new() }
    }

    /// For those who have something to say while the view is up.
    #[must_use]
    pub fn voice(&self) -> Voice {
        match &self.sink {
            Sink::Bar(bar) => Voice(Some(bar.clone())),
            Sink::Lines(_) | Sink::Quiet => Voice(None),
        }
    }

    /// Shows what just happened. `ledger` must have taken the event in.
    pub fn on_event(&mut self, event: &Event, ledger: &Ledger) {
        match &event.kind {
            EventKind::RunStarted { .. }
            | EventKind::CellPruned { .. }
            | EventKind::CellInvalidated { .. } => self.refresh(ledger),
            EventKind::AttemptStarted { cell, .. } => self.under_way(cell, Phase::Queued, ledger),
            EventKind::PhaseReached { cell, phase } => self.under_way(cell, *phase, ledger),
            EventKind::AttemptFinished { cell, .. } => self.finished(cell, ledger),
            EventKind::RunFinished { .. } => {
                self.running.clear();
                self.refresh(ledger);
            }
        }
    }

    /// Takes the bar away, so that the results stand alone.
    pub fn finish(self) {
        match self.sink {
            Sink::Bar(bar) => bar.finish_and_clear(),
            Sink::Lines(mut out) => {
                let _ = out.flush();
            }
            Sink::Quiet => {}
        }
    }

    fn under_way(&mut self, cell: &CellId, phase: Phase, ledger: &Ledger) {
        self.running.insert(cell.clone(), phase);
        self.refresh(ledger);
    }

    fn finished(&mut self, cell: &CellId, ledger: &Ledger) {
        self.running.remove(cell);
        if let Some((record, attempt)) =
            ledger.record(cell).and_then(|record| Some((record, record.outcome()?)))
        {
            let line = line(record, attempt, ledger);
            match &mut self.sink {
                Sink::Bar(bar) if failed(record) => bar.println(failure(&line, attempt)),
                // A stderr that cannot be written to is no reason to stop a sweep.
                Sink::Lines(out) => drop(writeln!(out, "{line}")),
                Sink::Bar(_) | Sink::Quiet => {}
            }
        }
        self.refresh(ledger);
    }

    fn refresh(&self, ledger: &Ledger) {
        match &self.sink {
            Sink::Bar(bar) => {
                bar.set_length(ledger.runnable() as u64);
                bar.set_position(ledger.finished() as u64);
                bar.set_message(message(&self.running, ledger));
            }
            Sink::Lines(_) | Sink::Quiet => {}
        }
    }
}

/// What stands below the bar.
fn message(running: &BTreeMap<CellId, Phase>, ledger: &Ledger) -> String {
    let named: Vec<String> = running
        .iter()
        .take(NAMED)
        .filter_map(|(id, phase)| {
            Some(format!("{} ({})", coordinates(ledger.record(id)?.cell()), phase.as_str()))
        })
        .collect();
    let more = match running.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

/// Such as `[ 3/24] expected   TORCH_MISSING 3  torch-cpu none local cpu  1.2s`.
fn line(record: &Record, attempt: &Attempt, ledger: &Ledger) -> String {
    let total = ledger.runnable().to_string();
    let code = record.code().map(|code| format!("{code} {}", code.exit_code())).unwrap_or_default();
    let again = match attempt.number {
        1 => String::new(),
        number => format!("  (attempt {number})"),
    };
    format!(
        "[{:>width$}/{total}] {:<10} {code}  {}  {}{again}",
        ledger.finished(),
        record.verdict().shouted(),
        coordinates(record.cell()),
        duration(attempt.duration_ms),
        width = total.len(),
    )
}

/// What the user stopped would only flood the screen.
fn failed(record: &Record) -> bool {
    match record.verdict() {
        Verdict::Unexpected | Verdict::Blocked => true,
        Verdict::Expected | Verdict::NotRun | Verdict::Pruned => false,
    }
}

/// The line, with the first error below it.
fn failure(line: &str, attempt: &Attempt) -> String {
    match diagnose::first_error(&attempt.observation) {
        Some(error) => format!("{line}\n    {}: {}", visible(&error.kind), visible(&error.message)),
        None => line.to_owned(),
    }
}

fn coordinates(cell: &Cell) -> String {
    let device = cell.device.to_string();
    let parts = [&cell.image.name, &cell.variant.name, &cell.visibility.name, &cell.host, &device];
    let said: Vec<_> = parts.into_iter().filter(|part| *part != "-").map(|part| visible(part)).collect();
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::testing;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn replay(mut progress: Progress) {
        let story = testing::mixed();
        let mut ledger = Ledger::new(&story.plan);
        for event in &story.events {
            ledger.apply(event).unwrap();
            progress.on_event(event, &ledger);
        }
        progress.finish();
    }

    #[test]
    fn one_line_per_finished_attempt() {
        let out = Shared::default();
        replay(Progress::lines(Box::new(out.clone())));
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_bar_without_a_terminal_does_no_harm() {
        replay(Progress::bar(&testing::mixed().plan, ProgressDrawTarget::hidden()));
        replay(Progress::new(&testing::mixed().plan, Mode::Quiet));
    }

    #[test]
    fn running_cells_are_named_with_their_step() {
        let mut story = testing::Story::of(testing::mixed().plan);
        story.begin();
        let ids: Vec<CellId> = story.plan.runnable().map(|cell| cell.id().clone()).collect();
        let running: BTreeMap<CellId, Phase> = ids.into_iter().map(|id| (id, Phase::Pull)).collect();
        let text = message(&running, &story.ledger);
        assert!(text.contains("python cu128 none local 0 (pull)"), "{text}");
        assert!(text.ends_with(" and 4 more"), "{text}");
    }
}
