//! The table of a terminal: as many columns side by side as fit, the rest in further tables below.
//!
//! Main function: [`tables`]. A verdict is a word in every cell, so that nothing is lost without colour.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table as Grid, presets};
use textwrap::core::display_width;

use super::Style;
use crate::ledger::Verdict;
use crate::summary::visible;
use crate::table::{Axis, CellView, Header, Table};

/// What padding and border add to a column.
const FRAME: usize = 3;

/// The tables, one after the other.
pub(super) fn tables(table: &Table, width: usize, style: Style) -> Vec<String> {
    chunks(table, width).into_iter().map(|columns| grid(table, &columns, width, style).to_string()).collect()
}

/// Columns that fit beside the row labels, and at least one.
fn chunks(table: &Table, width: usize) -> Vec<Vec<usize>> {
    let labels = table.rows.iter().map(|row| widest(&row_label(table, row)));
    let first = labels.chain([widest(&corner(table))]).max().unwrap_or(0) + FRAME + 1;
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for column in 0..table.columns.len() {
        let needs = column_width(table, column) + FRAME;
        match chunks.last_mut() {
            Some(chunk) if needs <= left => {
                chunk.push(column);
                left -= needs;
            }
            Some(_) | None => {
                chunks.push(vec![column]);
                left = width.saturating_sub(first + needs);
            }
        }
    }
    chunks
}

fn column_width(table: &Table, column: usize) -> usize {
    let cells = (0..table.rows.len()).filter_map(|row| table.cell(row, column));
    let header = widest(&column_label(table, &table.columns[column]));
    cells.map(|view| widest(&cell_text(view))).chain([header]).max().unwrap_or(0)
}

fn widest(text: &str) -> usize {
    text.lines().map(display_width).max().unwrap_or(0)
}

fn grid(table: &Table, columns: &[usize], width: usize, style: Style) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(presets::UTF8_FULL_CONDENSED);
    grid.set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    if style.color {
        grid.enforce_styling();
    } else {
        grid.force_no_tty();
    }
    let bold = |text: String| Cell::new_owned(text).add_attribute(Attribute::Bold);
    let headers = columns.iter().map(|column| bold(column_label(table, &table.columns[*column])));
    grid.set_header(std::iter::once(bold(corner(table))).chain(headers));
    for (index, row) in table.rows.iter().enumerate() {
        let cells = columns.iter().map(|column| {
            table.cell(index, *column).map_or_else(
                || Cell::new(""),
                |view| Cell::new_owned(cell_text(view)).fg(color(view.verdict)),
            )
        });
        grid.add_row(std::iter::once(Cell::new_owned(row_label(table, row))).chain(cells));
    }
    grid
}

fn corner(table: &Table) -> String {
    table.row_header.iter().map(|axis| axis.as_str()).collect::<Vec<_>>().join(" ")
}

fn row_label(table: &Table, row: &Header) -> String {
    label(&table.row_header, row, " ")
}

fn column_label(table: &Table, column: &Header) -> String {
    label(&table.column_header, column, "\n")
}

/// A device is only a number, and says so; a variant that the matrix does not have is left out.
fn label(axes: &[Axis], header: &Header, between: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (axis, label) in axes.iter().zip(&header.labels) {
        match axis {
            Axis::Device => parts.push(format!("device {}", visible(label))),
            Axis::Variant if label == "-" && axes.len() > 1 => {}
            Axis::Image | Axis::Variant | Axis::Visibility | Axis::Host | Axis::Stack | Axis::Family => {
                parts.push(visible(label).into_owned());
            }
        }
    }
    if header.privileged {
        parts.push("(privileged)".to_owned());
    }
    parts.join(between)
}

fn cell_text(view: &CellView) -> String {
    let mut verdict = if view.leak { "LEAK" } else { view.verdict.shouted() }.to_owned();
    if view.flaky {
        verdict.push_str(" (flaky)");
    }
    if view.privileged {
        verdict.push_str(" (privileged)");
    }
    match (view.cells, view.failing) {
        (1, _) => {}
        (cells, 0) => verdict = format!("{verdict}, {cells} cells"),
        (cells, failing) => verdict = format!("{verdict}, {failing} of {cells} not green"),
    }
    format!("{}\n{verdict}", visible(&view.text))
}

/// The darker shades, which can be read on a light background too.
const fn color(verdict: Verdict) -> Color {
    match verdict {
        Verdict::Expected => Color::DarkGreen,
        Verdict::Unexpected => Color::DarkRed,
        Verdict::Blocked => Color::DarkYellow,
        Verdict::NotRun => Color::DarkMagenta,
        Verdict::Pruned => Color::DarkGrey,
    }
}
