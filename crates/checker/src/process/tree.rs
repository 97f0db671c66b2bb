//! Ending every process that a child left behind.
//!
//! Main function: [`kill_descendants`]. A process that made its own session left the child's group, but as the
//! supervisor adopts orphans it cannot leave the tree.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

/// Sends SIGKILL to all processes below this one.
pub(super) fn kill_descendants() {
    let own = getpid();
    if own.is_init() {
        // As process 1, everything else in the namespace is a descendant; group "1" negated is the kernel's "all".
        let _ = kill_process_group(own, Signal::KILL);
        return;
    }
    let places = places();
    let mut below = HashSet::from([own]);
    loop {
        let before = below.len();
        let found: Vec<Pid> =
            places.iter().filter(|(_, place)| below.contains(&place.parent)).map(|(pid, _)| *pid).collect();
        below.extend(found);
        if below.len() == before {
            break;
        }
    }
    let own_session = places.get(&own).and_then(|place| place.session);
    below.remove(&own);
    for pid in &below {
        // One that forks and ends at once is gone before it is hit, but a group is hit as a whole. In a session that was
        // made below there is nobody else; in the supervisor's own, a group may have strangers.
        if let Some(Place { group: Some(group), session: Some(session), .. }) = places.get(pid)
            && Some(*session) != own_session
        {
            let _ = kill_process_group(*group, Signal::KILL);
        }
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// Where a process stands; a group or session that began outside of this process space has no number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    parent: Pid,
    group: Option<Pid>,
    session: Option<Pid>,
}

/// Every process and its place, as far as /proc tells.
fn places() -> HashMap<Pid, Place> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            Some((pid, place_in(&stat)?))
        })
        .collect()
}

/// The fourth to the sixth field; the second is a name in parentheses that may hold anything, parentheses and blanks
/// included.
fn place_in(stat: &[u8]) -> Option<Place> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut numbers = rest.split_ascii_whitespace().skip(1).map_while(|field| field.parse().ok());
    let mut next = || numbers.next().map(Pid::from_raw);
    Some(Place { parent: next()??, group: next()?, session: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_found_behind_any_name() {
        let number = |pid: Option<Pid>| pid.map_or(0, |pid| pid.as_raw_nonzero().get());
        let place = |stat: &[u8]| {
            let place = place_in(stat)?;
            Some([Some(place.parent), place.group, place.session].map(number))
        };
        assert_eq!(place(b"12 (python) S 7 12 9 0"), Some([7, 12, 9]));
        assert_eq!(place(b"12 (a) R 9 (b) S 7 12 9"), Some([7, 12, 9]));
        assert_eq!(place(b"12 (\xff) Z 1 2 3"), Some([1, 2, 3]));
        assert_eq!(place(b"12 (x) S 1 12 0 0"), Some([1, 12, 0]), "a session from outside");
        assert_eq!(place(b"2 (kthreadd) S 0 0 0"), None, "the kernel's own");
        assert_eq!(place(b""), None);
    }
}
