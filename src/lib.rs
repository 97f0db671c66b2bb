//! gpusweep launches a matrix of GPU container images and shows the first layer that fails in each.
//!
//! Data flows one way: **matrix → plan → run → event → journal → ledger → table → render.** Each step reads only what the
//! one before it gave. A module may import from those on its left only:
//!
//! `model ← matrix ← plan ← event`, then two branches that never meet: `event ← backend ← run` and
//! `event ← journal ← ledger ← diagnose ← summary ← table ← render, progress`. Only [`cli`] joins them; a test holds
//! this order.

pub mod event;
pub mod matrix;
pub mod model;
pub mod plan;
