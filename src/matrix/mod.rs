//! The matrix: what to sweep, as a user writes it.
//!
//! Main type: [`Matrix`], from [`parse()`]; what is wrong is one [`MatrixError`] with its place and the way out. `raw`
//! holds the matrix as typed, `meant` as meant; one file an axis lies between. A way of exposing a GPU is one row in
//! `presets`. [`import`] makes matrices of what others have. It must not know of engines, nor which combinations apply.

mod at;
mod condition;
mod either;
mod error;
mod facts;
mod gpus;
mod hosts;
mod images;
pub mod import;
mod include;
mod meant;
mod outcome;
mod parse;
mod placeholder;
mod presets;
mod raw;
mod reference;
mod scalars;
mod shape;
mod visibility;
mod yaml;

pub(crate) use condition::{Coordinates, Pattern};
pub use error::MatrixError;
pub(crate) use error::suggestion;
pub use meant::Matrix;
pub(crate) use meant::{BASELINE_IMAGE, BASELINE_VISIBILITY, Include, NO_VARIANT, Outcome};
pub use parse::{SCHEMA, parse};
pub(crate) use reference::{is_domain, is_exact};

/// JSON Schema of a matrix, for editors.
#[must_use]
pub fn schema() -> schemars::Schema {
    use schemars::transform::{RecursiveTransform, Transform as _};

    let mut schema = schemars::schema_for!(raw::RawMatrix);
    // A key that may be left out has `null` for its default in the raw types, which an editor would offer as a value.
    let without_null = |schema: &mut schemars::Schema| {
        if schema.get("default").is_some_and(serde_json::Value::is_null) {
            schema.remove("default");
        }
    };
    RecursiveTransform(without_null).transform(&mut schema);
    schema
}
