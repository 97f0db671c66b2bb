//! Matrices from what others already have: the targets of a bake file, the rows of a GitHub Actions matrix.
//!
//! Main type: [`Imported`], from [`bake()`] or [`github()`]. A reader a source; both give `draft::Found`s, of which
//! `write` makes the text. It must not know of files, nor of how warnings are shown.

mod bake;
mod choice;
mod draft;
mod github;
mod names;
mod reference;
mod rows;
mod variant;
mod write;

#[cfg(test)]
mod tests;

pub use bake::bake;
pub use github::{Keys, github};

/// A matrix, and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The matrix as YAML with comments. It parses.
    pub matrix: String,
    /// Images in it.
    pub images: usize,
    /// What was left out or guessed, a line each, free of control characters.
    pub warnings: Vec<String>,
}

/// Why nothing could be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ImportError {
    message: String,
    hint: String,
}

impl ImportError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// The way out, beginning with a verb.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// Reads JSON; the hint says where it comes from.
fn json(text: &str, hint: &str) -> Result<serde_json::Value, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::new("the input is empty", hint));
    }
    serde_json::from_str(text)
        .map_err(|error| ImportError::new(names::shown(&format!("not JSON: {error}")), hint))
}
