//! From what a checker printed to an observation: the same rule for every back end.

use gpusweep_report::{MAX_BYTES, Report, Request};

use crate::model::{Cell, Device};

/// What a checker's standard output holds.
pub(crate) enum Printed {
    /// One valid report, with its text.
    Valid(Box<Report>, String),
    /// Anything else, and what is wrong with it.
    Unusable(String),
}

/// A checker prints one line and nothing else; whatever differs was printed by something that is not the checker.
pub(crate) fn read(cell: &Cell, stdout: &[u8]) -> Printed {
    if stdout.len() > MAX_BYTES {
        return Printed::Unusable(format!("it printed more than {MAX_BYTES} bytes on stdout"));
    }
    let Ok(text) = std::str::from_utf8(stdout) else {
        return Printed::Unusable("what it printed on stdout is not UTF-8".into());
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next()) {
        (None, _) => Printed::Unusable("it printed no report on stdout".into()),
        (Some(_), Some(_)) => Printed::Unusable("it printed more than one line on stdout".into()),
        (Some(line), None) => match Report::parse(line) {
            Ok(report) => match foreign(cell, &report) {
                None => Printed::Valid(Box::new(report), line.to_owned()),
                Some(problem) => Printed::Unusable(problem.to_owned()),
            },
            Err(error) => Printed::Unusable(chain(&error)),
        },
    }
}

/// A report that answers another question than the one that was asked is none.
fn foreign(cell: &Cell, report: &Report) -> Option<&'static str> {
    let device = match cell.device {
        Device::Cpu => "cpu".to_owned(),
        Device::Gpu(index) => format!("cuda:{index}"),
    };
    let asked = Request { device, timeout_s: cell.checks.timeout_s, probe: cell.checks.probe };
    if report.checker_version != env!("CARGO_PKG_VERSION") {
        return Some("the report is of another version of the checker");
    }
    (report.request != asked).then_some("the report answers another request than the one that was made")
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use gpusweep_report::Code as CheckCode;

    use super::*;
    use crate::testing;

    fn problem(stdout: &[u8]) -> String {
        match read(&testing::cell("it", "none", CheckCode::CpuCheckPassed), stdout) {
            Printed::Valid(..) => panic!("taken for a report"),
            Printed::Unusable(problem) => problem,
        }
    }

    #[test]
    fn anything_but_one_report_is_named() {
        assert!(problem(b"").contains("no report"));
        assert!(problem(b"\n \n").contains("no report"));
        assert!(problem(b"{}\n{}\n").contains("more than one line"));
        assert!(problem(b"{\"schema\":\"other/1\"}").contains("other/1"));
        assert!(problem(b"not json").contains("not valid JSON"));
        assert!(problem(b"\xff\xfe").contains("UTF-8"));
        assert!(problem(&vec![b' '; MAX_BYTES + 1]).contains("more than"));
    }

    #[test]
    fn a_report_must_answer_what_was_asked() {
        let cell = testing::cell("it", "none", CheckCode::GpuUnavailable);
        let honest = testing::report(CheckCode::GpuUnavailable);
        let honest = Report { checker_version: env!("CARGO_PKG_VERSION").into(), ..honest };
        let taken = |report: &Report| {
            matches!(read(&cell, serde_json::to_string(report).unwrap().as_bytes()), Printed::Valid(..))
        };
        assert!(taken(&honest));
        let other_time = Request { timeout_s: 5, ..honest.request.clone() };
        assert!(!taken(&Report { request: other_time, ..honest.clone() }));
        let other_device = Request { device: "cuda:1".into(), ..honest.request.clone() };
        assert!(!taken(&Report { request: other_device, ..honest.clone() }));
        assert!(!taken(&Report { checker_version: "0.0.0".into(), ..honest }));
    }
}
