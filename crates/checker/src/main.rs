//! The checker's entry: options in, exit status out. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use gpusweep_checker::{Limits, Options, run};

fn main() -> ExitCode {
    ExitCode::from(run(&Options::parse(), &Limits::default()))
}
