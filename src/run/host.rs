//! One host's share of a run: what waits there, how much may run, and whether it can be relied on.
//!
//! Main type: [`HostQueue`]. It must not know why a cell failed, only whether its engine answered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lease::{Claim, Leases};
use crate::backend::Backend;
use crate::model::{Cell, Observation, Phase};

/// How long a host that answered before is left alone after each fault in a row: an engine that restarts takes seconds.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1500), Duration::from_secs(4)];

/// The same for a host that never answered: whoever mistyped it should not wait for long.
const PAUSES_UNKNOWN: [Duration; 1] = [Duration::from_secs(1)];

/// Cells that are looked at for one whose GPUs are free.
const LOOK_AHEAD: usize = 1024;

/// A cell, and the number of its next attempt.
pub(super) type Waiting<'a> = (&'a Cell, u32);

/// One host's share of the run.
pub(super) struct HostQueue<'a> {
    pub(super) backend: Arc<dyn Backend>,
    /// Cells at a time.
    pub(super) slots: usize,
    pub(super) busy: usize,
    pub(super) waiting: VecDeque<Waiting<'a>>,
    /// The machine whose GPUs it gives.
    pub(super) machine: String,
    answered: bool,
    /// Nothing more is tried here.
    aside: bool,
    faults: usize,
    last_fault: Option<Instant>,
    paused_until: Option<Instant>,
}

impl<'a> HostQueue<'a> {
    pub(super) fn new(
        backend: Arc<dyn Backend>,
        slots: usize,
        machine: String,
        waiting: VecDeque<Waiting<'a>>,
    ) -> Self {
        Self {
            backend,
            slots,
            busy: 0,
            waiting,
            machine,
            answered: false,
            aside: false,
            faults: 0,
            last_fault: None,
            paused_until: None,
        }
    }

    /// The next cell that may start, with the GPUs that it claims.
    pub(super) fn next(&mut self, leases: &Leases, share: bool) -> Option<(Waiting<'a>, Option<Claim>)> {
        if self.busy >= self.slots || self.pause().is_some() {
            return None;
        }
        let claim = |cell: &Cell| if share { None } else { Claim::of(cell) };
        let free = |(cell, _): &Waiting<'_>| leases.free(&self.machine, claim(cell).as_ref());
        let index = self.waiting.iter().take(LOOK_AHEAD).position(free)?;
        self.busy += 1;
        self.waiting.remove(index).map(|waiting| (waiting, claim(waiting.0)))
    }

    /// Tries a cell again, later; not where nothing more is tried.
    pub(super) fn again(&mut self, waiting: Waiting<'a>) {
        if !self.aside {
            self.waiting.push_back(waiting);
        }
    }

    /// Until when nothing is to start here, where anything waits for that.
    pub(super) fn pause(&self) -> Option<Instant> {
        self.paused_until.filter(|until| !self.waiting.is_empty() && *until > Instant::now())
    }

    /// Takes note of how an attempt that began then has ended, and says why the host is to be set aside where it is.
    pub(super) fn learn(&mut self, observation: &Observation, began: Instant) -> Option<String> {
        let Some((phase, words)) = observation.unanswered() else {
            (self.answered, self.faults, self.last_fault, self.paused_until) = (true, 0, None, None);
            return None;
        };
        // Attempts that were under way together failed of one fault.
        if self.last_fault.is_some_and(|last| began < last) {
            return None;
        }
        self.answered |= phase > Phase::Prepare;
        let pauses: &[Duration] = if self.answered { &PAUSES } else { &PAUSES_UNKNOWN };
        self.last_fault = Some(Instant::now());
        match pauses.get(self.faults) {
            Some(pause) => {
                self.faults += 1;
                self.paused_until = Some(Instant::now() + *pause);
                None
            }
            None => {
                self.aside = true;
                Some(format!("its engine did not answer {} times in a row: {words}", self.faults + 1))
            }
        }
    }
}
