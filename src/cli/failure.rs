//! How an error is told: what is wrong, why, and the way out.

use std::error::Error;

use super::terminal::say;
use crate::exit::Exit;
use crate::journal::JournalError;

/// Why a command came to nothing.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    error: Box<dyn Error>,
    hint: Option<String>,
}

impl Failure {
    /// The command line or a file that it names is wrong.
    pub(super) fn usage(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::Usage, error: error.into(), hint: None }
    }

    /// Something could not be done.
    pub(super) fn failed(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::NotGreen, error: error.into(), hint: None }
    }

    /// With another exit status.
    pub(super) const fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// With a way out, which begins with a verb.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Tells it on standard error.
    pub(super) fn tell(&self) -> Exit {
        if self.reader_gone() {
            return self.exit;
        }
        say(&format!("error: {}", self.error));
        let mut source = self.error.source();
        while let Some(inner) = source {
            say(&format!("  caused by: {inner}"));
            source = inner.source();
        }
        if let Some(hint) = &self.hint {
            say(&format!("hint: {hint}"));
        }
        self.exit
    }
}

impl Failure {
    /// Whoever read standard output went away, as `head` does: nothing to tell anyone of.
    fn reader_gone(&self) -> bool {
        let error = self.error.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let usage = matches!(error, JournalError::Taken(_) | JournalError::NotARun(..));
        let hint = error.hint();
        let failure = if usage { Self::usage(error) } else { Self::failed(error) };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Writing to standard output failed. A reader that went away is no fault.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::failed(error).exit(Exit::Green),
            _ => Self::failed(format!("cannot write to standard output: {error}")),
        }
    }
}
