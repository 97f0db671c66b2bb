//! Device nodes, by opening them.
//!
//! Main function: [`nodes`]. `access` and `stat` say "ok" in every broken case: a device control group, a missing driver
//! and a driver that rejects its device show in `open` alone.

use std::path::Path;

use gpusweep_report::Node;
use rustix::fs::{Mode, OFlags, open, stat};

use crate::errno;
use crate::files::{below, names_in};

/// Listed also where they are missing, as their absence is what a reader looks for.
const ALWAYS: [&str; 3] = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd"];

/// More than any machine has.
const MAX_NODES: usize = 128;

pub(super) fn nodes(root: &Path) -> Vec<Node> {
    let mut names: Vec<String> = ALWAYS.iter().map(|name| (*name).to_owned()).collect();
    names.extend(matching(root, "/dev", "nvidia", |rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    }));
    names.extend(matching(root, "/dev/nvidia-caps", "", |_| true));
    names.extend(matching(root, "/dev/dri", "renderD", |_| true));
    names.extend(matching(root, "/dev", "dxg", str::is_empty));
    names.into_iter().take(MAX_NODES).map(|name| look_at(root, name)).collect()
}

fn matching(root: &Path, folder: &str, prefix: &str, accept: fn(&str) -> bool) -> Vec<String> {
    let plain = |name: &String| name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_graphic());
    let names = names_in(&below(root, folder)).into_iter().filter(plain);
    names
        .filter(|name| name.strip_prefix(prefix).is_some_and(accept))
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

fn look_at(root: &Path, node: String) -> Node {
    let path = below(root, &node);
    // Not blocking, for a FIFO in a hostile image; not for keeps, as the worker has to open it for itself.
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let open = match open(&path, flags, Mode::empty()) {
        Ok(_) => "ok".to_owned(),
        Err(error) => errno::name(error),
    };
    Node { node, open, gid: stat(&path).ok().map(|stat| stat.st_gid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_nodes_are_said_to_be_missing() {
        let root = tempfile::tempdir().unwrap();
        let found = nodes(root.path());
        let told: Vec<_> =
            found.iter().map(|node| (node.node.as_str(), node.open.as_str(), node.gid)).collect();
        assert_eq!(told, ALWAYS.map(|name| (name, "ENOENT", None)));
    }

    /// Doubles of device nodes: plain files open, folders do not.
    #[test]
    fn each_kind_of_node_is_opened() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["dev/nvidia-caps", "dev/dri", "dev/nvidia7"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [
            "kfd",
            "nvidia0",
            "nvidia-modeset",
            "nvidia-caps/nvidia-cap1",
            "dri/card0",
            "dri/renderD128",
            "dxg",
        ] {
            std::fs::write(root.path().join("dev").join(file), "").unwrap();
        }
        let told: Vec<_> = nodes(root.path()).into_iter().map(|node| (node.node, node.open)).collect();
        let expected = [
            ("/dev/nvidiactl", "ENOENT"),
            ("/dev/nvidia-uvm", "ENOENT"),
            ("/dev/kfd", "ok"),
            ("/dev/nvidia0", "ok"),
            ("/dev/nvidia7", "EISDIR"),
            ("/dev/nvidia-caps/nvidia-cap1", "ok"),
            ("/dev/dri/renderD128", "ok"),
            ("/dev/dxg", "ok"),
        ];
        assert_eq!(told, expected.map(|(node, open)| (node.to_owned(), open.to_owned())));
    }
}
