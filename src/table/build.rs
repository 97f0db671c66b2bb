//! Laying a summary out.
//!
//! Main type: [`Table`]. Several cells may fall on one place, where a layout leaves an axis out: the worst is shown.

use std::collections::HashMap;

use super::axis::place;
use super::{Axis, Layout, Value};
use crate::ledger::Verdict;
use crate::model::Code;
use crate::summary::{Summary, SummaryCell};

/// Stands where there is nothing to show.
const NOTHING: &str = "-";

/// A summary as rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The axes that the rows combine.
    pub row_header: Vec<Axis>,
    /// The axes that the columns combine.
    pub column_header: Vec<Axis>,
    /// Columns, in the order of the plan.
    pub columns: Vec<Header>,
    /// Rows, in the order of the plan.
    pub rows: Vec<Header>,
    /// Row by row; none where the plan has no such combination.
    pub cells: Vec<Option<CellView>>,
}

/// One row's, or one column's, place on its axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// One label per axis.
    pub labels: Vec<String>,
    /// Whether an exposure that takes everything at once is among its axes.
    pub privileged: bool,
}

/// What is shown at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellView {
    /// The chosen value of the worst cell.
    pub text: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether it passed only when tried again.
    pub flaky: bool,
    /// Whether any of the cells saw more of a GPU than it was given.
    pub leak: bool,
    /// Whether any of the cells is privileged and no header says so, since exposures are on neither side.
    pub privileged: bool,
    /// Its index among the summary's cells.
    pub shown: usize,
    /// How many cells fall on this place.
    pub cells: usize,
    /// How many of them are not green.
    pub failing: usize,
}

impl Table {
    /// Lays a summary out.
    #[must_use]
    pub fn build(summary: &Summary, layout: &Layout) -> Self {
        let rows = Headers::collect(summary, &layout.rows);
        let columns = Headers::collect(summary, &layout.columns);
        let width = columns.list.len();
        let mut cells: Vec<Option<CellView>> = vec![None; rows.list.len() * width];
        let said = [&layout.rows, &layout.columns].iter().any(|axes| axes.contains(&Axis::Visibility));
        for (index, cell) in summary.cells.iter().enumerate() {
            let place = rows.of_cell[index] * width + columns.of_cell[index];
            let privileged = cell.privileged() && !said;
            let view = CellView { privileged, ..CellView::of(cell, index, layout.value) };
            cells[place] = Some(match cells[place].take() {
                None => view,
                Some(earlier) => earlier.joined(view),
            });
        }
        Self {
            row_header: layout.rows.clone(),
            column_header: layout.columns.clone(),
            columns: columns.list,
            rows: rows.list,
            cells,
        }
    }

    /// What is shown at one place.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&CellView> {
        self.cells.get(row * self.columns.len() + column)?.as_ref()
    }
}

/// The headers of one side, and which of them each cell belongs to.
struct Headers {
    list: Vec<Header>,
    of_cell: Vec<usize>,
}

impl Headers {
    fn collect(summary: &Summary, axes: &[Axis]) -> Self {
        let mut seen: HashMap<Vec<&str>, usize> = HashMap::new();
        let mut out = Self { list: Vec::new(), of_cell: Vec::with_capacity(summary.cells.len()) };
        for cell in &summary.cells {
            let labels: Vec<&str> = axes.iter().map(|axis| place(*axis, cell)).collect();
            let header = *seen.entry(labels).or_insert_with_key(|labels| {
                let labels = labels.iter().map(|label| (*label).to_owned()).collect();
                out.list.push(Header { labels, privileged: false });
                out.list.len() - 1
            });
            out.list[header].privileged |= cell.privileged() && axes.contains(&Axis::Visibility);
            out.of_cell.push(header);
        }
        out
    }
}

impl CellView {
    fn of(cell: &SummaryCell, shown: usize, value: Value) -> Self {
        Self {
            text: text(cell, value),
            verdict: cell.verdict,
            flaky: cell.flaky,
            leak: cell.leak.is_some(),
            privileged: false,
            shown,
            cells: 1,
            failing: usize::from(!cell.verdict.green()),
        }
    }

    /// The worse of the two, the earlier where they are equally bad.
    fn joined(self, other: Self) -> Self {
        let (cells, failing) = (self.cells + other.cells, self.failing + other.failing);
        let (flaky, leak) = (self.flaky || other.flaky, self.leak || other.leak);
        let privileged = self.privileged || other.privileged;
        let worse = if severity(other.verdict) > severity(self.verdict) { other } else { self };
        Self { cells, failing, flaky, leak, privileged, ..worse }
    }
}

const fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pruned => 0,
        Verdict::Expected => 1,
        Verdict::NotRun => 2,
        Verdict::Blocked => 3,
        Verdict::Unexpected => 4,
    }
}

fn text(cell: &SummaryCell, value: Value) -> String {
    let stated = |code: Code| match cell.exit_mismatch() {
        Some(container) => format!("{}, container {container}", code.exit_code()),
        None => code.exit_code().to_string(),
    };
    let shown = match value {
        Value::Code => cell.code.map(|code| format!("{code} {}", stated(code))),
        Value::Exit => cell.code.map(stated),
        Value::Stage => cell.stage.clone(),
        Value::Cause => match &cell.cause {
            Some(cause) => Some(cause.id.clone()),
            None => cell.code.map(|code| code.to_string()),
        },
        Value::Time => cell.duration_ms.map(duration),
    };
    shown.unwrap_or_else(|| NOTHING.to_owned())
}

/// A wall time, in the unit that suits it.
#[must_use]
pub fn duration(milliseconds: u64) -> String {
    let tenths = milliseconds / 100;
    match milliseconds / 1000 {
        0..60 => format!("{}.{}s", tenths / 10, tenths % 10),
        seconds @ 60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}
