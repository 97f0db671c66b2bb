//! The static checker that this program carries.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::hex;

/// The executable itself.
pub const BYTES: &[u8] = include_bytes!(env!("GPUSWEEP_CHECKER_FILE"));

/// Name of the file, wherever it lies.
pub const FILE_NAME: &str = "gpusweep-checker";

/// Short digest of the checker's content.
#[must_use]
pub fn digest() -> String {
    hex(&Sha256::digest(BYTES)[..6])
}

/// Writes the checker below `folder` under a name of its content, unless it is there already, and returns its path.
///
/// # Errors
/// Where the folder cannot be made or written.
pub fn install(folder: &Path) -> std::io::Result<PathBuf> {
    let path = folder.join(format!("{FILE_NAME}-{}-{}", env!("CARGO_PKG_VERSION"), digest()));
    if fs::read(&path).is_ok_and(|found| found == BYTES) {
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    // Beside it and renamed: a second process that installs at the same time never runs half a file.
    let draft = folder.join(format!(".{FILE_NAME}.{}", std::process::id()));
    let written = write_executable(&draft).and_then(|()| fs::rename(&draft, &path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map(|()| path)
}

fn write_executable(path: &Path) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(BYTES)?;
    file.sync_all()
}
