//! The run folder: the journal, which is the only truth while a sweep runs, and the files beside it.
//!
//! Main types: [`RunFolder`], which is written, and [`Recorded`], which is read. It must not know what an event is worth.

mod error;
mod folder;
mod reader;
mod writer;

pub use error::JournalError;
pub use folder::{RunFolder, write_whole};
pub use reader::Recorded;

/// The value of `schema` in the journal's first line.
pub const SCHEMA: &str = "gpusweep.journal/1";

/// Name of the journal in the run folder.
const JOURNAL: &str = "journal.jsonl";

/// Name of the plan in the run folder.
const PLAN: &str = "plan.json";

/// Name of the matrix in the run folder.
const MATRIX: &str = "matrix.yaml";

/// The journal's first line.
#[derive(serde::Serialize, serde::Deserialize)]
struct Header {
    schema: String,
}
