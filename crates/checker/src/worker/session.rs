//! One run of the worker, as the supervisor hears it.
//!
//! Main type: [`Session`]. It keeps what was said and when time is up; what it means is judged elsewhere.

use std::time::{Duration, Instant};

use gpusweep_report::Stage;
use gpusweep_report::wire::{DriverFacts, Message, Outcome, PytorchFacts, RuntimeFacts};

use super::message::{Garbled, Reader};
use super::progress::{Progress, Route};
use crate::process::Listener;

/// How long the two parts of a run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    pub(super) import: Duration,
    pub(super) compute: Duration,
}

/// What was heard so far.
#[derive(Debug)]
pub(super) struct Session {
    allowance: Allowance,
    deadline: Instant,
    reader: Reader,
    pub(super) progress: Progress,
    pub(super) runtime: Option<RuntimeFacts>,
    pub(super) pytorch: Option<Box<PytorchFacts>>,
    pub(super) driver: Option<Box<DriverFacts>>,
    pub(super) ending: Option<Result<Outcome, Ill>>,
}

/// A report that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Ill {
    #[error(transparent)]
    Garbled(#[from] Garbled),
    #[error("the worker told a stage out of order")]
    OutOfOrder,
    #[error("the worker went on after its last line: a second report")]
    Again,
}

impl Session {
    pub(super) fn start(route: Route, wants_gpu: bool, allowance: Allowance) -> Self {
        Self {
            allowance,
            deadline: Instant::now() + allowance.import,
            reader: Reader::default(),
            progress: Progress::start(route, wants_gpu),
            runtime: None,
            pytorch: None,
            driver: None,
            ending: None,
        }
    }

    /// How long the part of the run may take that it is in.
    pub(super) fn allowed(&self) -> Duration {
        match is_import(self.progress.current()) {
            true => self.allowance.import,
            false => self.allowance.compute,
        }
    }

    fn hear(&mut self, message: Message) -> Result<(), Ill> {
        match message {
            Message::Stage(stage) => {
                let importing = is_import(self.progress.current());
                if !self.progress.enter(stage) {
                    return Err(Ill::OutOfOrder);
                }
                if importing && !is_import(stage) {
                    self.deadline = Instant::now() + self.allowance.compute;
                }
            }
            Message::Runtime(facts) => self.runtime = Some(facts),
            Message::Pytorch(facts) => self.pytorch = Some(facts),
            Message::Driver(facts) => self.driver = Some(facts),
            Message::Result(outcome) => self.ending = Some(Ok(outcome)),
        }
        Ok(())
    }

    fn hear_all(&mut self, bytes: &[u8]) -> Result<(), Ill> {
        let (messages, fault) = self.reader.push(bytes);
        for message in messages {
            if self.ending.is_some() {
                return Err(Ill::Again);
            }
            self.hear(message)?;
        }
        match fault {
            Some(_) if self.ending.is_some() => Err(Ill::Again),
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }
}

/// Loading a big library or starting a driver is slow, not hung: `cuInit` can take many seconds where no process keeps
/// the GPUs awake.
fn is_import(stage: Stage) -> bool {
    stage <= Stage::Import || stage == Stage::Driver
}

impl Listener for Session {
    fn report(&mut self, bytes: &[u8]) {
        if let Some(ending) = &self.ending {
            // The worker writes one result and ends. Of two, the first is no better than the second.
            if ending.is_ok() {
                self.ending = Some(Err(Ill::Again));
            }
            return;
        }
        if let Err(ill) = self.hear_all(bytes) {
            self.ending = Some(Err(ill));
        }
        if self.ending.is_some() {
            self.progress.stop();
        }
    }

    fn printed(&mut self, _bytes: &[u8]) {}

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_finished(&self) -> bool {
        self.ending.is_some()
    }
}
