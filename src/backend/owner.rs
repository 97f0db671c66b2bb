//! Tells whether the process that made a container is still at work.
//!
//! The name of a process has two parts: a digest of the machine's boot and of the space of process numbers that it lives
//! in, and one of its own number and start time. They are unique, and worth nothing to whoever reads them on the engine.

use sha2::{Digest, Sha256};

use crate::model::hex;

/// Field 22 of `/proc/PID/stat`, counted behind the command's closing parenthesis (proc(5)).
const START_TIME: usize = 19;

/// The name of this process.
#[must_use]
pub(super) fn this() -> String {
    name(std::process::id()).unwrap_or_else(|| "unknown".to_owned())
}

/// What is known of the process of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It is at work.
    Alive,
    /// It ended.
    Dead,
    /// It belongs to another machine, another boot or another container, and cannot be looked for from here.
    Unknown,
}

/// Whether the process of that name is at work.
pub(super) fn life(owner: &str) -> Life {
    if space().is_none_or(|space| !owner.starts_with(&format!("{space}."))) {
        return Life::Unknown;
    }
    if is_alive(owner) { Life::Alive } else { Life::Dead }
}

fn is_alive(owner: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(name).any(|found| found == owner)
}

fn name(process: u32) -> Option<String> {
    let space = space()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(START_TIME)?;
    Some(format!("{space}.{}", short_digest(&format!("{space}:{process}:{start}"))))
}

/// This boot of this machine, and the space of process numbers here.
fn space() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(short_digest(&format!("{}:{}", boot.trim(), numbers.display())))
}

fn short_digest(text: &str) -> String {
    hex(&Sha256::digest(text)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_known_and_a_dead_one_is_not() {
        assert_eq!(life(&this()), Life::Alive);
        assert_eq!(life("0123456789abcdef.0123456789abcdef"), Life::Unknown);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let owner = name(child.id()).unwrap();
        assert_eq!(life(&owner), Life::Alive);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(life(&owner), Life::Dead);
    }
}
