//! The Python probe: an embedded script in the image's own interpreter, and the judgement of what it says.
//!
//! Main function: [`probe`]. It knows stages and codes, and starts processes only through [`crate::process`].

mod compute;
mod crash;
mod facts;
mod judge;
mod message;
mod progress;
mod session;

use std::path::Path;
use std::time::Duration;

use gpusweep_report::{Check, Code, Execution, Outcome, Pytorch, Runtime, Stage};

use judge::Judged;
pub(crate) use judge::{Asked, stopped};
use session::{Allowance, Session};

use crate::interpreter::Interpreter;
use crate::privacy::Private;
use crate::process::{Job, StartError, Supervisor};
use crate::verdict::{Fault, Verdict};
use crate::{Limits, errno, privacy};

/// The script; its first line is made by [`script`].
const SCRIPT: &str = include_str!("worker.py");

/// What the probe found.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) verdict: Verdict,
    pub(crate) runtime: Runtime,
    pub(crate) pytorch: Option<Pytorch>,
    pub(crate) execution: Option<Execution>,
    pub(crate) checks: Vec<Check>,
    /// The last that the worker printed on stderr.
    pub(crate) said: String,
}

/// Runs the check in an interpreter.
pub(crate) fn probe(
    supervisor: &Supervisor,
    interpreter: Option<&Interpreter>,
    asked: Asked<'_>,
    compute: Duration,
    limits: &Limits,
    private: &Private,
) -> Probed {
    let Some(interpreter) = interpreter else {
        let message =
            "there is no Python interpreter: neither configured, nor in an environment, nor on PATH";
        return not_started(Code::TorchMissing, Fault::new("NotFound", message), None, private);
    };
    let job = Job {
        program: interpreter.path.clone(),
        // The dash and no flags: -I, -E, -s and -S hide PYTHONPATH, user site or the environment, and with them torch.
        arguments: vec!["-".into()],
        input: script,
        subject: asked.device.to_owned(),
    };
    let allowance = Allowance { import: limits.import.max(compute), compute };
    let mut session = Session::start(asked.device != "cpu", allowance);
    match supervisor.supervise(&job, &mut session, limits.settle) {
        Err(StartError(error)) => {
            let (code, fault) = start_fault(&error, &interpreter.path);
            not_started(code, fault, Some(interpreter), private)
        }
        Ok(ended) => {
            let runtime = facts::runtime(session.runtime.as_ref(), Some(interpreter.how), private);
            let pytorch = session.pytorch.take().map(|torch| facts::pytorch(*torch, private));
            let Judged { verdict, execution, checks } = judge::judge(session, &ended, asked);
            Probed { verdict, runtime, pytorch, execution, checks, said: ended.stderr }
        }
    }
}

/// The script with its first line, which keeps the command line of the worker as plain as a user's.
fn script(device: &str, report_fd: i32) -> String {
    format!("CONFIG = {{\"fd\": {report_fd}, \"device\": \"{device}\"}}\n{SCRIPT}")
}

fn not_started(code: Code, fault: Fault, interpreter: Option<&Interpreter>, private: &Private) -> Probed {
    Probed {
        verdict: Verdict::failed(code, Stage::Interpreter, fault),
        runtime: facts::runtime(None, interpreter.map(|interpreter| interpreter.how), private),
        pytorch: None,
        execution: None,
        checks: vec![Check { name: Stage::Interpreter, outcome: Outcome::Failed, elapsed_ms: 0 }],
        said: String::new(),
    }
}

/// An interpreter that cannot run is the same as no torch: there is nothing to import it with. A machine that has no
/// room for another process says nothing of either.
fn start_fault(error: &std::io::Error, path: &Path) -> (Code, Fault) {
    let name = privacy::file_name(path).unwrap_or_else(|| "python".to_owned());
    let errno = errno::of(error);
    match errno.as_str() {
        // The kernel says the same of a file that is gone and of one whose loader or `#!` interpreter is gone.
        "ENOENT" => {
            let message = format!("{name}, or the loader that it needs, does not exist");
            (Code::TorchMissing, Fault::new("NotFound", message))
        }
        "EAGAIN" | "ENOMEM" | "EMFILE" | "ENFILE" | "EINTR" => {
            (Code::WorkerFailed, Fault::new(&errno, format!("{name} cannot be started: {errno}")))
        }
        _ => (Code::TorchMissing, Fault::new(&errno, format!("{name} cannot be executed: {errno}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_machine_is_not_blamed_on_the_image() {
        let code = |errno: rustix::io::Errno| start_fault(&errno.into(), Path::new("/x/python")).0;
        assert_eq!(code(rustix::io::Errno::AGAIN), Code::WorkerFailed);
        assert_eq!(code(rustix::io::Errno::NOEXEC), Code::TorchMissing);
        assert_eq!(code(rustix::io::Errno::NOENT), Code::TorchMissing);
    }

    #[test]
    fn the_script_begins_with_its_settings() {
        assert!(
            script("cuda:3", 64)
                .starts_with("CONFIG = {\"fd\": 64, \"device\": \"cuda:3\"}\n\"\"\"The worker")
        );
    }
}
