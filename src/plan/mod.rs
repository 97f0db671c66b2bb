//! From a matrix to the cells that will run, and those that cannot, each with its reason.
//!
//! Main type: [`Plan`], from [`plan()`]; [`select()`] narrows it by [`Expr`]. It must not know of engines: what a host
//! turns out to be is found out by the run.

mod document;
mod expand;
mod expect;
mod prune;
mod revise;
mod select;

pub use document::{Plan, PlannedCell, RunLimits, SCHEMA, Source};
pub use expand::{PlanError, plan};
pub use revise::{Revision, revise};
pub use select::{Expr, ExprError, select};
