//! Reading a report that came out of a container, where it is hostile until shown otherwise.
//!
//! Main function: [`Report::parse`]. It trusts nothing that the text says of itself.

use crate::paths::is_shared_interpreter;
use crate::{MESSAGE_LIMIT, Report, SCHEMA, Stage, Status, is_steering, one_line};

/// The longest report, in bytes. A real one has a few thousand.
pub const MAX_BYTES: usize = 64 * 1024;

/// The longest single string of a report, in characters.
const MAX_STRING: usize = 512;

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// There is more text than any report has.
    #[error("the report is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// It is not JSON, or not of this shape.
    #[error("the report is not valid JSON of {SCHEMA}")]
    Shape(#[source] serde_json::Error),
    /// It is of another schema.
    #[error("the report says that its schema is `{0}`, not {SCHEMA}")]
    Schema(String),
    /// It contradicts itself.
    #[error("the report contradicts itself: {0}")]
    Inconsistent(&'static str),
    /// A string is longer than any honest one.
    #[error("the report's field {0} is too long or has control or invisible characters")]
    Text(String),
}

impl Report {
    /// Reads and validates a report.
    ///
    /// # Errors
    /// Where the text is too long, not JSON, of another schema, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_BYTES {
            return Err(Invalid::TooLong);
        }
        let value: serde_json::Value = serde_json::from_str(text).map_err(Invalid::Shape)?;
        check_schema(&value)?;
        check_strings(&value, "")?;
        // From the text, not the value: a repeated field is an error only there.
        let report: Self = serde_json::from_str(text).map_err(Invalid::Shape)?;
        report.check()?;
        Ok(report)
    }

    fn check(&self) -> Result<(), Invalid> {
        let require = |holds: bool, what| if holds { Ok(()) } else { Err(Invalid::Inconsistent(what)) };
        require(self.exit_code == self.code.exit_code(), "exit_code is not that of code")?;
        require((self.status == Status::Passed) == self.code.passed(), "status is not that of code")?;
        require((self.stage == Stage::Complete) == self.code.passed(), "stage is not that of code")?;
        require(!self.code.passed() || self.first_error.is_none(), "it passed, with a first error")?;
        if let Some(error) = &self.first_error {
            require(error.message.chars().count() <= MESSAGE_LIMIT, "first_error is too long")?;
        }
        let elsewhere = self.runtime.as_ref().and_then(|runtime| runtime.torch_elsewhere.as_deref());
        let is_place = |place: &str| is_shared_interpreter(place) || !place.contains('/');
        require(elsewhere.is_none_or(is_place), "torch_elsewhere is no place that images share")?;
        let verified =
            self.execution.as_ref().is_some_and(|run| run.product_verified && run.gradient_verified);
        require(!self.code.passed() || verified, "it passed without a verified product and gradient")?;
        require(
            !self.code.passed() || self.ran_where_asked(),
            "it passed on another device than the one asked for",
        )
    }

    /// A CPU result never stands in for a GPU, nor the other way round.
    fn ran_where_asked(&self) -> bool {
        let cpu = self.code == crate::Code::CpuCheckPassed;
        let ran_on = self.execution.as_ref().map(|run| run.device.as_str());
        ran_on == Some(self.request.device.as_str()) && (self.request.device == "cpu") == cpu
    }

    /// The same report with its free text cleaned once more, for a reader that does not trust the image.
    #[must_use]
    pub fn cleaned(mut self) -> Self {
        if let Some(error) = &mut self.first_error {
            error.message = one_line(&error.message, &[]);
        }
        self
    }
}

fn check_schema(value: &serde_json::Value) -> Result<(), Invalid> {
    match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(SCHEMA) | None => Ok(()),
        Some(other) => Err(Invalid::Schema(one_line(other, &[]))),
    }
}

/// No honest report needs one: each changes what a terminal or an editor shows.
fn is_unfit(c: char) -> bool {
    c.is_control() || is_steering(c)
}

fn check_strings(value: &serde_json::Value, at: &str) -> Result<(), Invalid> {
    let bad = |text: &str| text.chars().count() > MAX_STRING || text.chars().any(is_unfit);
    match value {
        serde_json::Value::String(text) if bad(text) => Err(Invalid::Text(at.to_owned())),
        serde_json::Value::Array(items) => items.iter().try_for_each(|item| check_strings(item, at)),
        serde_json::Value::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            let inner = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            if bad(key) { Err(Invalid::Text(at.to_owned())) } else { check_strings(item, &inner) }
        }),
        serde_json::Value::String(_)
        | serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Code, Execution, FirstError, Probe, Request};

    fn passed() -> Report {
        Report {
            schema: SCHEMA.into(),
            checker_version: "0.1.0".into(),
            status: Status::Passed,
            code: Code::CpuCheckPassed,
            exit_code: 0,
            stage: Stage::Complete,
            request: Request { device: "cpu".into(), timeout_s: 30, probe: Probe::Auto },
            runtime: None,
            pytorch: None,
            driver: None,
            execution: Some(Execution {
                device: "cpu".into(),
                product_verified: true,
                gradient_verified: true,
                loss: Some(196.0),
            }),
            exposure: None,
            host_check: None,
            checks: Vec::new(),
            first_error: None,
            cause: None,
        }
    }

    fn reparse(report: &Report) -> Result<Report, Invalid> {
        Report::parse(&serde_json::to_string(report).unwrap())
    }

    #[test]
    fn a_true_report_is_read_back_whole() {
        assert_eq!(reparse(&passed()).unwrap(), passed());
    }

    proptest! {
        #[test]
        fn any_finite_loss_is_read_back_exactly(loss in prop_oneof![any::<f64>(), 195.0..197.0]) {
            prop_assume!(loss.is_finite());
            let mut report = passed();
            if let Some(run) = &mut report.execution {
                run.loss = Some(loss);
            }
            prop_assert_eq!(reparse(&report).unwrap(), report);
        }
    }

    #[test]
    fn a_missing_block_is_not_the_same_as_null() {
        let mut value = serde_json::to_value(passed()).unwrap();
        value.as_object_mut().unwrap().remove("host_check");
        assert!(matches!(Report::parse(&value.to_string()), Err(Invalid::Shape(_))));
    }

    #[test]
    fn unknown_fields_are_refused() {
        let mut value = serde_json::to_value(passed()).unwrap();
        value["environment"] = "AWS=1".into();
        assert!(matches!(Report::parse(&value.to_string()), Err(Invalid::Shape(_))));
    }

    #[test]
    fn another_schema_is_named() {
        let mut report = passed();
        report.schema = "gpusweep.report/9".into();
        assert!(matches!(reparse(&report), Err(Invalid::Schema(found)) if found == "gpusweep.report/9"));
    }

    #[test]
    fn a_place_of_an_interpreter_is_no_way_to_tell_a_home() {
        let mut report = passed();
        let mut runtime = crate::Runtime {
            python_version: None,
            os_family: "Linux".into(),
            arch: "x86_64".into(),
            libc: None,
            interpreter: None,
            probe: Probe::Python,
            chosen: crate::Chosen::Asked,
            binding: None,
            torch_elsewhere: Some("/opt/venv/bin/python".into()),
            torch_shadowed: false,
        };
        report.runtime = Some(runtime.clone());
        assert!(reparse(&report).is_ok());
        runtime.torch_elsewhere = Some("/home/me/bin/python".into());
        report.runtime = Some(runtime);
        assert!(matches!(reparse(&report), Err(Invalid::Inconsistent(_))));
    }

    #[test]
    fn contradictions_are_refused() {
        let spoil: [fn(&mut Report); 6] = [
            |report| report.exit_code = 6,
            |report| report.status = Status::Failed,
            |report| report.stage = Stage::Import,
            |report| report.execution = None,
            |report| report.code = Code::GpuCheckPassed,
            |report| {
                report.first_error =
                    Some(FirstError { stage: Stage::Import, kind: "E".into(), message: String::new() });
            },
        ];
        for (number, spoil) in spoil.into_iter().enumerate() {
            let mut report = passed();
            spoil(&mut report);
            assert!(matches!(reparse(&report), Err(Invalid::Inconsistent(_))), "case {number}");
        }
    }

    #[test]
    fn floods_and_escapes_are_refused() {
        assert!(matches!(Report::parse(&" ".repeat(MAX_BYTES + 1)), Err(Invalid::TooLong)));
        let mut report = passed();
        for text in ["\u{1b}[2J", "\u{9b}2J", "\u{202e}x", "\u{61c}", "\u{ad}", "\u{fffa}", "\u{e0001}"] {
            report.checker_version = text.into();
            assert!(matches!(reparse(&report), Err(Invalid::Text(field)) if field == "checker_version"));
        }
    }
}
