//! `gpusweep completions` and `gpusweep man`: what follows from the definition of the command line.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use super::Outcome;
use super::failure::Failure;
use super::options::{Arguments, CompletionsOptions, ManOptions};
use crate::exit::Exit;

/// Prints the completions of a shell.
pub(super) fn completions(options: &CompletionsOptions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "gpusweep", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Exit::Green)
}

/// Prints the manual page, or writes those of all commands into a folder.
pub(super) fn man(options: &ManOptions) -> Outcome {
    let mut command = Arguments::command();
    // Only then do the commands know by what name they are called.
    command.build();
    match &options.dir {
        Some(folder) => pages(&command, folder)?,
        None => clap_mangen::Man::new(command).render(&mut std::io::stdout().lock())?,
    }
    Ok(Exit::Green)
}

fn pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command.clone(), folder)).map_err(
        |error| Failure::usage(format!("cannot write manual pages to `{}`: {error}", folder.display())),
    )
}
