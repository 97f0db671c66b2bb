//! The programs that this one carries into containers.
//!
//! Main type: [`Program`]. The checker is static and runs anywhere; the native worker beside it, which loads libraries of
//! the image, needs the image's own C library.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::hex;

/// An executable file.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the file, wherever it lies.
    pub name: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// The static checker.
pub const CHECKER: Program =
    Program { name: "gpusweep-checker", bytes: include_bytes!(env!("GPUSWEEP_CHECKER_FILE")) };

/// The native worker, which the checker looks for beside itself.
pub const NATIVE: Program =
    Program { name: "gpusweep-native", bytes: include_bytes!(env!("GPUSWEEP_NATIVE_FILE")) };

/// All of them, in one folder.
pub const PROGRAMS: [Program; 2] = [CHECKER, NATIVE];

/// Short digest of their content.
#[must_use]
pub fn digest() -> String {
    let mut digest = Sha256::new();
    for program in PROGRAMS {
        digest.update(program.bytes);
    }
    hex(&digest.finalize()[..6])
}

/// Writes the programs into a folder of their content below `folder`, unless they are there already, and returns the
/// checker's path.
///
/// # Errors
/// Where the folder cannot be made or written.
pub fn install(folder: &Path) -> std::io::Result<PathBuf> {
    let own = folder.join(format!("{}-{}-{}", CHECKER.name, env!("CARGO_PKG_VERSION"), digest()));
    fs::create_dir_all(&own)?;
    for program in PROGRAMS {
        place(&own, program)?;
    }
    Ok(own.join(CHECKER.name))
}

fn place(folder: &Path, program: Program) -> std::io::Result<()> {
    let path = folder.join(program.name);
    if fs::read(&path).is_ok_and(|found| found == program.bytes) {
        return Ok(());
    }
    // Beside it and renamed: a second process that installs at the same time never runs half a file.
    let draft = folder.join(format!(".{}.{}", program.name, std::process::id()));
    let written = write_executable(&draft, program.bytes).and_then(|()| fs::rename(&draft, &path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn write_executable(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
