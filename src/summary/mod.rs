//! One object per cell, made of the fields that may leave this machine, and of no others.
//!
//! Main type: [`Summary`], the document `summary.json` and the only thing that tables and renderers read. Raw logs and
//! raw errors never come here; every text from a container or an engine is cleaned on its way in.

mod build;
mod clean;
mod document;
mod observed;
mod requested;
#[cfg(test)]
mod tests;

pub use clean::{steers, visible, wrapped};
pub use document::{Counts, SCHEMA, Summary, SummaryCell};
