//! Appends events to the journal.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Header, JournalError, SCHEMA, reader};
use crate::event::{Event, EventKind};

/// What a power cut may lose: cells that ended within this time run again. Each line on its own would have the sweep wait
/// for the disk.
const UNSAFE: Duration = Duration::from_millis(200);

/// An open journal, locked against a second controller for as long as it is open.
pub(super) struct Writer {
    path: PathBuf,
    file: File,
    safe_at: Instant,
}

impl Writer {
    pub(super) fn create(path: &Path) -> Result<Self, JournalError> {
        let mut writer = Self::locked(path, OpenOptions::new().create_new(true))?;
        writer.header()?;
        Ok(writer)
    }

    /// Opens the journal of an earlier controller, cuts off a torn last line, and returns the events before it.
    pub(super) fn resume(path: &Path) -> Result<(Self, Vec<Event>), JournalError> {
        let mut writer = Self::locked(path, OpenOptions::new().create(true))?;
        let mut text = Vec::new();
        writer.file.read_to_end(&mut text).map_err(|error| JournalError::Read(path.to_owned(), error))?;
        let events = reader::parse(path, &text)?;
        let whole = reader::whole_lines(&text).len();
        writer.file.set_len(whole as u64).map_err(JournalError::write(path))?;
        if whole == 0 {
            writer.header()?;
        }
        Ok((writer, events))
    }

    fn locked(path: &Path, options: &mut OpenOptions) -> Result<Self, JournalError> {
        let file = options.read(true).append(true).open(path).map_err(JournalError::write(path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), file, safe_at: Instant::now() }),
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(JournalError::Write(path.to_owned(), error)),
        }
    }

    fn header(&mut self) -> Result<(), JournalError> {
        self.line(&Header { schema: SCHEMA.to_owned() })
    }

    pub(super) fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.line(event)?;
        let last = matches!(event.kind, EventKind::RunFinished { .. });
        if last || self.safe_at.elapsed() >= UNSAFE {
            self.file.sync_data().map_err(JournalError::write(&self.path))?;
            self.safe_at = Instant::now();
        }
        Ok(())
    }

    /// One write a line, so that an interrupted program tears the last line at most.
    fn line(&mut self, value: &impl serde::Serialize) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| JournalError::Write(self.path.clone(), error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(JournalError::write(&self.path))
    }
}
