//! What a person reads: the matrix, what failed first and what to do about it, what was pruned, and the counts.

use std::io::{self, Write};

use super::groups::{self, Failure};
use super::matrix;
use super::{Render, View};
use crate::ledger::{Layer, RunState, Verdict};
use crate::summary::{Summary, SummaryCell, visible, wrapped};
use crate::table::Table;

/// Wider lines are hard to follow with the eye.
const WIDEST: u16 = 200;
/// Narrower than this nothing is readable.
const NARROWEST: u16 = 40;
/// Cells of one group that are named; the rest is counted.
const NAMED: usize = 12;

pub(super) struct Terminal;

impl Render for Terminal {
    fn render(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let width = usize::from(view.style.width.unwrap_or(WIDEST).clamp(NARROWEST, WIDEST));
        let mut out = io::BufWriter::new(out);
        let mut page = Page { out: &mut out, width, color: view.style.color };
        page.leaks(view.summary)?;
        let table = Table::build(view.summary, view.layout);
        for grid in matrix::tables(&table, width, view.style) {
            writeln!(page.out, "{grid}\n")?;
        }
        page.failures(&groups::failures(view.summary))?;
        page.pruned(view.summary)?;
        page.counts(view.summary)?;
        out.flush()
    }
}

struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
    color: bool,
}

impl Page<'_> {
    /// Above everything else: who relies on isolation must not have to look for it.
    fn leaks(&mut self, summary: &Summary) -> io::Result<()> {
        let leaking: Vec<&SummaryCell> = summary.cells.iter().filter(|cell| cell.leak.is_some()).collect();
        if leaking.is_empty() {
            return Ok(());
        }
        let (count, s) = (leaking.len(), if leaking.len() == 1 { "" } else { "s" });
        let title = format!("LEAK: {count} cell{s} saw more of a GPU than was given");
        let title = self.colored(Verdict::Unexpected, &title);
        writeln!(self.out, "{title}")?;
        for cell in leaking.iter().take(NAMED) {
            let what = cell.leak.as_deref().unwrap_or_default();
            self.wrapped("  ", "    ", &format!("{}: {what}", cell.coordinates()))?;
        }
        if let more @ 1.. = leaking.len().saturating_sub(NAMED) {
            self.wrapped("  ", "    ", &format!("and {more} more, listed in summary.json"))?;
        }
        writeln!(self.out)
    }

    fn failures(&mut self, failures: &[Failure<'_>]) -> io::Result<()> {
        if failures.is_empty() {
            return Ok(());
        }
        self.heading("First errors")?;
        failures.iter().try_for_each(|failure| self.failure(failure))
    }

    fn failure(&mut self, failure: &Failure<'_>) -> io::Result<()> {
        let Some(cell) = failure.cells.first() else {
            return Ok(());
        };
        self.failure_title(cell, &failure.expected())?;
        self.named(&failure.cells)?;
        if let Some(error) = &cell.first_error {
            let place = error.stage.as_ref().map(|stage| format!(" (at {stage})")).unwrap_or_default();
            self.field("error:", &format!("{}: {}{place}", error.kind, error.message))?;
        }
        for parting in &cell.parted {
            let (requested, found) = (&parting.requested, &parting.found);
            let where_ = match parting.layer {
                Layer::Engine => "the engine set",
                Layer::Container => "the checker saw",
            };
            self.field("lost:", &format!("`{requested}` was asked for, {where_} {found}"))?;
        }
        if let Some(cause) = &cell.cause {
            self.field("cause:", &format!("{} [{}]", cause.summary, cause.id))?;
        }
        if let Some(action) = &cell.next_action {
            self.field("next:", action)?;
        }
        if let (Some(command), Verdict::Unexpected | Verdict::Blocked) = (&cell.command, cell.verdict) {
            // On one line however long it is, so that it can be copied.
            writeln!(self.out, "  {:<6} {}", "run:", visible(command))?;
        }
        writeln!(self.out)
    }

    fn failure_title(&mut self, cell: &SummaryCell, expected: &str) -> io::Result<()> {
        let verdict = self.painted(cell.verdict);
        let mut title =
            cell.code.map_or_else(|| "no result".to_owned(), |code| format!("{code} {}", code.exit_code()));
        if let Some(container) = cell.exit_mismatch() {
            title.push_str(&format!(", but the container ended with {container}"));
        }
        if let Some(stage) = &cell.stage {
            title.push_str(&format!(" at {}", visible(stage)));
        }
        let right_code = cell.code.is_some_and(|code| cell.expected.contains(&code));
        if cell.verdict == Verdict::Unexpected && !right_code && !expected.is_empty() {
            title.push_str(&format!(", expected {expected}"));
        }
        writeln!(self.out, "{verdict}  {title}")
    }

    fn named(&mut self, cells: &[&SummaryCell]) -> io::Result<()> {
        for (index, cell) in cells.iter().take(NAMED).enumerate() {
            self.field(if index == 0 { "for:" } else { "" }, &cell.coordinates())?;
        }
        match cells.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => self.field("", &format!("and {more} more, listed in summary.json")),
        }
    }

    fn pruned(&mut self, summary: &Summary) -> io::Result<()> {
        let groups = groups::pruned(summary);
        if groups.is_empty() {
            return Ok(());
        }
        self.heading("Pruned")?;
        for (reason, cells) in groups {
            self.wrapped("", "  ", reason)?;
            let named: Vec<String> = cells.iter().take(NAMED).map(|cell| cell.coordinates()).collect();
            let more = match cells.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.field("for:", &format!("{}{more}", named.join(", ")))?;
        }
        writeln!(self.out)
    }

    fn counts(&mut self, summary: &Summary) -> io::Result<()> {
        let said: Vec<String> = Verdict::ALL.into_iter().map(|verdict| counted(summary, verdict)).collect();
        let state = match summary.state {
            RunState::Planned => " (not started)",
            RunState::Running => " (not finished)",
            RunState::Interrupted => " (interrupted)",
            RunState::Finished => "",
        };
        let green = if summary.green { Verdict::Expected } else { Verdict::Unexpected };
        let word = self.colored(green, if summary.green { "GREEN" } else { "NOT GREEN" });
        let (total, s) = (summary.counts.total(), if summary.counts.total() == 1 { "" } else { "s" });
        writeln!(self.out, "{total} cell{s}: {} — {word}{state}", said.join(", "))
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        if self.color { writeln!(self.out, "\u{1b}[1m{text}\u{1b}[0m") } else { writeln!(self.out, "{text}") }
    }

    fn field(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.wrapped(&format!("  {name:<6} "), "         ", text)
    }

    fn wrapped(&mut self, first: &str, rest: &str, text: &str) -> io::Result<()> {
        wrapped(text, self.width, first, rest).iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    fn painted(&self, verdict: Verdict) -> String {
        self.colored(verdict, verdict.shouted())
    }

    fn colored(&self, verdict: Verdict, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let color = match verdict {
            Verdict::Expected => 32,
            Verdict::Unexpected => 31,
            Verdict::Blocked => 33,
            Verdict::NotRun => 35,
            Verdict::Pruned => 90,
        };
        format!("\u{1b}[{color}m{text}\u{1b}[0m")
    }
}

fn counted(summary: &Summary, verdict: Verdict) -> String {
    let said = format!("{} {verdict}", summary.counts.get(verdict));
    match summary.flaky() {
        flaky if flaky > 0 && verdict == Verdict::Expected => format!("{said} ({flaky} flaky)"),
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FORMATS, Style, format};
    use gpusweep_report::Code as CheckCode;

    use super::*;
    use crate::model::Observation;
    use crate::table::Layout;
    use crate::testing;

    fn rendered(summary: &Summary, color: bool, width: u16) -> String {
        let layout = Layout::of(summary);
        let view = View { summary, layout: &layout, style: Style { color, width: Some(width) } };
        let mut out = Vec::new();
        format("table").unwrap().render.render(&view, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_mixed_run_at_80_columns() {
        insta::assert_snapshot!(rendered(&testing::mixed().summary(), false, 80));
    }

    #[test]
    fn a_mixed_run_at_200_columns() {
        insta::assert_snapshot!(rendered(&testing::mixed().summary(), false, 200));
    }

    #[test]
    fn a_mixed_run_in_colour() {
        insta::assert_snapshot!(rendered(&testing::mixed().summary(), true, 80).replace('\u{1b}', "ESC"));
        insta::assert_snapshot!(rendered(&testing::mixed().summary(), true, 200).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn a_leak_stands_above_everything_and_is_red_though_its_code_is_the_expected_one() {
        let leaking = testing::cell("torch-cuda", "none", CheckCode::GpuCheckPassed);
        let dropped = testing::cell("torch-cuda", "nvidia-all", CheckCode::GpuUnavailable);
        let ids = [leaking.id().clone(), dropped.id().clone()];
        let mut story = testing::Story::of(testing::plan([dropped, leaking]));
        let mut without = testing::reported(CheckCode::GpuUnavailable);
        if let Observation::Reported { applied, .. } = &mut without {
            applied.settings.insert("runtime".into(), "runc".into());
        }
        story.begin().attempt(&ids[0], testing::reported(CheckCode::GpuCheckPassed));
        story.attempt(&ids[1], without).end(false);
        insta::assert_snapshot!(rendered(&story.summary(), false, 80));
    }

    #[test]
    fn names_of_formats_are_unique() {
        let mut names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FORMATS.len());
    }
}
