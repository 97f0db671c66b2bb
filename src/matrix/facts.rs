//! Asserted facts: paths into the report and values that its fields can have.
//!
//! Both are held against the report's own JSON Schema, so that a fact that could never hold is an error of the matrix and
//! not a failure of every image.

use gpusweep_report::Report;
use serde_json::Value;

use super::at::{At, Entries, Place};
use super::condition::{Pattern, bad_pattern};
use super::error::{Parsed, Problem};
use crate::model::{Fact, FactValue};

/// All facts of one rule.
pub(super) fn parse(facts: &Entries<At<Option<String>>>) -> Parsed<Vec<Fact>> {
    if facts.0.is_empty() {
        return Ok(Vec::new());
    }
    let schema = schemars::schema_for!(Report).to_value();
    facts.0.iter().map(|(path, value)| fact(&schema, path, value)).collect()
}

fn fact(schema: &Value, path: &At<String>, value: &At<Option<String>>) -> Parsed<Fact> {
    let field = Field::find(schema, path)?;
    Ok(Fact { path: path.value.clone(), value: field.value(&path.value, value)? })
}

/// What the schema says of one field: every form that it can have.
struct Field<'a> {
    root: &'a Value,
    forms: Vec<&'a Value>,
}

impl<'a> Field<'a> {
    fn find(root: &'a Value, path: &At<String>) -> Parsed<Self> {
        let mut field = Self { root, forms: vec![root] };
        for (depth, segment) in path.value.split('.').enumerate() {
            field = field.child(segment).ok_or_else(|| {
                let above: Vec<&str> = path.value.split('.').take(depth).collect();
                field.no_such_child(path.place, &above.join("."), segment)
            })?;
        }
        Ok(field)
    }

    fn child(&self, segment: &str) -> Option<Self> {
        let is_index = segment.parse::<u16>().is_ok_and(|index| index.to_string() == segment);
        let forms: Vec<&Value> = self
            .forms
            .iter()
            .filter_map(|form| {
                let named = form.get("properties").and_then(|properties| properties.get(segment));
                let any = || form.get("additionalProperties").filter(|schema| schema.is_object());
                let item = || form.get("items").filter(|_| is_index);
                named.or_else(any).or_else(item)
            })
            .flat_map(|schema| expand(self.root, schema))
            .collect();
        (!forms.is_empty()).then_some(Self { root: self.root, forms })
    }

    fn children(&self) -> Vec<&'a str> {
        let properties = self.forms.iter().filter_map(|form| form.get("properties")?.as_object());
        properties.flat_map(|properties| properties.keys().map(String::as_str)).collect()
    }

    fn no_such_child(&self, place: Place, above: &str, segment: &str) -> Problem {
        let what = if above.is_empty() { "the report".to_owned() } else { format!("`{above}`") };
        if self.forms.iter().any(|form| form.get("items").is_some()) {
            return Problem::new(
                place,
                format!("`{segment}` is no index, and {what} is a list"),
                format!("give an index from 0 on: `{above}.0`"),
            );
        }
        let known = self.children();
        if known.is_empty() {
            return Problem::new(
                place,
                format!("{what} is a value, and has no field `{segment}`"),
                format!("write `{above}`"),
            );
        }
        let mut problem = Problem::unknown(place, "field", segment, known);
        problem.message = format!("{} in {what}", problem.message);
        problem
    }

    fn is(&self, kind: &str) -> bool {
        self.forms.iter().any(|form| match form.get("type") {
            Some(Value::String(only)) => only == kind,
            Some(Value::Array(several)) => several.iter().any(|one| one == kind),
            Some(_) | None => false,
        })
    }

    /// The words that the field is limited to; empty = any text.
    fn words(&self) -> Vec<&'a str> {
        let listed = self.forms.iter().filter_map(|form| form.get("enum")?.as_array()).flatten();
        let constant = self.forms.iter().filter_map(|form| form.get("const"));
        listed.chain(constant).filter_map(Value::as_str).collect()
    }

    fn value(&self, path: &str, given: &At<Option<String>>) -> Parsed<FactValue> {
        let problem = |message: String, hint: String| Err(Problem::new(given.place, message, hint));
        let Some(text) = &given.value else {
            if self.is("null") {
                return Ok(FactValue::Exactly(Value::Null));
            }
            return problem(format!("`{path}` is never null"), "give a value or a pattern".to_owned());
        };
        if self.is("object") || self.is("array") {
            let children: Vec<String> =
                self.children().iter().map(|child| format!("`{path}.{child}`")).collect();
            let hint = if children.is_empty() {
                format!("name one of its entries: `{path}.…`")
            } else {
                format!("name one of its fields: {}", children.join(", "))
            };
            return problem(format!("`{path}` is a block, and can only be asserted to be null"), hint);
        }
        if self.is("boolean") {
            return match text.as_str() {
                "true" => Ok(FactValue::Exactly(Value::Bool(true))),
                "false" => Ok(FactValue::Exactly(Value::Bool(false))),
                _ => problem(format!("`{path}` cannot be `{text}`"), "write `true` or `false`".to_owned()),
            };
        }
        if self.is("integer") || self.is("number") {
            return self.number(path, text, given.place);
        }
        self.text(path, text, given.place)
    }

    fn number(&self, path: &str, text: &str, place: Place) -> Parsed<FactValue> {
        // The report's numbers compare by kind, so that 196 is not 196.0: the schema says which kind the field has.
        let exact = if self.is("integer") {
            text.parse::<u64>().ok().map(Value::from)
        } else {
            text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
        };
        if let Some(exact) = exact {
            return Ok(FactValue::Exactly(exact));
        }
        let pattern = Pattern::parse(text).map_err(|why| bad_pattern(place, text, &why))?;
        if pattern.matches(text) && !text.contains(['*', '?', '[', '{']) {
            return Err(Problem::new(
                place,
                format!("`{path}` is a number, and cannot be `{text}`"),
                "give a number, or a pattern such as `*`",
            ));
        }
        Ok(FactValue::Glob(text.to_owned()))
    }

    fn text(&self, path: &str, text: &str, place: Place) -> Parsed<FactValue> {
        let pattern = Pattern::parse(text).map_err(|why| bad_pattern(place, text, &why))?;
        let words = self.words();
        if !words.is_empty() && !words.iter().any(|word| pattern.matches(word)) {
            return Err(Problem::unknown(place, &format!("value of `{path}`:"), text, words));
        }
        Ok(FactValue::Glob(text.to_owned()))
    }
}

/// The forms of a schema, with references followed and alternatives laid out.
fn expand<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map(|target| expand(root, target)).unwrap_or_default();
    }
    let alternatives = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
    match alternatives {
        Some(alternatives) => alternatives.iter().flat_map(|one| expand(root, one)).collect(),
        None => vec![schema],
    }
}
