//! Who this process is, for comparing with the owners of device nodes.
//!
//! Main functions: [`uid`], [`groups`] and [`uid_map_identity`]. Numbers only: names would need look-ups, and tell more.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::{getegid, geteuid, getgroups};

use crate::files::below;

/// More than a report has room for.
const MAX_GROUPS: usize = 256;

pub(super) fn uid() -> u32 {
    geteuid().as_raw()
}

/// Effective and supplementary groups.
pub(super) fn groups() -> Vec<u32> {
    let mut groups = BTreeSet::from([getegid().as_raw()]);
    groups.extend(getgroups().unwrap_or_default().into_iter().map(rustix::process::Gid::as_raw));
    groups.into_iter().take(MAX_GROUPS).collect()
}

/// Whether user ids inside are those outside; null where it cannot be read.
pub(super) fn uid_map_identity(root: &Path) -> Option<bool> {
    let map = std::fs::read_to_string(below(root, "/proc/self/uid_map")).ok()?;
    let mut lines = map.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let first = lines.next()?;
    Some(first == ["0", "0", "4294967295"] && lines.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_user_is_told_from_an_unmapped_one() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(uid_map_identity(root.path()), None);
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let map = root.path().join("proc/self/uid_map");
        std::fs::write(&map, "         0          0 4294967295\n").unwrap();
        assert_eq!(uid_map_identity(root.path()), Some(true));
        std::fs::write(&map, "         0     100000      65536\n").unwrap();
        assert_eq!(uid_map_identity(root.path()), Some(false));
    }
}
