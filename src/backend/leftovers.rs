//! Ending what a checker on this machine left behind because it was killed itself.
//!
//! Main type: [`Leftovers`]. A checker ends its worker and all below it; only where somebody ended the checker is there
//! anything to do. In a container the kernel does this; here a mark in the environment tells what belonged to it.

use std::time::{Duration, Instant};

use gpusweep_report::frame::Key;
use rustix::process::{Pid, Signal, getpid, kill_process};

/// The variable that holds the mark. Unlike the key's, everything below the checker inherits it.
pub(super) const VARIABLE: &str = "GPUSWEEP_ATTEMPT";

/// How long it may take until all is gone; what the kernel cannot end must not keep the sweep.
const LIMIT: Duration = Duration::from_secs(3);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// What belongs to one attempt.
pub(super) struct Leftovers {
    mark: String,
}

impl Leftovers {
    pub(super) fn of(key: &Key) -> Self {
        Self { mark: key.id().to_owned() }
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Kills until nothing with the mark is left.
    pub(super) async fn end(&self) {
        let until = Instant::now() + LIMIT;
        while self.kill_all() > 0 && Instant::now() < until {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn kill_all(&self) -> usize {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        let marked = numbers.filter(|pid| *pid != getpid() && self.is_marked(*pid));
        marked.filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
    }

    /// One that ended and waits for its parent has no environment any more.
    fn is_marked(&self, pid: Pid) -> bool {
        let wanted = format!("{VARIABLE}={}", self.mark);
        let found = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        found.is_ok_and(|found| found.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes()))
    }
}
