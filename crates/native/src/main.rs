//! The native worker: loads a library of the image, runs the fixed computation with it, and tells the supervisor what it
//! saw.
//!
//! It is told a [`Task`] on standard input and answers with messages over the descriptor named there. Like the Python
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

use teller::Teller;

fn main() -> ExitCode {
    let mut line = String::new();
    let task =
        std::io::stdin().read_line(&mut line).ok().and_then(|_| serde_json::from_str::<Task>(&line).ok());
    let Some(task) = task else {
        eprintln!("gpusweep-native is started by gpusweep-checker, which tells it what to check");
        return ExitCode::from(2);
    };
    let teller = Teller::new(task.fd);
    let outcome = match &task.target {
        Target::Libtorch(folder) => libtorch::check(&teller, folder, &task.device),
        target @ (Target::Cuda | Target::Hip) => driver::check(&teller, target, &task.device),
    };
    teller.finish(outcome)
}
