//! One line per cell, for spreadsheets and scripts.
//!
//! Text that a spreadsheet would take for a formula is made text: containers and engines may have written it.

use std::io;

use super::{Render, View};
use crate::summary::{SummaryCell, visible};

pub(super) struct Csv;

/// The columns, in order.
const COLUMNS: [&str; 23] = [
    "id",
    "image",
    "variant",
    "family",
    "stack",
    "visibility",
    "host",
    "device",
    "verdict",
    "flaky",
    "code",
    "exit_code",
    "container_exit_code",
    "stage",
    "cause",
    "next_action",
    "first_error",
    "leak",
    "reason",
    "attempts",
    "duration_ms",
    "ref",
    "digest",
];

impl Render for Csv {
    fn render(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(COLUMNS)?;
        for cell in &view.summary.cells {
            writer.write_record(fields(cell).iter().map(|field| harmless(field)))?;
        }
        writer.flush()
    }
}

fn fields(cell: &SummaryCell) -> [String; COLUMNS.len()] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let error = cell.first_error.as_ref().map(|error| format!("{}: {}", error.kind, error.message));
    [
        cell.id.to_string(),
        cell.image.clone(),
        cell.variant.clone(),
        cell.family.clone(),
        cell.stack.map(|stack| stack.as_str().to_owned()).unwrap_or_default(),
        cell.visibility.clone(),
        cell.host.clone(),
        cell.device.clone(),
        cell.verdict.to_string(),
        cell.flaky.to_string(),
        cell.code.map(|code| code.to_string()).unwrap_or_default(),
        number(cell.exit_code),
        number(cell.container_exit_code),
        text(&cell.stage),
        cell.cause.as_ref().map(|cause| cause.id.clone()).unwrap_or_default(),
        text(&cell.next_action),
        error.unwrap_or_default(),
        text(&cell.leak),
        text(&cell.reason),
        cell.attempts.to_string(),
        number(cell.duration_ms),
        cell.reference.clone(),
        text(&cell.digest),
    ]
}

fn number(value: Option<impl std::fmt::Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A formula begins with one of these; a number, or a lone dash, is none.
/// Source: OWASP, "CSV Injection".
fn harmless(field: &str) -> String {
    let shown = visible(field);
    let begins = shown.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let plain = shown == "-" || shown.parse::<f64>().is_ok();
    if begins && !plain { format!("'{shown}") } else { shown.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::{Style, format};
    use super::*;
    use crate::table::Layout;
    use crate::testing;

    #[test]
    fn every_cell_is_a_record_and_reads_back() {
        let summary = testing::mixed().summary();
        let layout = Layout::of(&summary);
        let view = View { summary: &summary, layout: &layout, style: Style::default() };
        let mut out = Vec::new();
        format("csv").unwrap().render.render(&view, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        assert_eq!(reader.headers().unwrap(), COLUMNS.as_slice());
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let ids: Vec<&str> = records.iter().map(|record| &record[0]).collect();
        let expected: Vec<&str> = summary.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids, expected);
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn formulas_become_text_and_numbers_stay() {
        assert_eq!(harmless("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
        assert_eq!(harmless("@SUM(1)"), "'@SUM(1)");
        assert_eq!(
            (harmless("-1").as_str(), harmless("-").as_str(), harmless("a=b").as_str()),
            ("-1", "-", "a=b")
        );
        assert!(
            harmless("\t=1").starts_with("\\u{9}"),
            "what steers is spelled out, and no formula begins so"
        );
    }
}
