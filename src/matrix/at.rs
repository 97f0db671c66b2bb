//! Where in the file a value stands, and the shapes that a matrix allows beyond what serde derives.
//!
//! Main types: [`At`], a value and its [`Place`]; [`Entries`], a map in the order of the file; [`Texts`], one scalar or a
//! list of them. They know YAML's positions and nothing of matrices.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A position in the file; line and column count from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
    /// Bytes of the token; empty where they are not known.
    start: usize,
    length: usize,
}

impl Place {
    /// The first character of the file.
    pub(super) const START: Self = Self { line: 1, column: 1, start: 0, length: 0 };

    /// A position of which nothing but line and column is known.
    pub(super) const fn at(line: usize, column: usize) -> Self {
        Self { line, column, ..Self::START }
    }

    /// What stands here, as typed.
    pub(super) fn text_in(self, source: &str) -> Option<&str> {
        let text = source.get(self.start..self.start.checked_add(self.length)?)?;
        (!text.is_empty()).then_some(text)
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let span = location.span();
        Self {
            line: number(location.line()).max(1),
            column: number(location.column()).max(1),
            start: span.byte_offset().map_or(0, number),
            length: span.byte_len().map_or(0, number),
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        // A user looks where an alias is used; the text itself stands where its anchor is.
        let (used, written) = (Place::from(spanned.referenced), Place::from(spanned.defined));
        Ok(Self { value: spanned.value, place: Place { line: used.line, column: used.column, ..written } })
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A map in the order of the file, with the places of its keys.
#[derive(Clone, Debug)]
pub(super) struct Entries<T>(pub(super) Vec<(At<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of names to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

/// One scalar, or a list of them.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    list: TextList,
    pub(super) place: Place,
}

#[derive(Clone, Debug)]
enum TextList {
    One(String),
    /// YAML reads `12.10` as a number and loses its last digit; the source still has it.
    Float(f64),
    Many(Vec<At<String>>),
}

impl Texts {
    /// The scalars as typed.
    pub(super) fn items(&self, source: &str) -> Vec<At<String>> {
        let one = |value: String| vec![At { value, place: self.place }];
        match &self.list {
            TextList::One(text) => one(text.clone()),
            TextList::Float(number) => one(self
                .place
                .text_in(source)
                .map_or_else(|| number.to_string(), |text| text.trim().to_owned())),
            TextList::Many(items) => items.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = At::<TextList>::deserialize(deserializer)?;
        Ok(Self { list: list.value, place: list.place })
    }
}

struct TextListVisitor;

impl<'de> Visitor<'de> for TextListVisitor {
    type Value = TextList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a list of values")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TextList, E> {
        Ok(TextList::One(text.to_owned()))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<TextList, E> {
        Ok(TextList::One(value.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<TextList, E> {
        Ok(TextList::One(number.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<TextList, E> {
        Ok(TextList::One(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<TextList, E> {
        Ok(TextList::Float(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TextList, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(TextList::Many(items))
    }
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextListVisitor)
    }
}

impl JsonSchema for Texts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let scalar = json_schema!({ "type": ["string", "number", "boolean"] });
        json_schema!({ "anyOf": [scalar, { "type": "array", "items": scalar, "minItems": 1 }] })
    }
}

/// Reads a key that is there: a plain `Option` would take `key:` with nothing after it for a missing key.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
