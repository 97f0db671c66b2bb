//! Reading YAML into the raw types, and saying in a user's words what the parser minds.
//!
//! It knows the parser's errors and no meaning of values.

use std::cell::Cell;

use serde::de::value::Error as ProbeError;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Error, Options};

use super::at::Place;
use super::error::{Parsed, Problem, suggestion};
use super::raw::{
    RawChecks, RawHost, RawImage, RawInclude, RawLimits, RawMatrix, RawOutcome, RawRule, RawVisibility,
    RawWhen,
};

/// Largest matrix that is read, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// Reads the document.
pub(super) fn read(source: &str) -> Parsed<RawMatrix> {
    if source.len() > MAX_BYTES {
        return Err(Problem::new(
            Place::START,
            format!("the file has {} bytes, more than the {MAX_BYTES} that a matrix may have", source.len()),
            "check that this is the matrix, or split it",
        ));
    }
    if is_blank(source) {
        return Err(Problem::new(
            Place::START,
            "the file holds no matrix",
            "begin it with `schema: gpusweep.matrix/1`, `name:` and `images:`",
        ));
    }
    serde_saphyr::from_str_with_options(source, options()).map_err(|error| explain(&error, source))
}

fn is_blank(source: &str) -> bool {
    source.lines().map(|line| line.trim_start_matches('\u{feff}').trim()).all(|line| {
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..." || line == "null"
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        // Text stays as it was typed: `007` and `1_000` are names as good as any.
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        strict_booleans: true,
        with_snippet: false,
        reject_unsupported_tags: true,
    }
}

fn explain(error: &Error, source: &str) -> Problem {
    let error = innermost(error);
    let place = error.location().map_or(Place::START, Place::from);
    let said = |message: String, hint: &str| Problem::new(place, message, hint);
    match error {
        Error::SerdeUnknownField { field, expected, .. } => Problem::new(
            place,
            format!("unknown key `{field}` in {}", noun_of(expected)),
            suggestion(field, expected.iter().copied()),
        ),
        Error::SerdeMissingField { field, .. } => missing(place, field, source),
        Error::DuplicateMappingKey { key, .. } => {
            said(format!("`{}` is given twice", key.as_deref().unwrap_or("this key")), "keep one of the two")
        }
        Error::SerdeInvalidType { unexpected, expected, .. } => {
            said(format!("expected {expected}, found {}", plain(unexpected)), form(expected).1)
        }
        Error::Unexpected { expected, .. } => {
            let (expected, hint) = form(expected);
            said(format!("expected {expected} here"), hint)
        }
        Error::NullIntoString { .. } => {
            said("there is a key without a value".to_owned(), "give a value, or remove the key")
        }
        Error::InvalidBooleanStrict { .. } | Error::InvalidScalar { ty: "boolean" | "bool", .. } => {
            said("expected `true` or `false`".to_owned(), "write `true` or `false`")
        }
        other => of_yaml(other, place, source),
    }
}

/// Errors of the document rather than of a value.
fn of_yaml(error: &Error, place: Place, source: &str) -> Problem {
    let said = |message: &str, hint: &str| Problem::new(place, message, hint);
    match error {
        Error::MultipleDocuments { .. } => {
            said("a second YAML document begins here", "give each matrix a file of its own")
        }
        Error::UnknownAnchor { .. } => said(
            "this alias names an anchor that is not there",
            "define it above with `&NAME`, or put the value in quotes if it is no alias",
        ),
        Error::UnsupportedTag { .. } => {
            said("a matrix has no tags such as `!name`", "remove the tag, or put the value in quotes")
        }
        Error::Budget { .. } => {
            said("the document is larger than a matrix may be", "split it into several matrices")
        }
        other => malformed(other, place, source),
    }
}

/// Errors of YAML itself, and the rare rest.
fn malformed(error: &Error, place: Place, source: &str) -> Problem {
    let text = match error {
        Error::ExternalMessage { msg, .. } | Error::Message { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    // The place stands before the message already.
    let text = text.lines().next().unwrap_or_default();
    let message = format!("not valid YAML: {}", text.split_once(" at line ").map_or(text, |(text, _)| text));
    let indents_with_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
    let near = source.lines().skip(place.line.saturating_sub(2)).take(3);
    for (line, number) in near.zip(place.line.saturating_sub(1).max(1)..) {
        if indents_with_tab(line) {
            let column = line.chars().take_while(|c| *c == ' ').count() + 1;
            let place = Place::at(number, column);
            return Problem::new(
                place,
                "this line is indented with a tab, which YAML does not allow",
                "indent with spaces",
            );
        }
    }
    Problem::new(place, message, "check quotes, colons, brackets and indentation here and on the line before")
}

fn missing(place: Place, field: &str, source: &str) -> Problem {
    let hint = match field {
        "schema" => "begin the file with `schema: gpusweep.matrix/1`".to_owned(),
        "name" => "add `name: …`".to_owned(),
        "images" => "add `images:` with one entry for each image: `- { name: …, ref: … }`".to_owned(),
        "ref" => "add `ref: REGISTRY/NAME:TAG`".to_owned(),
        other => format!("add `{other}: …`"),
    };
    // The parser's place is the last key of the map. For the outermost map that is far from where a user would look.
    let place = if place.column == 1 { first_content(source) } else { place };
    Problem::new(place, format!("`{field}` is missing here"), hint)
}

fn first_content(source: &str) -> Place {
    let is_content =
        |line: &str| !line.trim().is_empty() && !line.starts_with(['#', '%']) && line.trim() != "---";
    let line = source.lines().position(is_content).unwrap_or_default();
    Place::at(line + 1, 1)
}

/// The error at the place where it was met, without what wraps it.
fn innermost(error: &Error) -> &Error {
    match error.without_snippet() {
        Error::AliasError { error, .. } => innermost(error),
        other => other,
    }
}

/// The parser's word for a form, in a user's, and how that form is written.
fn form(expected: &str) -> (&str, &'static str) {
    match expected {
        "list start" | "sequence start" => {
            ("a list", "write its entries as `[a, b]`, or one a line, each after `- `")
        }
        "map start" | "mapping start" => ("a map", "write it as `key: value`, one a line"),
        "string scalar" | "scalar" => ("a single value", "write one value, without brackets or keys"),
        "a name, or a map" => (expected, "write a name, or a map with `name: …`"),
        "a value, or a list of values" => (expected, "write one value, or several as `[a, b]`"),
        "a code, a list of codes, or a map with `code` and `facts`" => {
            (expected, "write `CODE`, `[CODE, CODE]`, or `{ code: …, facts: … }`")
        }
        other => (other, "correct the value's form"),
    }
}

fn plain(found: &str) -> &str {
    match found {
        "sequence" => "a list",
        "map" => "a map",
        "unit value" => "nothing",
        other => other,
    }
}

/// What the map is that has these keys.
fn noun_of(keys: &[&str]) -> &'static str {
    let nouns = [
        (keys_of::<RawMatrix>(), "a matrix"),
        (keys_of::<RawImage>(), "an image"),
        (keys_of::<RawVisibility>(), "a visibility"),
        (keys_of::<RawHost>(), "a host"),
        (keys_of::<RawChecks>(), "`checks`"),
        (keys_of::<RawRule>(), "a rule of `expect`"),
        (keys_of::<RawOutcome>(), "`expect`"),
        (keys_of::<RawWhen>(), "a condition"),
        (keys_of::<RawInclude>(), "an entry of `include`"),
        (keys_of::<RawLimits>(), "`limits`"),
    ];
    nouns.into_iter().find(|(known, _)| *known == keys).map_or("this map", |(_, noun)| noun)
}

/// The keys that serde derived for a struct: the parser's error carries nothing else to recognise it by.
fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let keys = Cell::new(&[][..]);
    let _ = T::deserialize(KeyProbe(&keys));
    keys.get()
}

struct KeyProbe<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for KeyProbe<'_> {
    type Error = ProbeError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ProbeError> {
        Err(de::Error::custom("no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.0.set(fields);
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
