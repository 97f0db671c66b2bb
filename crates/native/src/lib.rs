//! The native worker: loads a library of the image, runs the fixed computation with it, and tells the supervisor what it
//! saw.
//!
//! Main function: [`run`]. It is told a [`Task`] and answers with messages over the descriptor named there. Like the Python
//! worker it judges nothing. A C++ exception that reaches it ends in SIGABRT with its text on standard error, and the
//! supervisor makes of that what can be made.

mod driver;
mod libtorch;
mod loader;
#[cfg(portable)]
mod portable;
mod system;
mod teller;

use std::process::ExitCode;

use gpusweep_report::wire::{Target, Task};

pub use libtorch::{Binding, Matrix, version_in};

use libtorch::ops;
use teller::Teller;

/// Does a task with the operator binding, and ends the process.
#[must_use]
pub fn run(task: &Task) -> ExitCode {
    run_with(task, ops::Ops::bind)
}

/// Does a task, and ends the process. Where it is one of libtorch, `bind` makes the binding once libtorch is loaded; its
/// error is what libtorch lacks.
#[must_use]
pub fn run_with<B: Binding>(task: &Task, bind: impl FnOnce() -> Result<B, &'static str>) -> ExitCode {
    let teller = Teller::new(task.fd);
    let outcome = match &task.target {
        Target::Libtorch(folder) => libtorch::check(&teller, folder, &task.device, bind),
        target @ (Target::Cuda | Target::Hip) => driver::check(&teller, target, &task.device),
    };
    teller.finish(outcome)
}
