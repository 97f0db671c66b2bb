//! JUnit's XML, which CI systems show: a suite per image, a test case per cell.
//!
//! A cell that could not run, or was never reached, is an error and no skip: a skip never turns a run green.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::{Render, View};
use crate::ledger::Verdict;
use crate::summary::{SummaryCell, visible};

pub(super) struct Junit;

impl Render for Junit {
    fn render(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let summary = view.summary;
        let mut report = Report::new(visible(&summary.name).into_owned());
        let mut suites: Vec<TestSuite> = Vec::new();
        let mut index: HashMap<&str, usize> = HashMap::new();
        for cell in &summary.cells {
            let suite = *index.entry(&cell.image).or_insert_with(|| {
                suites.push(TestSuite::new(visible(&cell.image).into_owned()));
                suites.len() - 1
            });
            suites[suite].add_test_case(case(cell));
        }
        report.add_test_suites(suites);
        report.serialize(&mut *out).map_err(io::Error::other)?;
        writeln!(out)
    }
}

fn case(cell: &SummaryCell) -> TestCase {
    let mut case = TestCase::new(visible(&cell.coordinates()).into_owned(), status(cell));
    case.set_classname(visible(&cell.image).into_owned());
    case.set_time(Duration::from_millis(cell.duration_ms.unwrap_or(0)));
    if let Some(command) = &cell.command {
        case.set_system_out(format!("run: {}", visible(command)));
    }
    case
}

fn status(cell: &SummaryCell) -> TestCaseStatus {
    match cell.verdict {
        Verdict::Expected if cell.flaky => {
            let mut status = TestCaseStatus::success();
            let mut earlier = TestRerun::new(NonSuccessKind::Failure);
            earlier.set_message("an earlier attempt was not as expected");
            status.add_rerun(earlier);
            status
        }
        Verdict::Expected => TestCaseStatus::success(),
        Verdict::Pruned => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(visible(cell.reason.as_deref().unwrap_or("it cannot apply")).into_owned());
            status
        }
        Verdict::Unexpected => failed(cell, NonSuccessKind::Failure),
        Verdict::Blocked | Verdict::NotRun => failed(cell, NonSuccessKind::Error),
    }
}

fn failed(cell: &SummaryCell, kind: NonSuccessKind) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    let code = cell.code.map_or_else(|| "NOT_RUN".to_owned(), |code| code.to_string());
    let expected: Vec<&str> = cell.expected.iter().map(|code| code.as_str()).collect();
    let mut message = format!("{code}, expected {}", expected.join(" or "));
    if let Some(leak) = &cell.leak {
        message = format!("LEAK: {leak}");
    }
    status.set_type(code);
    status.set_message(visible(&message).into_owned());
    let mut lines = Vec::new();
    if let Some(error) = &cell.first_error {
        lines.push(format!("error: {}: {}", error.kind, error.message));
    }
    lines.extend(cell.cause.as_ref().map(|cause| format!("cause: {} [{}]", cause.summary, cause.id)));
    lines.extend(cell.next_action.as_ref().map(|action| format!("next: {action}")));
    let shown: Vec<String> = lines.iter().map(|line| visible(line).into_owned()).collect();
    status.set_description(shown.join("\n"));
    status
}

#[cfg(test)]
mod tests {
    use super::super::{Style, format};
    use super::*;
    use crate::table::Layout;
    use crate::testing;

    #[test]
    fn every_cell_is_a_case_and_no_skip_hides_what_did_not_run() {
        let summary = testing::mixed().summary();
        let layout = Layout::of(&summary);
        let view = View { summary: &summary, layout: &layout, style: Style::default() };
        let mut out = Vec::new();
        format("junit").unwrap().render.render(&view, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let read = Report::deserialize_from_str(&text).unwrap();
        let count = |wanted: Verdict| summary.cells.iter().filter(|cell| cell.verdict == wanted).count();
        assert_eq!(read.tests, summary.cells.len());
        assert_eq!(read.failures, count(Verdict::Unexpected));
        assert_eq!(read.errors, count(Verdict::Blocked) + count(Verdict::NotRun));
        let skipped: usize = read.test_suites.iter().map(|suite| suite.disabled).sum();
        assert_eq!(skipped, count(Verdict::Pruned));
        insta::assert_snapshot!(text);
    }
}
