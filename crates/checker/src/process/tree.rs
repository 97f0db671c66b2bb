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
    let parents = parents();
    let mut below = HashSet::from([own.as_raw_nonzero().get()]);
    loop {
        let before = below.len();
        let found: Vec<i32> =
            parents.iter().filter(|(_, parent)| below.contains(parent)).map(|(pid, _)| *pid).collect();
        below.extend(found);
        if below.len() == before {
            break;
        }
    }
    for pid in below.into_iter().filter_map(Pid::from_raw).filter(|pid| *pid != own) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Every process and its parent, as far as /proc tells.
fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            Some((pid, parent_in(&stat)?))
        })
        .collect()
}

/// The fourth field; the second is a name in parentheses that may hold anything, parentheses and blanks included.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in(b"12 (python) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in(b"12 (a) R 9 (b) S 7 12"), Some(7));
        assert_eq!(parent_in(b"12 (\xff) Z 1 0"), Some(1));
        assert_eq!(parent_in(b""), None);
    }
}
