//! Tells whether the process that made a container is still at work.
//!
//! The name of a process is a digest of the machine's boot and of the process's number and start time: unique, and
//! worth nothing to whoever reads it on the engine.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Field 22 of `/proc/PID/stat`, counted behind the command's closing parenthesis (proc(5)).
const START_TIME: usize = 19;

/// The name of this process.
#[must_use]
pub(super) fn this() -> String {
    name(std::process::id()).unwrap_or_else(|| "unknown".to_owned())
}

/// Whether a process of this machine has that name.
#[must_use]
pub(super) fn is_alive(owner: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(name).any(|found| found == owner)
}

fn name(process: u32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(START_TIME)?;
    let digest = Sha256::digest(format!("{}:{process}:{start}", boot.trim()));
    Some(digest[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_known_and_a_dead_one_is_not() {
        assert!(is_alive(&this()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let owner = name(child.id()).unwrap();
        assert!(is_alive(&owner));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(&owner));
    }
}
