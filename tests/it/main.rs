//! The integration tests: one binary, a module for each behaviour.

mod matrix;
mod plan;
