//! What can go wrong with a run folder.

use std::path::{Path, PathBuf};

/// A fault of a run folder. Texts name the file; the cause is the source.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The name is taken.
    #[error("the run folder `{}` already exists", .0.display())]
    Taken(PathBuf),
    /// Another controller holds it.
    #[error("a sweep is at work in this run folder: `{}` is locked", .0.display())]
    InUse(PathBuf),
    /// The path is not a run folder.
    #[error("`{}` is not a run folder: it has no {}", .0.display(), .1)]
    NotARun(PathBuf, &'static str),
    /// A file cannot be written.
    #[error("cannot write `{}`", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
    /// A file cannot be read.
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// A file is not what it must be.
    #[error("`{}` line {}: {}", .path.display(), .line, .what)]
    Damaged {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

impl JournalError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Taken(_) => Some("give --out the name of a folder that does not exist yet"),
            Self::InUse(_) => Some("wait for that sweep to end, or stop it with Ctrl-C"),
            Self::NotARun(..) => {
                Some("give the folder that `gpusweep run` made, such as runs/20260101T000000Z-name")
            }
            Self::Write(_, error) if error.kind() == std::io::ErrorKind::StorageFull => Some(
                "free space on that disk, then run `gpusweep resume` on it; what is in the run folder is intact",
            ),
            Self::Write(..) | Self::Read(..) | Self::Damaged { .. } => None,
        }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Write(path, error)
    }
}
