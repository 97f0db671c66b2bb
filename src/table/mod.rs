//! A summary as rows and columns, free of any output format.
//!
//! Main type: [`Table`], laid out by a [`Layout`] of any [`Axis`] and [`Value`].

mod axis;
mod build;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Layout, UnknownName, Value};
pub use build::{CellView, Header, Table, duration};
