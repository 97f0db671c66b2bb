//! What each engine and its machine offer a GPU container, and what is missing.
//!
//! Main type: [`Examination`], one per host; [`findings()`] says what follows from it. It starts nothing and changes nothing.

mod cdi;
mod findings;
mod machine;
#[cfg(test)]
mod tests;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cdi::CdiSpec;
pub use findings::{Finding, Weight, findings};
pub use machine::{MachineFacts, NodeFacts, is_this_machine};
pub use text::write;

use crate::model::EngineFacts;

/// The value of [`Examined::schema`].
pub const SCHEMA: &str = "gpusweep.doctor/1";

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// Always `gpusweep.doctor/1`.
    pub schema: String,
    /// One entry per host, in the order in which they were named.
    pub hosts: Vec<Examination>,
}

/// What was found of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Examination {
    /// Host, as it was named.
    pub host: String,
    /// What its engine says of itself; null where it does not answer, or the host has no engine.
    pub engine: Option<EngineFacts>,
    /// Why its engine does not answer; null where it does, or there is none.
    pub unreachable: Option<String>,
    /// What was seen of the engine's machine; null where that is not this one.
    pub machine: Option<MachineFacts>,
    /// What follows, faults first.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Draws the conclusions.
    #[must_use]
    pub fn new(
        host: &str,
        engine: Option<Result<EngineFacts, String>>,
        machine: Option<MachineFacts>,
    ) -> Self {
        let (engine, unreachable) = match engine {
            Some(Ok(engine)) => (Some(engine), None),
            Some(Err(words)) => (None, Some(words)),
            None => (None, None),
        };
        let findings = findings(engine.as_ref(), unreachable.as_deref(), machine.as_ref());
        Self { host: host.to_owned(), engine, unreachable, machine, findings }
    }
}
