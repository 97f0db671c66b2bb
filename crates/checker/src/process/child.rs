//! Starting a child in a process group of its own.
//!
//! Main types: [`Job`], what to start; `Child`, what was started.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use gpusweep_report::frame;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group};

/// A program to run under supervision.
pub(crate) struct Job<'a> {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// Makes the text for its standard input from the number of its report descriptor.
    pub(crate) input: &'a dyn Fn(i32) -> String,
    /// Variables that it does not inherit.
    pub(crate) without: &'a [&'a str],
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the program")]
pub(crate) struct StartError(#[from] pub(crate) io::Error);

/// What comes over a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
    Report,
}

/// The supervisor's end of a pipe that the child writes to.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stream: Stream,
    pub(super) fd: OwnedFd,
}

/// A started program and the supervisor's ends of its pipes.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    /// Set once it was reaped.
    pub(super) status: Option<WaitStatus>,
    pub(super) stdin: Option<OwnedFd>,
    /// Those that have not ended.
    pub(super) outputs: Vec<Output>,
    /// What is still to be written to its standard input.
    pub(super) input: Vec<u8>,
}

impl Child {
    pub(super) fn start(job: &Job<'_>) -> Result<Self, StartError> {
        let (their_stdin, stdin) = pipe()?;
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let (report, their_report) = pipe()?;
        for own in [&stdin, &stdout, &stderr, &report] {
            // Only the supervisor's ends: the child's are other descriptions, and print() must block as ever.
            fcntl_setfl(own, OFlags::NONBLOCK).map_err(io::Error::from)?;
        }
        let their_report = inheritable(their_report)?;
        let input = (job.input)(their_report.as_raw_fd()).into_bytes();
        let mut command = Command::new(&job.program);
        // Whoever has the frame's secret can make a report.
        for name in job.without.iter().chain([&frame::VARIABLE]) {
            command.env_remove(name);
        }
        let started = command
            .args(&job.arguments)
            .stdin(Stdio::from(their_stdin))
            .stdout(Stdio::from(their_stdout))
            .stderr(Stdio::from(their_stderr))
            .process_group(0)
            .spawn()?;
        drop(their_report);
        let pid = i32::try_from(started.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        prefer_for_memory_kill(pid);
        let outputs = vec![
            Output { stream: Stream::Stdout, fd: stdout },
            Output { stream: Stream::Stderr, fd: stderr },
            Output { stream: Stream::Report, fd: report },
        ];
        Ok(Self { pid, status: None, stdin: Some(stdin), outputs, input })
    }

    /// Reaps whatever ended, orphans included, and keeps the child's own status. Tells whether children are left.
    ///
    /// This is the only place that waits, so no status is lost to another waiter.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.pid => self.status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Also after the leader was reaped: members of the group keep its number from being given to another, and where
    /// there are none, all other numbers would have to be used up in between.
    pub(super) fn kill_group(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// The number stays the same across exec; no other child is started while it may be inherited. It is a high one where
/// possible, as wrapper scripts around an interpreter use the single digits for themselves.
fn inheritable(fd: OwnedFd) -> io::Result<OwnedFd> {
    let fd = fcntl_dupfd_cloexec(&fd, 64).unwrap_or(fd);
    fcntl_setfd(&fd, FdFlags::empty())?;
    Ok(fd)
}

/// Under a memory limit the kernel should end the worker: the supervisor then still tells the stage.
fn prefer_for_memory_kill(pid: Pid) {
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", pid.as_raw_nonzero()), "1000");
}
