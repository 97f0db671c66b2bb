//! From a matrix file to a plan: what `run` and `plan` have in common.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use super::failure::Failure;
use super::options::MatrixOptions;
use crate::backend;
use crate::matrix;
use crate::model::CellId;
use crate::plan::{self, Plan};

/// The exact input, and what is to be done.
pub(super) struct Sweep {
    pub(super) source: String,
    pub(super) plan: Plan,
}

/// Reads and plans a matrix. Nothing is launched.
pub(super) fn load(options: &MatrixOptions) -> Result<Sweep, Failure> {
    let source = read(&options.matrix)?;
    let name = options.matrix.display().to_string();
    let matrix = matrix::parse(&source, &name).map_err(Failure::usage)?;
    let whole = plan::plan(&matrix).map_err(Failure::usage)?;
    if whole.cells.is_empty() {
        return Err(Failure::usage(format!(
            "the matrix `{name}` plans no cell: `exclude` takes out every one"
        ))
        .hint("remove an entry of `exclude`"));
    }
    let plan = plan::select(whole, &options.only, &options.skip);
    if plan.cells.is_empty() {
        return Err(Failure::usage(format!("no cell of `{name}` is left after --only and --skip"))
            .hint(format!("run `gpusweep plan {name}` to see its cells")));
    }
    Ok(Sweep { source, plan })
}

/// The line that reproduces each cell.
pub(super) fn commands(plan: &Plan) -> BTreeMap<CellId, String> {
    let host = |name: &str| plan.hosts.iter().find(|host| host.name == name);
    plan.runnable()
        .filter_map(|cell| Some((cell.id().clone(), backend::command(host(&cell.host)?, cell))))
        .collect()
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let name = path.display();
    let bytes = text.map_err(|error| {
        Failure::usage(format!("cannot read the matrix `{name}`: {error}"))
            .hint("give the path of a YAML file, such as matrices/quickstart.yaml")
    })?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the matrix `{name}` is not UTF-8")))
}
