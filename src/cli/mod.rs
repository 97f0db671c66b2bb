//! The command line: one file a command. The only place that joins the runner with the readers of its events.
//!
//! Main function: [`main`]. Standard output is data, standard error is talk.

mod carry;
mod checker;
mod clean;
mod compare;
mod doctor;
mod failure;
mod generated;
mod import;
mod options;
mod plan;
mod record;
mod recorded;
mod report;
mod resume;
mod run;
mod schema;
mod stream;
mod sweep;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use self::failure::Failure;
use self::options::{Arguments, Command};
use crate::exit::Exit;

/// Runs the program that the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Run(options) => run::run(options, arguments.color),
        Command::Resume(options) => resume::resume(&options, arguments.color),
        Command::Plan(options) => plan::plan(&options, arguments.color),
        Command::Report(options) => report::report(&options, arguments.color),
        Command::Compare(options) => compare::compare(&options),
        Command::Import(options) => import::import(&options),
        Command::Schema(options) => schema::schema(&options),
        Command::Doctor(options) => doctor::doctor(&options, arguments.color),
        Command::Clean(options) => clean::clean(&options),
        Command::Checker(options) => checker::checker(&options),
        Command::Completions(options) => generated::completions(&options),
        Command::Man(options) => generated::man(&options),
    };
    let exit = outcome.unwrap_or_else(|failure| failure.tell());
    ExitCode::from(exit.status())
}

/// What every command comes to.
type Outcome = Result<Exit, Failure>;
