//! From a matrix to the cells that will run, and those that cannot, each with its reason.
//!
//! Main type: [`Plan`]. It must not know of engines: what a host turns out to be is found out by the run.

mod document;

pub use document::{Plan, PlannedCell, RunLimits, SCHEMA};
