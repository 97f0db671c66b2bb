//! Folds the facts of a run into one row per planned cell.
//!
//! Main types: [`Ledger`], which refuses facts that cannot follow one another, and the pure functions [`verdict()`] and
//! [`code`], which judge one observation. Nothing here knows why something failed: that is `diagnose`'s business.

mod error;
mod fold;
mod isolation;
mod nodes;
mod parting;
mod record;
#[cfg(test)]
mod tests;
mod verdict;

pub use error::LedgerError;
pub use fold::{Ledger, RunState};
pub use isolation::{Breach, breach};
pub use parting::{Layer, Parting, partings};
pub use record::{Attempt, CellState, Record};
pub use verdict::{
    ExitMismatch, FactMismatch, Verdict, code, container_exit, exit_mismatch, fact_mismatches, verdict,
};
