//! One integration binary: a module a behaviour. What needs an engine uses the real one, and fails where there is none.

mod cli;
mod driver;
mod engine;
mod faults;
mod images;
mod leftovers;
mod matrix;
mod order;
mod plan;
mod privacy;
mod quickstart;
mod render;
mod trust;
