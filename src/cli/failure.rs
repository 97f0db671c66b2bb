//! How an error is told: what is wrong, why, and the way out.

use std::error::Error;

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
        eprintln!("error: {}", self.error);
        let mut source = self.error.source();
        while let Some(inner) = source {
            eprintln!("  caused by: {inner}");
            source = inner.source();
        }
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
        self.exit
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

/// Writing to standard output failed. A reader that went away, as `head` does, is no fault.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let exit = if error.kind() == std::io::ErrorKind::BrokenPipe { Exit::Green } else { Exit::NotGreen };
        Self::failed(error).exit(exit)
    }
}
