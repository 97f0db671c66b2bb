//! Carries out a plan: which cell runs where and when.
//!
//! Main function: [`run`]. One loop owns the run's state; attempts and steps reach it as messages. It must not know what a
//! result is worth: whoever takes the events says whether to go on, to try again, or to stop.

mod dispatcher;
mod host;
mod lease;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use dispatcher::run;

use crate::backend::Backend;
use crate::event::{Event, EventKind};
use crate::model::CellId;

/// How a sweep is run.
pub struct Options {
    /// Cells at a time in all; none = as many as the hosts take.
    pub jobs: Option<usize>,
    /// Set when the user stops the sweep.
    pub cancel: CancellationToken,
    /// Where it begins.
    pub start: Start,
}

/// Where a sweep begins, or goes on.
#[derive(Debug, Default)]
pub struct Start {
    /// Number of the next event.
    pub seq: u64,
    /// Facts to tell before anything is launched.
    pub opening: Vec<EventKind>,
    /// The cells that are to run, each with the number of its next attempt.
    pub cells: BTreeMap<CellId, u32>,
}

/// The back end of each host, by the host's name.
pub type Backends = BTreeMap<String, Arc<dyn Backend>>;

/// One event, with what belongs to it and is kept elsewhere.
pub struct Note<'a> {
    /// The event.
    pub event: &'a Event,
    /// The report of a finished attempt, as printed.
    pub report: Option<&'a str>,
    /// What a finished attempt printed; stays on this machine.
    pub log: &'a [u8],
}

/// What is to happen after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Go on.
    Continue,
    /// Try the cell of a finished attempt again.
    Retry,
    /// Start no further cell; those that run may end.
    Stop,
}

/// Takes the events of a run, in order.
pub trait Sink {
    /// Why the sweep cannot go on.
    type Error;

    /// Takes one event.
    ///
    /// # Errors
    /// Where the sweep cannot go on, for instance because the event cannot be saved.
    fn take(&mut self, note: &Note<'_>) -> Result<Reaction, Self::Error>;
}

/// How a run ended.
#[derive(Debug)]
pub struct End {
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// What could not be removed from the hosts.
    pub left: Vec<String>,
}
