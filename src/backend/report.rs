//! From how a checker ended and what it printed to an attempt: the same rule for every back end.
//!
//! Main function: [`attempt`].

use gpusweep_report::frame::{Frame, HEADER_BYTES};
use gpusweep_report::{MAX_BYTES, Report, Request};

use super::{Attempt, chain};
use crate::model::{Applied, Cell, Device, Fault, FaultKind, KillReason, Observation, Phase};

/// Exit status of a process that was killed by SIGSYS: a seccomp profile that does not let the checker run.
const EXIT_SIGSYS: i64 = 128 + 31;

/// Signals by which somebody ends a process, by their numbers on Linux: HUP, INT, QUIT, KILL, TERM.
const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, 15];

/// The most that a checker prints on standard output, in bytes.
pub(super) const MAX_PRINTED: usize = MAX_BYTES + HEADER_BYTES;

/// A frame for one attempt, with a secret that nobody else knows.
pub(super) fn new_frame() -> std::io::Result<Frame> {
    let mut bytes = [0; 40];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled < bytes.len() {
        return Err(std::io::Error::other("the kernel gave too few random bytes"));
    }
    Ok(Frame::from_random(&bytes))
}

/// A checker that ended by itself, or was ended by somebody else than the sweep.
pub(super) struct Ended<'a> {
    /// The frame that this attempt's checker was given.
    pub(super) frame: &'a Frame,
    /// What it printed on standard output, up to the longest report.
    pub(super) stdout: &'a [u8],
    /// What is kept of all output.
    pub(super) log: Vec<u8>,
    /// Exit status; 128 and the signal where a signal ended it.
    pub(super) exit: i64,
    /// Whether the kernel killed something of it for memory.
    pub(super) oom_killed: bool,
    /// What the engine says it set.
    pub(super) applied: Applied,
}

/// What it came to.
pub(super) fn attempt(cell: &Cell, ended: Ended<'_>) -> Attempt {
    let Ended { frame, stdout, log, exit, oom_killed, applied } = ended;
    match read(cell, frame, stdout) {
        Printed::Valid(report, text) => {
            let observation = Observation::Reported { report, exit, applied, oom_killed };
            Attempt { observation, report: Some(text), log }
        }
        Printed::Unusable(problem) => Attempt::bare(without_report(problem, exit, oom_killed, applied), log),
    }
}

fn without_report(problem: String, exit: i64, oom_killed: bool, applied: Applied) -> Observation {
    if oom_killed {
        return Observation::Killed { reason: KillReason::OutOfMemory, exit, applied };
    }
    if exit == EXIT_SIGSYS {
        let message = "the checker was killed by SIGSYS: a seccomp profile forbids what it needs".to_owned();
        let fault = Fault { kind: FaultKind::CheckerNotRun, message };
        return Observation::NotStarted { phase: Phase::Running, fault };
    }
    match i32::try_from(exit - 128) {
        Ok(signal) if FROM_OUTSIDE.contains(&signal) => {
            Observation::Killed { reason: KillReason::Signal(signal), exit, applied }
        }
        // Any other signal is the checker's own end, as a crash is.
        Ok(_) | Err(_) => Observation::Garbled { problem, exit, applied },
    }
}

/// What a checker's standard output holds.
enum Printed {
    /// One valid report, with its text.
    Valid(Box<Report>, String),
    /// Anything else, and what is wrong with it.
    Unusable(String),
}

/// A checker prints its report in the frame of the attempt and nothing else; whatever differs was printed by something
/// that is not this attempt's checker.
fn read(cell: &Cell, frame: &Frame, stdout: &[u8]) -> Printed {
    if stdout.len() > MAX_PRINTED {
        return Printed::Unusable(format!("it printed more than {MAX_PRINTED} bytes on stdout"));
    }
    let Ok(text) = std::str::from_utf8(stdout) else {
        return Printed::Unusable("what it printed on stdout is not UTF-8".into());
    };
    let line = match frame.unwrap(text) {
        Ok(line) => line,
        Err(unframed) => return Printed::Unusable(unframed.to_string()),
    };
    match Report::parse(line) {
        Ok(report) => match foreign(cell, &report) {
            None => Printed::Valid(Box::new(report), line.to_owned()),
            Some(problem) => Printed::Unusable(problem.to_owned()),
        },
        Err(error) => Printed::Unusable(chain(&error)),
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

#[cfg(test)]
mod tests {
    use gpusweep_report::Code as CheckCode;

    use super::*;
    use crate::testing;

    fn frame() -> Frame {
        Frame::from_random(&[1; 40])
    }

    fn problem(stdout: &[u8]) -> String {
        match read(&testing::cell("it", "none", CheckCode::CpuCheckPassed), &frame(), stdout) {
            Printed::Valid(..) => panic!("taken for a report"),
            Printed::Unusable(problem) => problem,
        }
    }

    #[test]
    fn anything_but_one_report_is_named() {
        assert!(problem(b"").contains("no report"));
        assert!(problem(b"\n \n").contains("no report"));
        assert!(problem(b"hello").contains("something else"));
        assert!(problem(b"{\"code\":1}").contains("look-alike"));
        assert!(problem(frame().wrap("{\"schema\":\"other/1\"}").as_bytes()).contains("other/1"));
        assert!(problem(frame().wrap("not json").as_bytes()).contains("not valid JSON"));
        assert!(problem(b"\xff\xfe").contains("UTF-8"));
        assert!(problem(&vec![b' '; MAX_PRINTED + 1]).contains("more than"));
    }

    #[test]
    fn a_crash_is_told_from_a_kill_from_outside() {
        let cell = testing::cell("it", "none", CheckCode::CpuCheckPassed);
        let ended = |exit: i64, oom_killed: bool| {
            let applied = Applied::default();
            attempt(&cell, Ended { frame: &frame(), stdout: b"", log: Vec::new(), exit, oom_killed, applied })
                .observation
        };
        let killed = |reason| matches!(reason, Observation::Killed { .. });
        assert!(killed(ended(137, false)) && killed(ended(143, false)) && killed(ended(0, true)));
        assert!(matches!(ended(134, false), Observation::Garbled { .. }), "SIGABRT");
        assert!(matches!(ended(139, false), Observation::Garbled { .. }), "SIGSEGV");
        assert!(matches!(ended(11, false), Observation::Garbled { .. }));
        let not_run = matches!(&ended(159, false), Observation::NotStarted { fault, .. } if fault.kind == FaultKind::CheckerNotRun);
        assert!(not_run, "SIGSYS");
    }

    #[test]
    fn a_report_must_answer_what_was_asked() {
        let cell = testing::cell("it", "none", CheckCode::GpuUnavailable);
        let honest = testing::report(CheckCode::GpuUnavailable);
        let honest = Report { checker_version: env!("CARGO_PKG_VERSION").into(), ..honest };
        let taken = |report: &Report| {
            let printed = frame().wrap(&serde_json::to_string(report).unwrap());
            matches!(read(&cell, &frame(), printed.as_bytes()), Printed::Valid(..))
        };
        assert!(taken(&honest));
        let other_time = Request { timeout_s: 5, ..honest.request.clone() };
        assert!(!taken(&Report { request: other_time, ..honest.clone() }));
        let other_device = Request { device: "cuda:1".into(), ..honest.request.clone() };
        assert!(!taken(&Report { request: other_device, ..honest.clone() }));
        assert!(!taken(&Report { checker_version: "0.0.0".into(), ..honest }));
    }
}
