//! What a run folder's journal comes to.

use std::path::Path;

use super::failure::Failure;
use crate::event::Event;
use crate::ledger::Ledger;
use crate::plan::Plan;

/// The ledger after these events, which were read from that folder.
pub(super) fn replay(plan: &Plan, events: &[Event], folder: &Path) -> Result<Ledger, Failure> {
    let mut ledger = Ledger::new(plan);
    events.iter().try_for_each(|event| ledger.apply(event)).map_err(|error| {
        Failure::failed(format!("the journal of `{}` is damaged: {error}", folder.display()))
    })?;
    Ok(ledger)
}
