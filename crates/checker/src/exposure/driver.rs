//! The kernel drivers, as the host's kernel shows them in every container.
//!
//! Main functions: [`nvidia_driver`] and [`kfd_gpu_nodes`].

use std::path::Path;

use crate::files::{below, names_in};

/// Version of the loaded NVIDIA kernel driver.
pub(super) fn nvidia_driver(root: &Path) -> Option<String> {
    version_in(&std::fs::read_to_string(below(root, "/proc/driver/nvidia/version")).ok()?)
}

pub(crate) fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_ascii_whitespace().find(|word| is_version(word)).map(str::to_owned)
}

/// Two or three numbers with dots between.
fn is_version(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && word.len() <= 32 && parts.iter().all(is_number)
}

/// GPU nodes of the AMD kernel driver's topology; its processors are nodes too, with a `gpu_id` of 0.
pub(super) fn kfd_gpu_nodes(root: &Path) -> Option<u32> {
    let nodes = below(root, "/sys/class/kfd/kfd/topology/nodes");
    if !nodes.is_dir() {
        return None;
    }
    let is_gpu = |name: &String| {
        let id = std::fs::read_to_string(nodes.join(name).join("gpu_id")).unwrap_or_default();
        id.trim().parse::<u64>().is_ok_and(|id| id != 0)
    };
    u32::try_from(names_in(&nodes).iter().filter(|name| is_gpu(name)).count()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(line: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/driver/nvidia")).unwrap();
        std::fs::write(root.path().join("proc/driver/nvidia/version"), line).unwrap();
        nvidia_driver(root.path())
    }

    #[test]
    fn both_kinds_of_nvidia_driver_tell_their_version() {
        let closed =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC";
        assert_eq!(driver(closed).as_deref(), Some("535.54.03"));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159  Release Build  (x@y)\n";
        assert_eq!(driver(open).as_deref(), Some("580.159"));
        assert_eq!(driver("nothing here"), None);
    }

    #[test]
    fn processors_of_the_topology_are_not_counted() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(kfd_gpu_nodes(root.path()), None);
        for (node, id) in [("0", "0\n"), ("1", "51150\n"), ("2", "7\n")] {
            let node = root.path().join("sys/class/kfd/kfd/topology/nodes").join(node);
            std::fs::create_dir_all(&node).unwrap();
            std::fs::write(node.join("gpu_id"), id).unwrap();
        }
        assert_eq!(kfd_gpu_nodes(root.path()), Some(2));
    }
}
