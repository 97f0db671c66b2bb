//! `--format json-lines`: what happens in a sweep, as it happens, for other programs.
//!
//! Main type: [`Stream`]. Lines are the journal's facts; in place of what was observed raw, the end of an attempt has the
//! cell's row, and the end of the run what it came to.

use std::collections::HashMap;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::event::{Event, EventKind};
use crate::ledger::Ledger;
use crate::model::CellId;
use crate::plan::{Plan, PlannedCell};
use crate::render::escaped;
use crate::summary::{Counts, Summary};

/// The name that `--format` takes.
pub(super) const NAME: &str = "json-lines";

/// Writes to standard output until nobody reads it any more.
pub(super) struct Stream<'a> {
    cells: HashMap<&'a CellId, &'a PlannedCell>,
    broken: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let cells = plan.cells.iter().map(|planned| (planned.cell.id(), planned)).collect();
        Self { cells, broken: false }
    }

    /// Tells one event, which the ledger has taken in.
    pub(super) fn tell(&mut self, event: &Event, ledger: &Ledger) {
        if self.broken {
            return;
        }
        let line = self.line(event, ledger);
        // Whoever read went away: the run's own outcome still counts.
        self.broken = writeln!(std::io::stdout().lock(), "{}", escaped(line.to_string())).is_err();
    }

    fn line(&self, event: &Event, ledger: &Ledger) -> Value {
        let mut line = serde_json::to_value(event).unwrap_or_default();
        let Some(fields) = line.as_object_mut() else { return line };
        if let EventKind::AttemptFinished { cell, .. } = &event.kind {
            fields.remove("observation");
            let row = self.cells.get(cell).map(|planned| Summary::row(planned, ledger));
            fields.insert("row".to_owned(), json!(row));
        }
        if let EventKind::RunFinished { .. } = &event.kind {
            let counts = Counts::of(ledger.records().map(crate::ledger::Record::verdict));
            fields.insert("green".to_owned(), ledger.green().into());
            fields.insert("counts".to_owned(), json!(counts));
        }
        line
    }
}
