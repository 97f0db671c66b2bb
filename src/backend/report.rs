//! From what a checker printed to an observation: the same rule for every back end.

use gpusweep_report::{MAX_BYTES, Report};

/// What a checker's standard output holds.
pub(crate) enum Printed {
    /// One valid report, with its text.
    Valid(Box<Report>, String),
    /// Anything else, and what is wrong with it.
    Unusable(String),
}

/// A checker prints one line and nothing else; whatever differs was printed by something that is not the checker.
pub(crate) fn read(stdout: &[u8]) -> Printed {
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
            Ok(report) => Printed::Valid(Box::new(report), line.to_owned()),
            Err(error) => Printed::Unusable(chain(&error)),
        },
    }
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
    use super::*;

    fn problem(stdout: &[u8]) -> String {
        match read(stdout) {
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
}
