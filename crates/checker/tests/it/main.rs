//! The checker as a program: run, read, compare. One module for each kind of behaviour.
//!
//! No GPU and no PyTorch is needed: `doubles/torch` stands for both, and is imported by this machine's own Python.

mod codes;
mod command_line;
mod deadlines;
mod deaths;
mod exposure;
mod harness;
mod hostile;
mod interpreter;
mod output;
mod privacy;
mod script;
mod workers;
