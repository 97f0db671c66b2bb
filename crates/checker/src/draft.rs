//! From findings to the one line that is printed.
//!
//! Main type: [`Draft`]. Nothing leaves that the report crate's own reader would refuse.

use gpusweep_report::{
    Cause, Check, Code, Driver, Execution, Exposure, FirstError, HostCheck, Outcome, Pytorch, Report,
    Request, Runtime, SCHEMA, Stage, Status,
};

use crate::privacy::Private;
use crate::verdict::{Fault, Verdict};

/// Findings so far.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) request: Request,
    pub(crate) verdict: Verdict,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) pytorch: Option<Pytorch>,
    pub(crate) driver: Option<Driver>,
    pub(crate) execution: Option<Execution>,
    pub(crate) exposure: Option<Exposure>,
    pub(crate) host_check: Option<HostCheck>,
    pub(crate) checks: Vec<Check>,
    /// Its texts are ours; nothing of the image is in them but fixed places and names.
    pub(crate) cause: Option<Cause>,
    /// The last that the worker printed on stderr. Never part of the report: it may hold anything.
    pub(crate) said: String,
}

impl Draft {
    /// One that has found nothing but a verdict.
    pub(crate) const fn bare(request: Request, verdict: Verdict) -> Self {
        Self {
            request,
            verdict,
            runtime: None,
            pytorch: None,
            driver: None,
            execution: None,
            exposure: None,
            host_check: None,
            checks: Vec::new(),
            cause: None,
            said: String::new(),
        }
    }

    /// The report could not be saved, which is then its outcome; what was found stays in it.
    pub(crate) fn fail_output(&mut self, fault: Fault) {
        self.verdict = Verdict::failed(Code::OutputWriteFailed, Stage::Output, fault);
        self.checks.push(Check { name: Stage::Output, outcome: Outcome::Failed, elapsed_ms: 0 });
    }

    /// The report as a line of JSON without its end, and its exit status.
    pub(crate) fn line(&self, private: &Private) -> (String, u8) {
        self.readable(private).unwrap_or_else(|| {
            let fault = Fault::new("UnreadableReport", "the report that was made is not a valid one");
            let verdict = Verdict::failed(Code::WorkerFailed, Stage::Interpreter, fault);
            let bare = Self::bare(self.request.clone(), verdict);
            // Every string of a bare report is ours.
            bare.readable(private).unwrap_or_else(|| (String::new(), Code::WorkerFailed.exit_code()))
        })
    }

    fn readable(&self, private: &Private) -> Option<(String, u8)> {
        let report = self.report(private);
        let text = serde_json::to_string(&report).ok()?;
        let same = Report::parse(&text).ok()? == report;
        same.then_some((text, report.exit_code))
    }

    /// The device asked for is no word of the worker's, whatever else it may be.
    fn without_private(&self, mut run: Execution, private: &Private) -> Execution {
        if run.device != self.request.device {
            run.device = private.token(&run.device);
        }
        run
    }

    fn report(&self, private: &Private) -> Report {
        let Verdict { code, stage, error } = self.verdict.clone();
        let first_error = error.map(|fault| FirstError {
            stage,
            kind: private.kind(&fault.kind),
            message: private.message(&fault.message),
        });
        Report {
            schema: SCHEMA.to_owned(),
            checker_version: env!("CARGO_PKG_VERSION").to_owned(),
            status: if code.passed() { Status::Passed } else { Status::Failed },
            code,
            exit_code: code.exit_code(),
            stage,
            request: self.request.clone(),
            runtime: self.runtime.clone(),
            pytorch: self.pytorch.clone(),
            driver: self.driver.clone(),
            execution: self.execution.clone().map(|run| self.without_private(run, private)),
            exposure: self.exposure.clone(),
            host_check: self.host_check.clone(),
            checks: self.checks.clone(),
            first_error,
            cause: self.cause.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reader_would_take_becomes_a_failed_worker() {
        let request = Request { device: "cpu".into(), timeout_s: 30, probe: gpusweep_report::Probe::Auto };
        // Passed without an execution: a contradiction.
        let draft = Draft::bare(request, Verdict::passed(Code::CpuCheckPassed));
        let (line, exit) = draft.line(&Private::default());
        let report = Report::parse(&line).unwrap();
        assert_eq!((report.code, exit), (Code::WorkerFailed, 11));
    }
}
