//! The document `summary.json` itself.
//!
//! JSON leaves bidirectional marks and the like as they are; here they are escaped, since a file is also looked at in a
//! terminal. The meaning is the same to every parser.

use std::fmt::Write as _;
use std::io;

use super::{Render, View};
use crate::summary::steers;

pub(super) struct Json;

impl Render for Json {
    fn render(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        document(view.summary, out)
    }
}

/// Writes a document as JSON for files and people.
///
/// # Errors
/// Where `out` cannot be written to.
pub(crate) fn document(value: &impl serde::Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    writeln!(out, "{}", escaped(text))
}

/// Outside of texts the only character that steers is the line break, and inside of them JSON has escaped it already.
pub(crate) fn escaped(text: String) -> String {
    let dangerous = |c: char| c != '\n' && steers(c);
    if !text.chars().any(dangerous) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 64), |mut out, c| {
        if dangerous(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_changes_the_bytes_and_not_the_meaning() {
        let meant = serde_json::json!({ "a\u{202e}": "b\u{9b}\u{7f}\n\u{1b}\u{e0041} é" });
        let text = escaped(serde_json::to_string_pretty(&meant).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && steers(c)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), meant);
    }
}
