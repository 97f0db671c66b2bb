//! Making a run folder, and putting files into it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::reader::parse_plan;
use super::writer::Writer;
use super::{JOURNAL, JournalError, MATRIX, PLAN, Recorded};
use crate::event::Event;
use crate::model::CellId;
use crate::plan::Plan;

/// A run folder that is being written.
pub struct RunFolder {
    path: PathBuf,
    journal: Writer,
}

impl RunFolder {
    /// Makes a new run folder, with the matrix and the plan in it.
    ///
    /// # Errors
    /// Where the name is taken, or the folder cannot be written.
    pub fn create(path: &Path, matrix: &str, plan: &Plan) -> Result<Self, JournalError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(JournalError::write(parent))?;
        }
        match fs::create_dir(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(JournalError::Taken(path.to_owned()));
            }
            made => made.map_err(JournalError::write(path))?,
        }
        write_whole(&path.join(MATRIX), matrix.as_bytes())?;
        write_json(&path.join(PLAN), plan)?;
        fs::create_dir(path.join("reports")).map_err(JournalError::write(path))?;
        // Raw output may hold anything: for its owner alone.
        DirBuilder::new().mode(0o700).create(path.join("private")).map_err(JournalError::write(path))?;
        Ok(Self { path: path.to_owned(), journal: Writer::create(&path.join(JOURNAL))? })
    }

    /// Opens the run folder of a controller that is gone, to go on with its sweep.
    ///
    /// # Errors
    /// Where it is none, another controller is at work in it, or a file in it is damaged in more than the journal's last
    /// line.
    pub fn resume(path: &Path) -> Result<(Self, Recorded), JournalError> {
        let plan = parse_plan(path)?;
        // Its controller may have ended before it came to these.
        for folder in ["reports", "private"] {
            let mode = if folder == "private" { 0o700 } else { 0o777 };
            let made = DirBuilder::new().recursive(true).mode(mode).create(path.join(folder));
            made.map_err(JournalError::write(path))?;
        }
        let (journal, events) = Writer::resume(&path.join(JOURNAL))?;
        Ok((Self { path: path.to_owned(), journal }, Recorded { plan, events }))
    }

    /// Puts a changed matrix, and the plan that follows from it, in place of the earlier ones.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn replan(&self, matrix: &str, plan: &Plan) -> Result<(), JournalError> {
        write_whole(&self.path.join(MATRIX), matrix.as_bytes())?;
        write_json(&self.path.join(PLAN), plan)
    }

    /// The matrix that the plan was made of.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn matrix(&self) -> Result<String, JournalError> {
        let path = self.path.join(MATRIX);
        fs::read_to_string(&path).map_err(|error| JournalError::Read(path, error))
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a fact to the journal.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.journal.append(event)
    }

    /// Keeps the report of a cell, verbatim. A later attempt's report takes the place of an earlier one's.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn report(&self, cell: &CellId, text: &str) -> Result<(), JournalError> {
        write_whole(&self.path.join("reports").join(format!("{cell}.json")), format!("{text}\n").as_bytes())
    }

    /// Forgets the report of an earlier attempt, since the last one has none.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn no_report(&self, cell: &CellId) -> Result<(), JournalError> {
        let path = self.path.join("reports").join(format!("{cell}.json"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(JournalError::Write(path, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Keeps what an attempt printed, behind what earlier attempts printed.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn log(&self, cell: &CellId, attempt: u32, output: &[u8]) -> Result<(), JournalError> {
        let path = self.path.join("private").join(format!("{cell}.log"));
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let write = |mut file: File| {
            file.write_all(format!("--- attempt {attempt}\n").as_bytes())?;
            file.write_all(output)
        };
        open.and_then(write).map_err(JournalError::write(&path))
    }

    /// Writes a document of the finished run.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn document(&self, name: &str, content: &[u8]) -> Result<(), JournalError> {
        write_whole(&self.path.join(name), content)
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), JournalError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|error| JournalError::Write(path.to_owned(), error.into()))?;
    write_whole(path, &text)
}

/// Writes a file whole or not at all: a reader never finds half of it, and a full disk leaves the old one.
///
/// # Errors
/// Where it cannot be written.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), JournalError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut draft =
            tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder)?;
        draft.write_all(content)?;
        draft.persist(path).map(|_| ()).map_err(|error| error.error)
    };
    write().map_err(JournalError::write(path))
}
