//! What the JSON Schema says of scalars: text in the raw types, so that the source's own spelling survives, and narrower
//! for an editor.
//!
//! Types of this module are never built; they only describe.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::model::Stack;

/// Gives a type that only describes its schema.
macro_rules! shape {
    ($($(#[$doc:meta])* $name:ident = $schema:tt;)*) => {$(
        $(#[$doc])*
        pub(super) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

shape! {
    /// The version of the format.
    SchemaName = { "const": "gpusweep.matrix/1" };
    /// Any scalar.
    Scalar = { "type": ["string", "number", "boolean"] };
    /// A number from 1 on.
    Count = { "type": "integer", "minimum": 1 };
    /// A GPU index or `cpu`.
    Device = { "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 127 }, { "const": "cpu" }] };
    /// Seconds, or a number with its unit.
    Duration = { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^([0-9]+(ms|s|m|h)?)+$" }] };
    /// Bytes, or a number with its unit.
    Size = { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^[0-9]+([bB]|[kKmMgGtT]([iI]?[bB])?)?$" }] };
    /// A back end.
    Backend = { "enum": ["docker", "host"] };
    /// How cells are placed.
    Placement = { "enum": ["each", "any"] };
    /// IPC modes.
    Ipc = { "enum": ["none", "private", "shareable", "host"] };
}

/// One value, or a list of them.
pub(super) struct OneOrMany<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("One_or_many_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

/// A variant: two keys that gpusweep knows, and those that placeholders name.
pub(super) enum Variant {}

impl JsonSchema for Variant {
    fn schema_name() -> Cow<'static, str> {
        "Variant".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "properties": {
                "stack": generator.subschema_for::<Stack>(),
                "toolkit": { "type": ["string", "number"], "description": "Version of the toolkit." },
            },
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        })
    }
}
