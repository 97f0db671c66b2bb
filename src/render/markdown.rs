//! Markdown that fits the summary of a CI job and a pull request.
//!
//! Everything from a container or an engine is text here and nothing else: no markup, no link, no mention, no HTML.

use std::io::{self, Write};

use super::groups::{self, Failure};
use super::{Render, View};
use crate::ledger::Verdict;
use crate::summary::{Summary, SummaryCell, visible};
use crate::table::{CellView, Header, Table};

/// Cells of one group that are named; the rest is counted.
const NAMED: usize = 12;

pub(super) struct Markdown;

impl Render for Markdown {
    fn render(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let summary = view.summary;
        let word = if summary.green { "✅ GREEN" } else { "❌ NOT GREEN" };
        writeln!(out, "## {}: {word}\n", text(&summary.name))?;
        writeln!(out, "{}\n", counts(summary))?;
        leaks(summary, out)?;
        matrix(&Table::build(summary, view.layout), out)?;
        let failures = groups::failures(summary);
        if !failures.is_empty() {
            writeln!(out, "### First errors\n")?;
            failures.iter().try_for_each(|failure| group(failure, out))?;
        }
        let pruned = groups::pruned(summary);
        if !pruned.is_empty() {
            writeln!(out, "<details><summary>Pruned</summary>\n")?;
            for (reason, cells) in pruned {
                writeln!(out, "- {}: {}", text(reason), named(&cells))?;
            }
            writeln!(out, "\n</details>")?;
        }
        Ok(())
    }
}

fn counts(summary: &Summary) -> String {
    let said = Verdict::ALL.into_iter().map(|verdict| format!("{} {verdict}", summary.counts.get(verdict)));
    let flaky = summary.flaky();
    let flaky = if flaky > 0 { format!(" ({flaky} flaky)") } else { String::new() };
    format!("{} cells: {}{flaky}", summary.counts.total(), said.collect::<Vec<_>>().join(", "))
}

fn leaks(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    for cell in summary.cells.iter().filter(|cell| cell.leak.is_some()) {
        let what = text(cell.leak.as_deref().unwrap_or_default());
        writeln!(out, "> **LEAK** {}: {what}\n", text(&cell.coordinates()))?;
    }
    Ok(())
}

fn matrix(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let label = |header: &Header| {
        let mut label = text(&header.labels.join(" "));
        if header.privileged {
            label.push_str(" (privileged)");
        }
        label
    };
    let corner: Vec<&str> = table.row_header.iter().map(|axis| axis.as_str()).collect();
    let columns: Vec<String> = table.columns.iter().map(label).collect();
    writeln!(out, "| {} | {} |", corner.join(" "), columns.join(" | "))?;
    writeln!(out, "|---|{}", "---|".repeat(columns.len()))?;
    for (row, header) in table.rows.iter().enumerate() {
        let cells: Vec<String> =
            (0..columns.len()).map(|column| table.cell(row, column).map(cell).unwrap_or_default()).collect();
        writeln!(out, "| {} | {} |", label(header), cells.join(" | "))?;
    }
    writeln!(out)
}

fn cell(view: &CellView) -> String {
    let mark = match view.verdict {
        Verdict::Expected => "✅",
        Verdict::Unexpected => "❌",
        Verdict::Blocked => "⛔",
        Verdict::NotRun => "⏹",
        Verdict::Pruned => "➖",
    };
    let mut said = format!("{mark} {}", text(&view.text));
    match view.verdict {
        _ if view.leak => said.push_str("<br>**LEAK**"),
        Verdict::Unexpected | Verdict::Blocked | Verdict::NotRun => {
            said.push_str(&format!("<br>{}", view.verdict.shouted()));
        }
        Verdict::Expected | Verdict::Pruned => {}
    }
    for (holds, word) in [(view.flaky, "flaky"), (view.privileged, "privileged")] {
        if holds {
            said.push_str(&format!(" ({word})"));
        }
    }
    if view.cells > 1 {
        said.push_str(&format!(" ({} of {} not green)", view.failing, view.cells));
    }
    said
}

fn group(failure: &Failure<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(cell) = failure.cells.first() else { return Ok(()) };
    let code =
        cell.code.map_or_else(|| "no result".to_owned(), |code| format!("`{code}` {}", code.exit_code()));
    let stage = cell.stage.as_ref().map(|stage| format!(" at {}", text(stage))).unwrap_or_default();
    writeln!(out, "**{}** {code}{stage}\n", cell.verdict.shouted())?;
    writeln!(out, "- for: {}", named(&failure.cells))?;
    if let Some(error) = &cell.first_error {
        writeln!(out, "- error: {}", text(&format!("{}: {}", error.kind, error.message)))?;
    }
    if let Some(cause) = &cell.cause {
        writeln!(out, "- cause: {}", text(&format!("{} [{}]", cause.summary, cause.id)))?;
    }
    if let Some(action) = &cell.next_action {
        writeln!(out, "- next: {}", text(action))?;
    }
    if let Some(command) = &cell.command {
        let command = visible(command);
        let fence = fence(&command);
        writeln!(out, "\n<details><summary>run</summary>\n\n{fence}sh\n{command}\n{fence}\n\n</details>")?;
    }
    writeln!(out)
}

fn named(cells: &[&SummaryCell]) -> String {
    let named: Vec<String> = cells.iter().take(NAMED).map(|cell| text(&cell.coordinates())).collect();
    match cells.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// More backticks than the longest run of them inside.
fn fence(inside: &str) -> String {
    let longest = inside.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Plain text: what Markdown, HTML or a forge would make something of becomes a character reference.
fn text(raw: &str) -> String {
    // A forge makes a link of a name that begins so, even without a scheme.
    let shown = visible(raw);
    let marked = shown.chars().fold(String::with_capacity(raw.len()), |mut out, c| {
        if c.is_ascii_punctuation()
            && !matches!(c, ',' | '.' | ';' | '(' | ')' | '?' | '%' | '"' | '\'' | '/' | '-')
        {
            out.push_str(&format!("&#{};", u32::from(c)));
        } else {
            out.push(c);
        }
        out
    });
    marked.replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::super::{Style, format};
    use super::*;
    use crate::table::Layout;
    use crate::testing;

    #[test]
    fn a_mixed_run() {
        let summary = testing::mixed().summary();
        let layout = Layout::of(&summary);
        let view = View { summary: &summary, layout: &layout, style: Style::default() };
        let mut out = Vec::new();
        format("markdown").unwrap().render.render(&view, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn nothing_is_left_that_means_something() {
        let hostile = "<img src=x>|`**a** [b](http://c) @all #1 ::error::\u{1b}[2J ![x](y) \\ ~~s~~ a_b_";
        let shown = text(hostile);
        assert!(
            !shown
                .contains(['<', '>', '|', '`', '*', '[', ']', '@', ':', '\u{1b}', '!', '\\', '~', '_', '=']),
            "{shown}"
        );
        assert_eq!(text("see www.evil.example"), "see www&#46;evil.example");
        assert_eq!(fence("a ```` b"), "`````");
    }
}
