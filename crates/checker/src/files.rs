//! Looking at the image's files below a root, so that tests can make one up.
//!
//! Main functions: [`names_in`] and [`below`].

use std::path::{Path, PathBuf};

/// The names in a folder, sorted; none where it cannot be read.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// An absolute path of the image, below a root.
pub(crate) fn below(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    root.join(path.strip_prefix("/").unwrap_or(path))
}
