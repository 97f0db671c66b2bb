//! What the command line takes: the one place where flags and their help are written.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::stream;
use crate::plan::Expr;
use crate::render;
use crate::table::{Axis, Value};

/// Launch a matrix of GPU container images, and see the first layer that fails in each.
#[derive(Parser)]
#[command(name = "gpusweep", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// When to use colour; NO_COLOR is heeded too
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: Color,
}

/// When to use colour.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum Color {
    /// Where the output is a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Launch every cell of a matrix, collect the reports, and show the tables
    Run(RunOptions),
    /// Go on with an interrupted sweep: nothing is lost, nothing counted twice
    Resume(ResumeOptions),
    /// Show every cell that a matrix plans, and launch nothing
    Plan(PlanOptions),
    /// Show a finished or partial run again
    Report(ReportOptions),
    /// Show what changed from one run to another: regressions first, and exit status 1 where there is one
    Compare(CompareOptions),
    /// Make a matrix of what you already have: a bake file, a GitHub Actions matrix
    Import(ImportOptions),
    /// Print the JSON Schema of a document
    Schema(SchemaOptions),
    /// Show what each engine and its machine offer GPU containers, and what is missing
    Doctor(DoctorOptions),
    /// Remove containers and volumes that a crashed sweep left, found by their label
    Clean(CleanOptions),
    /// Write the checker that this program carries to a file, and print its path
    Checker(CheckerOptions),
    /// Print the completions of a shell
    Completions(CompletionsOptions),
    /// Print the manual page
    Man(ManOptions),
}

#[derive(Args)]
pub(super) struct MatrixOptions {
    /// Matrix, as YAML or JSON; `-` reads standard input
    #[arg(value_name = "MATRIX")]
    pub(super) matrix: PathBuf,
    /// Take only cells that fit, such as `image=torch*,visibility=none` (comma: and; flag again: or)
    #[arg(long, value_name = "EXPR", value_parser = expression)]
    pub(super) only: Vec<Expr>,
    /// Leave out cells that fit
    #[arg(long, value_name = "EXPR", value_parser = expression)]
    pub(super) skip: Vec<Expr>,
}

#[derive(Args)]
pub(super) struct RunOptions {
    #[command(flatten)]
    pub(super) matrix: MatrixOptions,
    /// Run folder; must not exist [default: runs/UTC-TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sweep: SweepOptions,
}

/// How a sweep is carried out.
#[derive(Args)]
pub(super) struct SweepOptions {
    /// Cells at a time in all [default: twice the engine's processors on each host]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: Option<u32>,
    /// What to print on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = sweep_format_parser())]
    pub(super) format: String,
    /// Start no further cell after the first that is not as expected
    #[arg(long)]
    pub(super) fail_fast: bool,
    /// Try a cell that is not as expected again, up to N times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) retries: u32,
}

#[derive(Args)]
pub(super) struct ResumeOptions {
    /// Run folder
    #[arg(value_name = "RUN_DIR")]
    pub(super) run: PathBuf,
    /// Go on with this matrix; only cells that it changes run again [default: the run folder's matrix.yaml]
    #[arg(long, value_name = "MATRIX")]
    pub(super) matrix: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sweep: SweepOptions,
}

#[derive(Args)]
pub(super) struct PlanOptions {
    #[command(flatten)]
    pub(super) matrix: MatrixOptions,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: PlanFormat,
}

/// Ways of showing a plan.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum PlanFormat {
    /// One row a cell, and every pruned combination with its reason
    #[default]
    Table,
    /// The document plan.json
    Json,
    /// The `docker run` line of each cell
    Docker,
}

#[derive(Args)]
pub(super) struct ReportOptions {
    /// Run folder
    #[arg(value_name = "RUN_DIR")]
    pub(super) run: PathBuf,
    /// What to print on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    pub(super) format: String,
    /// Axis of the table's rows
    #[arg(long, value_name = "AXIS", value_parser = names(&Axis::ALL, Axis::as_str).try_map(|name| name.parse::<Axis>()))]
    pub(super) rows: Option<Axis>,
    /// Axis of the table's columns
    #[arg(long, value_name = "AXIS", value_parser = names(&Axis::ALL, Axis::as_str).try_map(|name| name.parse::<Axis>()))]
    pub(super) columns: Option<Axis>,
    /// What each cell of the table shows
    #[arg(long, value_name = "VALUE", value_parser = names(&Value::ALL, Value::as_str).try_map(|name| name.parse::<Value>()))]
    pub(super) value: Option<Value>,
}

#[derive(Args)]
pub(super) struct ImportOptions {
    #[command(subcommand)]
    pub(super) source: ImportSource,
}

#[derive(Subcommand)]
pub(super) enum ImportSource {
    /// From what `docker buildx bake --print` writes: one image a target
    Bake {
        #[command(flatten)]
        target: ImportTarget,
    },
    /// From a GitHub Actions matrix, {"include": [{…}]}: one image a row
    Github {
        #[command(flatten)]
        target: ImportTarget,
        /// Key of the image reference [default: found by its name and values]
        #[arg(long, value_name = "KEY")]
        image_key: Option<String>,
        /// Key whose value names the variant [default: found; else the rules of docs/import.md]
        #[arg(long, value_name = "KEY")]
        variant_key: Option<String>,
    },
}

#[derive(Args)]
pub(super) struct ImportTarget {
    /// JSON to read; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Where to write the matrix; must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct SchemaOptions {
    /// Document
    #[arg(value_enum)]
    pub(super) document: Document,
}

/// Documents with a published schema.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Document {
    /// What `gpusweep run` reads
    Matrix,
    /// What the checker writes
    Report,
    /// What a run folder's summary.json holds
    Summary,
    /// What `gpusweep doctor --format json` prints
    Doctor,
    /// What `gpusweep compare --format json` prints
    Comparison,
}

#[derive(Args)]
pub(super) struct CompareOptions {
    /// Run folder of the earlier run
    #[arg(value_name = "BASE")]
    pub(super) base: PathBuf,
    /// Run folder of the later run
    #[arg(value_name = "HEAD")]
    pub(super) head: PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: DocumentFormat,
}

#[derive(Args)]
pub(super) struct DoctorOptions {
    /// Look at the hosts of this matrix
    #[arg(value_name = "MATRIX")]
    pub(super) matrix: Option<PathBuf>,
    /// Engine: `local`, a docker context, or a unix://, tcp:// or ssh:// endpoint; may be repeated [default: local]
    #[arg(long = "host", value_name = "H")]
    pub(super) hosts: Vec<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: DocumentFormat,
}

/// Ways of showing what has a schema.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum DocumentFormat {
    /// For people
    #[default]
    Table,
    /// The document that `gpusweep schema` describes
    Json,
}

#[derive(Args)]
pub(super) struct CleanOptions {
    /// Engine: `local`, a docker context, or a unix://, tcp:// or ssh:// endpoint; may be repeated
    #[arg(long = "host", value_name = "H", default_value = "local")]
    pub(super) hosts: Vec<String>,
    /// Also remove what belongs to a sweep that is still at work
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Args)]
pub(super) struct CheckerOptions {
    /// Folder to write it to [default: gpusweep in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct CompletionsOptions {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub(super) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(super) struct ManOptions {
    /// Folder to write the pages of all commands to [default: the main page, on standard output]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

/// With the way out, which the error alone does not tell.
fn expression(text: &str) -> Result<Expr, String> {
    text.parse::<Expr>().map_err(|error| format!("{error}; {}", error.hint()))
}

/// The names that an axis or a value may have, for help and errors.
fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(all.iter().map(|item| name(*item)).collect::<Vec<_>>())
}

fn format_parser() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(formats())
}

/// A sweep can be followed as well.
fn sweep_format_parser() -> clap::builder::PossibleValuesParser {
    let lines =
        clap::builder::PossibleValue::new(stream::NAME).help("what happens as it happens, a line an event");
    clap::builder::PossibleValuesParser::new(formats().chain([lines]))
}

fn formats() -> impl Iterator<Item = clap::builder::PossibleValue> {
    render::FORMATS.iter().map(|format| clap::builder::PossibleValue::new(format.name).help(format.help))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
