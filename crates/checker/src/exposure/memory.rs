//! Limits of memory that make data loaders and drivers fail.
//!
//! Main functions: [`shm_bytes`] and [`memlock_bytes`].

use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};

use crate::files::below;

pub(super) fn shm_bytes(root: &Path) -> Option<u64> {
    let shm = below(root, "/dev/shm");
    let found = statvfs(&shm).ok()?;
    // A plain folder has the size of the file system around it, which says nothing of shared memory.
    let around = statvfs(below(root, "/dev")).ok()?;
    if found.f_fsid == around.f_fsid && is_same_device(&shm, &below(root, "/dev")) {
        return None;
    }
    Some(found.f_blocks.saturating_mul(found.f_frsize))
}

fn is_same_device(one: &Path, other: &Path) -> bool {
    let device = |path| rustix::fs::stat(path).ok().map(|stat| stat.st_dev);
    device(one) == device(other)
}

/// The soft limit; null = unlimited.
pub(super) fn memlock_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_folder_is_no_shared_memory() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(shm_bytes(root.path()), None);
        std::fs::create_dir_all(root.path().join("dev/shm")).unwrap();
        assert_eq!(shm_bytes(root.path()), None);
    }
}
