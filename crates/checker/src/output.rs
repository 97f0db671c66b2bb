//! Saving the report under a new name, whole or not at all.
//!
//! Main function: [`save`]. It writes beside the name, syncs, and links into place: a link never replaces anything, also
//! not what appeared in the meantime.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{errno, privacy};

/// Why the report was not saved.
#[derive(Debug, thiserror::Error)]
#[error("{name} cannot be written as a new file: {}", errno::of(.source))]
pub(crate) struct SaveError {
    name: String,
    source: io::Error,
}

impl SaveError {
    /// The system's name for it, such as `EEXIST`.
    pub(crate) fn kind(&self) -> String {
        errno::of(&self.source)
    }
}

/// Writes a new file.
pub(crate) fn save(path: &Path, text: &str) -> Result<(), SaveError> {
    let name = privacy::file_name(path).unwrap_or_else(|| "the output".to_owned());
    save_as(path, text).map_err(|source| SaveError { name, source })
}

fn save_as(path: &Path, text: &str) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::from(rustix::io::Errno::ISDIR));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (beside, file) = Beside::create(parent)?;
    write(file, text)?;
    beside.place(path)?;
    // The name is there for every reader by now; whether it outlives a power cut is the file system's affair.
    let _ = File::open(parent).and_then(|folder| folder.sync_all());
    Ok(())
}

fn write(mut file: File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A file under a name of its own, removed whatever happens.
struct Beside(PathBuf);

impl Beside {
    fn create(parent: &Path) -> io::Result<(Self, File)> {
        let own = std::process::id();
        for attempt in 0..64 {
            let path = parent.join(format!(".gpusweep-{own}-{attempt}.tmp"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self(path), file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn place(&self, path: &Path) -> io::Result<()> {
        let linked = std::fs::hard_link(&self.0, path);
        match &linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // File systems without hard links (vfat, some network ones) can often rename without replacing.
                if renameat_with(CWD, &self.0, CWD, path, RenameFlags::NOREPLACE).is_ok() {
                    return Ok(());
                }
                linked
            }
            Ok(()) | Err(_) => linked,
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
