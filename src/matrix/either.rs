//! Values that may be short or spelled out.
//!
//! Main types: [`NameOr`] and [`CodesOr`]. serde's untagged enums would do, but lose every position inside of them and
//! answer every mistake with "did not match any variant".

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::at::At;
use super::shape;
use crate::model::Code;

/// A name, or a map.
#[derive(Debug)]
pub(super) enum NameOr<T> {
    Name(String),
    Spelled(Box<T>),
}

struct NameOrVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrVisitor<T> {
    type Value = NameOr<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a map")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(NameOr::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| NameOr::Spelled(Box::new(value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NameOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for NameOr<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Name_or_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, generator.subschema_for::<T>()] })
    }
}

/// One code, a list of codes, or a map.
#[derive(Debug)]
pub(super) enum CodesOr<T> {
    One(String),
    Many(Vec<At<String>>),
    Spelled(Box<T>),
}

struct CodesOrVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for CodesOrVisitor<T> {
    type Value = CodesOr<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a code, a list of codes, or a map with `code` and `facts`")
    }

    fn visit_str<E: de::Error>(self, code: &str) -> Result<Self::Value, E> {
        Ok(CodesOr::One(code.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut codes = Vec::new();
        while let Some(code) = seq.next_element()? {
            codes.push(code);
        }
        Ok(CodesOr::Many(codes))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| CodesOr::Spelled(Box::new(value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CodesOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CodesOrVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for CodesOr<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Codes_or_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let codes = generator.subschema_for::<shape::OneOrMany<Code>>();
        json_schema!({ "anyOf": [codes, generator.subschema_for::<T>()] })
    }
}
