//! The worker's end of the report descriptor.
//!
//! Main type: [`Teller`].

use std::fs::File;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::process::ExitCode;

use gpusweep_report::Stage;
use gpusweep_report::wire::{Computed, Described, Failed, Message, Outcome, Reason};

/// Why a worker stops.
pub(crate) type Stop = Failed;

/// Tells messages.
pub(crate) struct Teller {
    file: ManuallyDrop<File>,
}

impl Teller {
    pub(crate) fn new(fd: i32) -> Self {
        // SAFETY: the supervisor opened the descriptor for this process alone, and nothing else here uses it.
        let file = unsafe { File::from_raw_fd(fd) };
        Self { file: ManuallyDrop::new(file) }
    }

    /// Tells one message. A supervisor that is gone needs none.
    pub(crate) fn tell(&self, message: &Message) {
        if let Ok(line) = serde_json::to_string(message) {
            let _ = (&*self.file).write_all((line + "\n").as_bytes());
        }
    }

    /// The stage that begins now.
    pub(crate) fn stage(&self, stage: Stage) {
        self.tell(&Message::Stage(stage));
    }

    /// Tells the outcome and ends the process at once: exit handlers of loaded libraries may hang or crash.
    pub(crate) fn finish(&self, outcome: Result<Computed, Stop>) -> ExitCode {
        let outcome = match outcome {
            Ok(computed) => Outcome::Computed(computed),
            Err(failed) => Outcome::Failed(failed),
        };
        self.tell(&Message::Result(outcome));
        // SAFETY: it ends the process and has no other effect on it.
        unsafe { _exit(0) }
    }
}

unsafe extern "C" {
    fn _exit(status: i32) -> !;
}

/// A failure with an error.
pub(crate) fn failed(reason: Reason, kind: &str, message: impl Into<String>) -> Stop {
    Failed { reason, error: Some(Described { kind: kind.to_owned(), message: message.into() }) }
}
