//! The checker's entry: options in, exit status out. Everything else is in the library.

#[cfg(all(target_feature = "crt-static", target_env = "gnu"))]
mod stack;

use std::io::Write as _;
use std::process::ExitCode;

use gpusweep_checker::{Asks, Limits, Options, run};

/// Exit status of a usage error.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    match Options::parse(std::env::args_os().skip(1)) {
        Ok(Asks::Check(options)) => ExitCode::from(run(&options, &Limits::default())),
        Ok(Asks::Print(text)) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}\n\nFor more information, try '--help'.");
            ExitCode::from(USAGE)
        }
    }
}
