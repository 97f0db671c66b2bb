//! Appends events to the journal.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Header, JournalError, SCHEMA};
use crate::event::Event;

/// An open journal.
pub(super) struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    pub(super) fn create(path: &Path) -> Result<Self, JournalError> {
        let file =
            OpenOptions::new().create_new(true).append(true).open(path).map_err(JournalError::write(path))?;
        let mut writer = Self { path: path.to_owned(), file };
        writer.line(&Header { schema: SCHEMA.to_owned() })?;
        Ok(writer)
    }

    pub(super) fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.line(event)
    }

    /// One write a line, so that an interrupted program tears the last line at most.
    fn line(&mut self, value: &impl serde::Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| JournalError::Write(self.path.clone(), error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(JournalError::write(&self.path))
    }
}
