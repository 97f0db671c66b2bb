//! Text that is safe to show, whoever wrote it.
//!
//! Main functions: [`visible`] for text that is shown as it is, and [`value`] for what an engine or a container said.

use std::borrow::Cow;

use gpusweep_report::is_steering;
use serde_json::{Map, Value};
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::diagnose::clean;

/// The longest digest that is taken for one: a repository name and 64 hexadecimal digits.
const DIGEST_LIMIT: usize = 400;

/// The text with everything that would steer a terminal, or change how the text around it is shown, spelled out as
/// `\u{1b}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let spelled = text.chars().fold(String::with_capacity(text.len() + 16), |mut out, c| {
        if steers(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    });
    Cow::Owned(spelled)
}

/// Visible text in lines of at most `width` columns, the first behind `first` and the others behind `rest`. Words stay whole,
/// so that a longer one can still be copied.
#[must_use]
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(&visible(text), options).into_iter().map(Cow::into_owned).collect()
}

/// Whether a character steers a terminal, or changes how the text around it is shown: controls, bidirectional marks and
/// overrides, invisible joiners, tags, line separators.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control() || is_steering(c)
}

/// A JSON value from outside, every text in it cleaned.
pub(super) fn value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => Value::Array(items.iter().map(self::value).collect()),
        Value::Object(fields) => Value::Object(object(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A JSON object from outside, every key and text in it cleaned.
pub(super) fn object(fields: &Map<String, Value>) -> Map<String, Value> {
    fields.iter().map(|(key, item)| (clean(key), value(item))).collect()
}

/// A digest keeps its long word, which cleaning would take for a secret; what does not look like one is cleaned.
pub(super) fn digest(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@');
    if text.len() <= DIGEST_LIMIT && text.contains("sha256:") && text.chars().all(fits) {
        text.to_owned()
    } else {
        clean(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelled_out() {
        assert_eq!(visible("plain é 漢"), "plain é 漢");
        assert_eq!(visible("a\u{1b}[31mb\r\n\u{202e}c"), "a\\u{1b}[31mb\\u{d}\\u{a}\\u{202e}c");
        assert_eq!(visible("\u{9b}x\u{e0041}"), "\\u{9b}x\\u{e0041}");
    }

    #[test]
    fn values_from_outside_are_cleaned_at_every_depth() {
        let dirty = serde_json::json!({ "a\u{7}": [{ "b": "/home/alice/x\u{1b}[2J" }], "n": 1, "t": true });
        assert_eq!(value(&dirty), serde_json::json!({ "a": [{ "b": "x" }], "n": 1, "t": true }));
    }

    #[test]
    fn digests_stay_and_others_do_not() {
        let honest = format!("registry.example/torch@sha256:{}", "0a".repeat(32));
        assert_eq!(digest(&honest), honest);
        assert_eq!(digest(&format!("sha256: {}", "0a".repeat(32))), "sha256: [redacted]");
    }
}
