//! The Python probe: an embedded script in the image's own interpreter.
//!
//! Main function: [`probe`].

use std::path::Path;

use gpusweep_report::{Code, Probe, Stage};

use crate::interpreter::Interpreter;
use crate::process::{Job, StartError};
use crate::verdict::Fault;
use crate::worker::{Context, PYTHON, Probed, Worker, not_started, run};
use crate::{errno, privacy};

/// The script; its first line is made by [`script`].
const SCRIPT: &str = include_str!("worker.py");

/// Runs the check in an interpreter, without the variables named.
pub(super) fn probe(context: Context<'_>, interpreter: Option<&Interpreter>, without: &[&str]) -> Probed {
    let Some(interpreter) = interpreter else {
        let message =
            "there is no Python interpreter: neither configured, nor in an environment, nor on PATH";
        let end = (Code::TorchMissing, Stage::Interpreter, Fault::new("NotFound", message));
        return not_started(context, Probe::Python, None, end);
    };
    let job = Job {
        program: interpreter.path.clone(),
        // The dash and no flags: -I, -E, -s and -S hide PYTHONPATH, user site or the environment, and with them torch.
        arguments: vec!["-".into()],
        input: &|report_fd| script(context.asked.device, report_fd),
        without,
    };
    let worker = Worker { job, probe: Probe::Python, route: PYTHON, how: Some(interpreter.how) };
    run(context, &worker).unwrap_or_else(|StartError(error)| {
        let (code, fault) = start_fault(&error, &interpreter.path);
        not_started(context, Probe::Python, Some(interpreter.how), (code, Stage::Interpreter, fault))
    })
}

/// The script with its first line, which keeps the command line of the worker as plain as a user's.
fn script(device: &str, report_fd: i32) -> String {
    format!("CONFIG = {{\"fd\": {report_fd}, \"device\": \"{device}\"}}\n{SCRIPT}")
}

/// An interpreter that cannot run is the same as no torch: there is nothing to import it with. A machine that has no
/// room for another process says nothing of either, nor does a filter of system calls that forbids one (EPERM, ENOSYS; a
/// file that may not be executed is EACCES).
fn start_fault(error: &std::io::Error, path: &Path) -> (Code, Fault) {
    let name = privacy::file_name(path).unwrap_or_else(|| "python".to_owned());
    let errno = errno::of(error);
    match errno.as_str() {
        // The kernel says the same of a file that is gone and of one whose loader or `#!` interpreter is gone.
        "ENOENT" => {
            let message = format!("{name}, or the loader that it needs, does not exist");
            (Code::TorchMissing, Fault::new("NotFound", message))
        }
        "EAGAIN" | "ENOMEM" | "EMFILE" | "ENFILE" | "EINTR" | "EPERM" | "ENOSYS" => {
            (Code::WorkerFailed, Fault::new(&errno, format!("{name} cannot be started: {errno}")))
        }
        _ => (Code::TorchMissing, Fault::new(&errno, format!("{name} cannot be executed: {errno}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_machine_or_a_strict_one_is_not_blamed_on_the_image() {
        let code = |errno: rustix::io::Errno| start_fault(&errno.into(), Path::new("/x/python")).0;
        for errno in [rustix::io::Errno::AGAIN, rustix::io::Errno::PERM, rustix::io::Errno::NOSYS] {
            assert_eq!(code(errno), Code::WorkerFailed);
        }
        assert_eq!(code(rustix::io::Errno::ACCESS), Code::TorchMissing);
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
