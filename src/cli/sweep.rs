//! From a matrix file to a plan: what `run` and `plan` have in common.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::failure::Failure;
use super::options::MatrixOptions;
use crate::backend;
use crate::ledger::Ledger;
use crate::matrix::{self, MatrixError};
use crate::model::{Applied, Cell, CellId, Observation, hex};
use crate::plan::{self, Expr, Plan, Source};

/// The exact input, and what is to be done.
pub(super) struct Sweep {
    pub(super) source: String,
    pub(super) plan: Plan,
}

/// Reads and plans a matrix. Nothing is launched.
pub(super) fn load(options: &MatrixOptions) -> Result<Sweep, Failure> {
    let source = read(&options.matrix)?;
    let name = options.matrix.display().to_string();
    let plan = planned(&source, &name, &options.only, &options.skip)?;
    Ok(Sweep { source, plan })
}

/// Plans a matrix that was read.
pub(super) fn planned(source: &str, name: &str, only: &[Expr], skip: &[Expr]) -> Result<Plan, Failure> {
    let matrix = matrix::parse(source, name).map_err(|error| wrong(&error))?;
    let whole = plan::plan(&matrix).map_err(Failure::usage)?;
    if whole.cells.is_empty() {
        return Err(Failure::usage(format!(
            "the matrix `{name}` plans no cell: `exclude` takes out every one"
        ))
        .hint("remove an entry of `exclude`"));
    }
    let plan = plan::select(whole, only, skip);
    if plan.cells.is_empty() {
        return Err(Failure::usage(format!("no cell of `{name}` is left after --only and --skip"))
            .hint(format!("run `gpusweep plan {name}` to see its cells")));
    }
    let typed = |exprs: &[Expr]| exprs.iter().map(|expr| expr.as_str().to_owned()).collect();
    let source = Source { sha256: digest(source), only: typed(only), skip: typed(skip) };
    Ok(Plan { source, ..plan })
}

/// SHA-256 of a matrix, as [`Source`] has it.
pub(super) fn digest(matrix: &str) -> String {
    hex(&Sha256::digest(matrix))
}

/// The error with the line that it is about, and a mark under the place.
fn wrong(error: &MatrixError) -> Failure {
    let (line, column) = (error.line().to_string(), error.column());
    let source: String = error.source_line().chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let (gutter, indent) = (" ".repeat(line.len()), " ".repeat(column.saturating_sub(1)));
    let place = format!("{}:{line}:{column}", error.file());
    let snippet = format!("{gutter} |\n{line} | {source}\n{gutter} | {indent}^");
    Failure::usage(format!("{place}: {}\n{snippet}", error.message())).hint(error.hint())
}

/// The line that reproduces each cell, as the engine of its host would take it where one has answered.
pub(super) fn commands(plan: &Plan, ledger: Option<&Ledger>) -> BTreeMap<CellId, String> {
    let host = |name: &str| plan.hosts.iter().find(|host| host.name == name);
    let mut applied: BTreeMap<&str, &Applied> = BTreeMap::new();
    for record in ledger.into_iter().flat_map(Ledger::records) {
        if let Some(found) = record.observation().and_then(Observation::applied) {
            applied.entry(&record.cell().host).or_insert(found);
        }
    }
    let line = |cell: &Cell| {
        let line = backend::command(host(&cell.host)?, cell, applied.get(cell.host.as_str()).copied());
        Some((cell.id().clone(), line))
    };
    plan.runnable().filter_map(line).collect()
}

/// The text of a matrix.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    text_of(path, "the matrix", "give the path of a YAML file, such as matrices/quickstart.yaml")
}

/// The text of a file, or of standard input for `-`; the hint is for one that cannot be read.
pub(super) fn text_of(path: &Path, what: &str, hint: &str) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let name = path.display();
    let bytes =
        text.map_err(|error| Failure::usage(format!("cannot read {what} `{name}`: {error}")).hint(hint))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{what} `{name}` is not UTF-8")))
}
