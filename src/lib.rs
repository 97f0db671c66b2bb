//! gpusweep launches a matrix of GPU container images and shows the first layer that fails in each.
//!
//! Data flows one way: **matrix → plan → run → event → journal → ledger → table → render.** Each step reads only what the
//! one before it gave. A module may import from those on its left only:
//!
//! `model ← matrix ← plan ← event`, then two branches that never meet: `event ← backend ← run` and
//! `event ← journal ← ledger ← diagnose ← summary ← table ← render, progress`; `doctor` needs of these only how text is
//! shown. Only [`cli`] joins them; a test holds this order.

pub mod backend;
pub mod cli;
pub mod compare;
pub mod diagnose;
pub mod doctor;
pub mod event;
pub mod exit;
pub mod journal;
pub mod ledger;
pub mod matrix;
pub mod model;
pub mod plan;
pub mod progress;
pub mod render;
pub mod run;
pub mod summary;
pub mod table;
#[cfg(test)]
mod testing;
