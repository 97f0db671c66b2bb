//! Ending every process that a child left behind.
//!
//! Main type: [`Hunt`]. A process that made its own session left the child's group, but as the supervisor adopts orphans
//! it cannot leave the tree.

use std::collections::HashSet;
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, waitid};

/// The highest number that Linux gives to a process, where it cannot be asked.
const LAST_NUMBER: i32 = 1 << 22;

/// Looks at the whole process table at a time; what forks for ever is met again in the next.
const PASSES: usize = 8;

/// Numbers asked for between two looks at the time.
const BETWEEN_LOOKS: i32 = 1024;

/// A search for all processes below this one, and what one look knows of them. The next look begins anew: numbers are
/// given again to others.
#[derive(Debug)]
pub(super) struct Hunt {
    own: Pid,
    own_session: Option<Pid>,
    last_number: i32,
    /// Numbers of processes below; one that ended in the meantime may have left children.
    below: HashSet<Pid>,
    /// Sessions that were made below, in which there is nobody else.
    sessions: HashSet<Pid>,
}

impl Hunt {
    /// To be made while files can be opened: a worker may see to it that later none can.
    pub(super) fn new() -> Self {
        let own = getpid();
        let last = std::fs::read_to_string("/proc/sys/kernel/pid_max");
        Self {
            own,
            own_session: place_of("self").and_then(|place| place.session),
            last_number: last.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(LAST_NUMBER),
            below: HashSet::new(),
            sessions: HashSet::new(),
        }
    }

    /// Sends SIGKILL to all that are found.
    pub(super) fn kill_all(&mut self, until: Instant) {
        if self.own.is_init() {
            // As process 1, everything else in the namespace is a descendant; group "1" negated is the kernel's "all".
            let _ = kill_process_group(self.own, Signal::KILL);
            return;
        }
        for _ in 0..PASSES {
            match self.pass() {
                Some(0) => return,
                Some(_) => {}
                None => return self.kill_children_by_number(until),
            }
        }
    }

    /// One look; tells how many it met that were still alive.
    fn pass(&mut self) -> Option<usize> {
        self.below.clear();
        self.sessions.clear();
        let (mut seen, mut killed) = (0_usize, 0);
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Some(pid) = number(name).and_then(Pid::from_raw) else { continue };
            let Some(place) = place_of(name) else { continue };
            seen += 1;
            // At once: one that forks and ends is gone a moment later.
            killed += usize::from(self.kill_if_below(pid, place));
        }
        (seen > 0).then_some(killed)
    }

    fn kill_if_below(&mut self, pid: Pid, place: Place) -> bool {
        let is_below = place.parent == self.own
            || self.below.contains(&place.parent)
            || place.session.is_some_and(|session| self.sessions.contains(&session));
        if pid == self.own || !is_below {
            return false;
        }
        self.below.insert(pid);
        // A group is hit as a whole, also what it forks meanwhile. In the supervisor's own session it may have strangers.
        if let (Some(group), Some(session)) = (place.group, place.session)
            && place.session != self.own_session
        {
            self.sessions.insert(session);
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = kill_process(pid, Signal::KILL);
        !place.has_ended
    }

    /// Where nothing can be opened, each number is asked for whether it is a child. Their children become the
    /// supervisor's in turn, and are found the next time.
    fn kill_children_by_number(&self, until: Instant) {
        // Only looks: what ended is left for the one place that reaps.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let own = self.own.as_raw_nonzero().get();
        for number in (own + 1..=self.last_number).chain(2..own) {
            if number % BETWEEN_LOOKS == 0 && Instant::now() >= until {
                return;
            }
            let Some(pid) = Pid::from_raw(number) else { continue };
            if waitid(WaitId::Pid(pid), look).is_ok() {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Where a process stands; a group or session that began outside of this process space has no number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    parent: Pid,
    group: Option<Pid>,
    session: Option<Pid>,
    /// It waits to be reaped.
    has_ended: bool,
}

/// As far as /proc tells.
fn place_of(name: &str) -> Option<Place> {
    place_in(&std::fs::read(format!("/proc/{name}/stat")).ok()?)
}

/// A number of a process or group as /proc writes it; a negative one is none, and is none for `Pid` either.
fn number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|number| *number >= 0)
}

/// For the fuzzer, which has no use for what was read.
#[cfg(fuzzing)]
pub(crate) fn read_place(stat: &[u8]) {
    let _ = place_in(stat);
}

/// The third to the sixth field; the second is a name in parentheses that may hold anything, parentheses and blanks
/// included.
fn place_in(stat: &[u8]) -> Option<Place> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let mut numbers = fields.map_while(number);
    let mut next = || numbers.next().map(Pid::from_raw);
    Some(Place { parent: next()??, group: next()?, session: next()?, has_ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_behind_any_name() {
        let raw = |pid: Option<Pid>| pid.map_or(0, |pid| pid.as_raw_nonzero().get());
        let place = |stat: &[u8]| {
            let place = place_in(stat)?;
            Some([Some(place.parent), place.group, place.session].map(raw))
        };
        assert_eq!(place(b"12 (python) S 7 12 9 0"), Some([7, 12, 9]));
        assert_eq!(place(b"12 (a) R 9 (b) S 7 12 9"), Some([7, 12, 9]));
        assert_eq!(place(b"12 (\xff) Z 1 2 3"), Some([1, 2, 3]));
        assert!(place_in(b"12 (\xff) Z 1 2 3").unwrap().has_ended);
        assert_eq!(place(b"12 (x) S 1 12 0 0"), Some([1, 12, 0]), "a session from outside");
        assert_eq!(place(b"2 (kthreadd) S 0 0 0"), None, "the kernel's own");
        assert_eq!(place(b"12 (x) S -1 12 0 0"), None, "found by fuzzing");
        assert_eq!(place(b""), None);
    }
}
