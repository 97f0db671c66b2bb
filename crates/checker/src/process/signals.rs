//! What the kernel tells the supervisor: stop requests, and children that ended.
//!
//! Main type: [`Supervisor`], made once. As process 1 of a container nothing is delivered unless it is asked for, and
//! every orphan becomes this process's child; elsewhere the same is asked of the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use super::signal_name;

/// A request to stop, from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop(i32);

impl Stop {
    pub(crate) fn name(self) -> String {
        signal_name(self.0)
    }
}

/// The supervisor's ear for signals.
#[derive(Debug)]
pub(crate) struct Supervisor {
    stopped_by: Arc<AtomicUsize>,
    /// Readable after any signal; the byte itself means nothing.
    pub(super) wake: OwnedFd,
    limits: [(Resource, Rlimit); 5],
}

/// Limits without which the supervisor cannot do its work.
const NEEDED: [Resource; 5] =
    [Resource::Nofile, Resource::Fsize, Resource::As, Resource::Data, Resource::Cpu];

impl Supervisor {
    pub(crate) fn new() -> io::Result<Self> {
        let (wake, waker) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&wake, OFlags::NONBLOCK)?;
        let stopped_by = Arc::new(AtomicUsize::new(0));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            let value = usize::try_from(signal).unwrap_or(usize::MAX);
            signal_hook::flag::register_usize(signal, Arc::clone(&stopped_by), value)?;
            signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
        // Ignored, or a limit on file sizes would end the supervisor instead of failing the write of a report.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        // Where the kernel refuses, orphans go to process 1: they are then that one's to reap, and nothing else changes.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let limits = NEEDED.map(|resource| (resource, getrlimit(resource)));
        Ok(Self { stopped_by, wake, limits })
    }

    /// The first request to stop, if there was one.
    pub(crate) fn stop(&self) -> Option<Stop> {
        match self.stopped_by.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok().map(Stop),
        }
    }

    /// As they were at the start: whoever has the same user can lower them, a worker among others. Those that were lowered
    /// for good stay so, and what they forbid then fails as it would on any machine with such limits.
    pub(super) fn restore_limits(&self) {
        for (resource, limit) in &self.limits {
            let _ = setrlimit(*resource, *limit);
        }
    }

    /// Forgets wake-ups so far; what they were about is looked at after this, so none is lost.
    pub(super) fn drain_wake(&self) {
        let mut bytes = [0_u8; 64];
        while rustix::io::read(&self.wake, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }
}
