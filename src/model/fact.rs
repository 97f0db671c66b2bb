//! An asserted fact: a field of the report and the value that it must have.
//!
//! Main type: [`Fact`].

use gpusweep_report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A field of the report, by its dotted path, and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Dotted path, such as `pytorch.cuda_build` or `pytorch.devices.0.name`.
    pub path: String,
    /// What the field must be.
    pub value: FactValue,
}

/// What a field must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactValue {
    /// A pattern with `*` and `?` on the field's text.
    Glob(String),
    /// Exactly this number, boolean or null.
    Exactly(Value),
}

impl Fact {
    /// What the report says where it differs from the fact; none where they agree.
    #[must_use]
    pub fn mismatch(&self, report: &Report) -> Option<String> {
        let document = serde_json::to_value(report).unwrap_or(Value::Null);
        let pointer = format!("/{}", self.path.replace('.', "/"));
        let found = document.pointer(&pointer).cloned().unwrap_or(Value::Null);
        // A field of a block that is null was not looked at, which is no proof that it is null.
        let block = pointer.rsplit_once('/').map_or("", |(block, _)| block);
        let looked_at = document.pointer(block).is_some_and(|block| !block.is_null());
        (!looked_at || !self.value.matches(&found)).then(|| found.to_string())
    }
}

impl FactValue {
    fn matches(&self, found: &Value) -> bool {
        match (self, found) {
            // 196 in a matrix is the 196.0 of a report.
            (Self::Exactly(Value::Number(value)), Value::Number(found)) => value.as_f64() == found.as_f64(),
            (Self::Exactly(value), found) => value == found,
            (Self::Glob(pattern), Value::String(text)) => glob_matches(pattern, text),
            (Self::Glob(pattern), Value::Number(number)) => glob_matches(pattern, &number.to_string()),
            (Self::Glob(_), Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => false,
        }
    }
}

/// Whether `text` fits `pattern`; a pattern that cannot be compiled was refused when the matrix was read.
fn glob_matches(pattern: &str, text: &str) -> bool {
    globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(text))
}

impl std::fmt::Display for FactValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Glob(pattern) => write!(f, "\"{pattern}\""),
            Self::Exactly(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_as_a_reader_means_them() {
        let exactly = |value: Value, found: Value| FactValue::Exactly(value).matches(&found);
        assert!(exactly(json!(196), json!(196.0)));
        assert!(!exactly(json!(196), json!(195.5)));
        assert!(exactly(json!(null), json!(null)) && !exactly(json!(null), json!(0)));
        let glob = |pattern: &str, found: Value| FactValue::Glob(pattern.into()).matches(&found);
        assert!(glob("12.8*", json!("12.8.1")) && !glob("12.8*", json!("12.9")));
        assert!(glob("*", json!("a/b")) && !glob("*", json!(null)));
    }
}
