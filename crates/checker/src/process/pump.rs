//! The supervisor's loop: feeds and drains a child until it has said all, ended, or run out of time.
//!
//! Main function: [`Supervisor::supervise`]. It sleeps in `poll`, so it adds no latency; it keeps a
//! bounded end of what is printed, and it never waits for the end of a stream, which a grandchild may hold open.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::WaitStatus;

use super::child::{Child, Job, StartError, Stream};
use super::signals::{Stop, Supervisor};
use super::tail::Tail;
use super::tree::kill_descendants;

/// Size of one read.
const CHUNK: usize = 64 * 1024;

/// Reads of what a child left in a pipe when it ended; a grandchild could go on writing for ever.
const LAST_READS: usize = 64;

/// How long a killed group may take before the whole process table is searched for survivors.
const QUICK_END: Duration = Duration::from_millis(50);

/// Time between two searches.
const SEARCH_AGAIN: Duration = Duration::from_millis(10);

/// Time between two looks at everything where the kernel refuses to wait.
const WITHOUT_POLL: Duration = Duration::from_millis(10);

/// Makes sense of what a child says.
pub(crate) trait Listener {
    /// Bytes of its report.
    fn report(&mut self, bytes: &[u8]);
    /// Bytes that it printed on stdout; they are kept by none but the listener.
    fn printed(&mut self, bytes: &[u8]);
    /// When it is to be stopped.
    fn deadline(&self) -> Instant;
    /// Whether nothing more is wanted of it.
    fn is_finished(&self) -> bool;
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The listener had heard enough.
    Finished,
    /// By itself, with this exit status.
    Exited(i32),
    /// By a signal that was not the supervisor's.
    Signaled(i32),
    /// Killed at the deadline.
    Deadline,
    /// Killed because the supervisor was told to stop.
    Stopped(Stop),
}

/// How a child ended, and the last it printed on stderr.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) stderr: String,
}

/// One child under supervision.
struct Pump<'a, L> {
    child: Child,
    listener: &'a mut L,
    stderr: Tail,
    buffer: Vec<u8>,
}

impl Supervisor {
    /// Runs a program to its end, and leaves no process of it behind if the kernel can help it.
    pub(crate) fn supervise<L: Listener>(
        &self,
        job: &Job<'_>,
        listener: &mut L,
        settle: Duration,
    ) -> Result<Ended, StartError> {
        let child = Child::start(job)?;
        let mut pump = Pump { child, listener, stderr: Tail::default(), buffer: vec![0; CHUNK] };
        let end = pump.run(self);
        pump.settle(self, settle);
        // What others wrote before they were killed; nobody is left to write more.
        pump.read_rest();
        Ok(Ended { end, stderr: pump.stderr.text() })
    }
}

impl<L: Listener> Pump<'_, L> {
    fn run(&mut self, supervisor: &Supervisor) -> End {
        loop {
            self.child.reap();
            let left = self.listener.deadline().saturating_duration_since(Instant::now());
            let end = match (self.child.status, supervisor.stop()) {
                (Some(status), _) => Some(end_of(status)),
                (None, Some(stop)) => Some(End::Stopped(stop)),
                (None, None) => left.is_zero().then_some(End::Deadline),
            };
            if end.is_some() {
                // What it said before its end may still be on the way.
                self.read_rest();
            }
            if self.listener.is_finished() {
                return End::Finished;
            }
            if let Some(end) = end {
                return end;
            }
            self.wait(supervisor, left);
            supervisor.drain_wake();
        }
    }

    /// Sleeps until something happens, and moves what can be moved.
    fn wait(&mut self, supervisor: &Supervisor, left: Duration) {
        let outputs = self.child.outputs.len();
        let mut fds: Vec<_> =
            self.child.outputs.iter().map(|output| PollFd::new(&output.fd, PollFlags::IN)).collect();
        fds.push(PollFd::new(&supervisor.wake, PollFlags::IN));
        if let Some(stdin) = &self.child.stdin {
            fds.push(PollFd::new(stdin, PollFlags::OUT));
        }
        let ready: Vec<bool> = match poll(&mut fds, Some(&timespec(left))) {
            Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
            Err(Errno::INTR) => return,
            Err(_) => {
                // A worker can lower its parent's limit on descriptors, and poll obeys that; reading does not.
                std::thread::sleep(WITHOUT_POLL.min(left));
                vec![true; fds.len()]
            }
        };
        // From the last on, as an output that ended is taken out of the list.
        for index in (0..outputs).rev().filter(|index| ready[*index]) {
            self.read(index);
        }
        if ready.get(outputs + 1) == Some(&true) {
            self.feed();
        }
    }

    /// Reads once; tells whether there may be more.
    fn read(&mut self, index: usize) -> bool {
        let output = &self.child.outputs[index];
        match rustix::io::read(&output.fd, &mut self.buffer[..]) {
            Ok(count) if count > 0 => {
                let bytes = &self.buffer[..count];
                match output.stream {
                    Stream::Stdout => self.listener.printed(bytes),
                    Stream::Stderr => self.stderr.push(bytes),
                    Stream::Report => self.listener.report(bytes),
                }
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => false,
            Ok(_) | Err(_) => {
                self.child.outputs.remove(index);
                false
            }
        }
    }

    fn read_rest(&mut self) {
        for index in (0..self.child.outputs.len()).rev() {
            let mut reads = 0;
            while reads < LAST_READS && self.read(index) {
                reads += 1;
            }
        }
    }

    fn feed(&mut self) {
        let Some(stdin) = &self.child.stdin else { return };
        match rustix::io::write(stdin, &self.child.input) {
            Ok(count) => {
                self.child.input.drain(..count);
            }
            Err(Errno::AGAIN | Errno::INTR) => return,
            // It closed its input, or ended: what that means is told by how it ends.
            Err(_) => self.child.input.clear(),
        }
        if self.child.input.is_empty() {
            self.child.stdin = None;
        }
    }

    /// Kills the group, then everything else below, and reaps until nothing is left or the time is up.
    fn settle(&mut self, supervisor: &Supervisor, limit: Duration) {
        let until = Instant::now() + limit;
        let mut search = Instant::now() + QUICK_END;
        supervisor.restore_limits();
        self.child.kill_group();
        while self.child.reap() {
            let now = Instant::now();
            if now >= until {
                return;
            }
            let mut fds = [PollFd::new(&supervisor.wake, PollFlags::IN)];
            let pause = search.min(until).saturating_duration_since(now);
            match poll(&mut fds, Some(&timespec(pause))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => std::thread::sleep(WITHOUT_POLL.min(pause)),
            }
            supervisor.drain_wake();
            // By the clock and not by silence: where every generation ends at once, its end is always news.
            if Instant::now() >= search {
                kill_descendants();
                search = Instant::now() + SEARCH_AGAIN;
            }
        }
    }
}

fn end_of(status: WaitStatus) -> End {
    match status.terminating_signal() {
        Some(signal) => End::Signaled(signal),
        None => End::Exited(status.exit_status().unwrap_or(-1)),
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
