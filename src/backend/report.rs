//! From how a checker ended and what it printed to an attempt: the same rule for every back end.
//!
//! Main function: [`attempt`].

use gpusweep_report::frame::{KEY_BYTES, Key};
use gpusweep_report::{Report, Request};

use super::{Attempt, chain, pinned};
use crate::model::{Applied, Cell, Device, Fault, FaultKind, KillReason, Observation, Phase};

/// Exit status of a process that was killed by SIGSYS: a seccomp profile that does not let the checker run.
const EXIT_SIGSYS: i64 = 128 + 31;

/// Signals by which somebody ends a process, by their numbers on Linux: HUP, INT, QUIT, KILL, TERM.
const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, 15];

/// A checker that ended by itself, or was ended by somebody else than the sweep.
pub(super) struct Ended<'a> {
    /// What this attempt shares with its checker.
    pub(super) key: &'a Key,
    /// What it printed on standard output, up to the longest report in its frame and one byte more.
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

/// A key for one attempt.
///
/// # Errors
/// Where the kernel has no randomness: a key that can be guessed is none.
pub(super) fn key() -> Result<Key, Fault> {
    let mut bytes = [0; KEY_BYTES];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(count) if count == KEY_BYTES => Ok(Key::from_random(&bytes)),
        Ok(_) | Err(_) => {
            let message = "this machine has no randomness for the report's key".to_owned();
            Err(Fault { kind: FaultKind::CheckerNotRun, message })
        }
    }
}

/// What it came to.
pub(super) fn attempt(cell: &Cell, ended: Ended<'_>) -> Attempt {
    let Ended { key, stdout, log, exit, oom_killed, mut applied } = ended;
    match read(cell, key, stdout) {
        Printed::Valid(report, text) => {
            applied.strangers = pinned::strangers(cell, key, &report);
            let observation = Observation::Reported { report, exit, applied, oom_killed };
            Attempt { observation, report: Some(text), log }
        }
        // However the checker ended: what was made to be taken for its report is the finding.
        Printed::Forged(problem) => Attempt::bare(Observation::Garbled { problem, exit, applied }, log),
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
    /// What somebody made to look like one.
    Forged(String),
}

/// A checker prints its report in its frame and nothing else; whatever differs was printed by something that is not the
/// checker.
fn read(cell: &Cell, key: &Key, stdout: &[u8]) -> Printed {
    let text = match key.unwrap(stdout) {
        Ok(text) => text,
        Err(refused) if refused.is_forged() => return Printed::Forged(refused.to_string()),
        Err(refused) => return Printed::Unusable(refused.to_string()),
    };
    match Report::parse(text) {
        Ok(report) => match foreign(cell, &report) {
            None => Printed::Valid(Box::new(report), text.to_owned()),
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
    use gpusweep_report::frame::MAX_FRAMED;

    use super::*;
    use crate::testing;

    fn key() -> Key {
        Key::from_random(&[7; KEY_BYTES])
    }

    fn problem(stdout: &[u8]) -> String {
        match read(&testing::cell("it", "none", CheckCode::CpuCheckPassed), &key(), stdout) {
            Printed::Valid(..) => panic!("taken for a report"),
            Printed::Unusable(problem) | Printed::Forged(problem) => problem,
        }
    }

    #[test]
    fn anything_but_one_report_is_named() {
        let framed = |text: &str| key().wrap(text).into_bytes();
        assert!(problem(b"").contains("no report"));
        assert!(problem(b"hello\n").contains("not its report"));
        assert!(problem(&framed("{}").repeat(2)).contains("second report"));
        assert!(problem(b"{\"schema\":\"gpusweep.report/1\"}\n").contains("without a frame"));
        assert!(problem(&framed("{\"schema\":\"other/1\"}")).contains("other/1"));
        assert!(problem(&framed("not json")).contains("not valid JSON"));
        assert!(problem(&vec![b' '; MAX_FRAMED + 1]).contains("more than"));
    }

    #[test]
    fn no_two_attempts_share_a_key() {
        assert_ne!(super::key().unwrap(), super::key().unwrap());
    }

    #[test]
    fn a_crash_is_told_from_a_kill_from_outside() {
        let cell = testing::cell("it", "none", CheckCode::CpuCheckPassed);
        let ended = |exit: i64, oom_killed: bool| {
            let applied = Applied::default();
            let ended = Ended { key: &key(), stdout: b"", log: Vec::new(), exit, oom_killed, applied };
            attempt(&cell, ended).observation
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
            let printed = key().wrap(&serde_json::to_string(report).unwrap());
            matches!(read(&cell, &key(), printed.as_bytes()), Printed::Valid(..))
        };
        assert!(taken(&honest));
        let other_time = Request { timeout_s: 5, ..honest.request.clone() };
        assert!(!taken(&Report { request: other_time, ..honest.clone() }));
        let other_device = Request { device: "cuda:1".into(), ..honest.request.clone() };
        assert!(!taken(&Report { request: other_device, ..honest.clone() }));
        assert!(!taken(&Report { checker_version: "0.0.0".into(), ..honest }));
    }
}
