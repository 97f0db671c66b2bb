//! What the kernel says of kills for memory, of its own accord: an engine may listen too late, or not at all.
//!
//! Main function: [`kills`]. Source: the kernel's `admin-guide/cgroup-v2.rst` and `cgroup-v1/memory.rst`.

use std::fs;
use std::path::Path;

use crate::files::below;

/// The counters of this container's control group: version 2, then version 1. Both name the number the same way.
const COUNTERS: [&str; 2] = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];

/// How often the kernel has killed a process here for memory; none where it does not say.
pub(crate) fn kills(root: &Path) -> Option<u64> {
    let count =
        |text: String| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
    COUNTERS.iter().find_map(|path| count(fs::read_to_string(below(root, path)).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let files = [
            ("sys/fs/cgroup/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", Some(2)),
            (
                "sys/fs/cgroup/memory/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
                Some(5),
            ),
            ("sys/fs/cgroup/memory.events", "low 0\noom_kill many\n", None),
        ];
        for (path, text, expected) in files {
            let root = tempfile::tempdir().unwrap();
            assert_eq!(kills(root.path()), None);
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), text).unwrap();
            assert_eq!(kills(root.path()), expected, "{path}");
        }
    }
}
