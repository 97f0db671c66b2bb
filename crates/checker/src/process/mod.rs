//! Children of the supervisor: started, listened to, and gone before the report is written.
//!
//! Main types: [`Supervisor`] (signals and reaping, once a process) and [`Listener`] (what a child's words mean). It
//! must not know of torch, stages or reports.

mod child;
mod pump;
mod signals;
mod tail;
mod tree;

pub(crate) use child::{Job, StartError};
pub(crate) use pump::{End, Ended, Listener};
pub(crate) use signals::Supervisor;
#[cfg(fuzzing)]
pub(crate) use tree::read_place;

/// The name of a signal, such as `SIGSEGV`.
pub(crate) fn signal_name(number: i32) -> String {
    signal_hook::low_level::signal_name(number).map_or_else(|| format!("signal {number}"), ToOwned::to_owned)
}
