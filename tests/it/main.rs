//! One integration binary: a module a behaviour. What needs an engine uses the real one, and fails where there is none.

mod cli;
mod doctor;
mod driver;
mod engine;
mod everywhere;
mod exposure;
mod faults;
mod hostile;
mod hosts;
mod images;
mod import;
mod infrastructure;
mod interpreters;
mod isolation;
mod leftovers;
mod libtorch;
mod matrix;
mod order;
mod plan;
mod privacy;
mod programs;
mod quickstart;
mod relay;
mod render;
mod resume;
mod trust;
