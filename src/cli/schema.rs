//! `gpusweep schema`.

use std::io::Write as _;

use super::Outcome;
use super::failure::Failure;
use super::options::{Document, SchemaOptions};
use crate::exit::Exit;

/// Prints the JSON Schema of a document.
pub(super) fn schema(options: &SchemaOptions) -> Outcome {
    let schema = match options.document {
        Document::Matrix => crate::matrix::schema(),
        Document::Report => schemars::schema_for!(gpusweep_report::Report),
        Document::Comparison => schemars::schema_for!(crate::compare::Comparison),
        Document::Doctor => schemars::schema_for!(crate::doctor::Examined),
        Document::Summary => schemars::schema_for!(crate::summary::Summary),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Green)
}
