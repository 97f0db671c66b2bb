//! The checker's entry: options in, exit status out. Everything else is in the library.

use std::process::ExitCode;

use gpusweep_checker::{Limits, Options, run};

fn main() -> ExitCode {
    ExitCode::from(run(&Options::of_this_process(), &Limits::default()))
}
