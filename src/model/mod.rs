//! The nouns of a sweep: what a cell is made of, and what can be observed of one.
//!
//! Types only, each valid once it exists. It must not know of files, engines or output formats.

mod axis;
mod cell;
mod code;
mod engine;
mod fact;
mod hex;
mod host;
mod observation;
mod visibility;

pub use axis::Axis;
pub use cell::{Cell, CellId, CellParts, Checks, Device, Expectation, ImageRef, Limits, Stack, Variant};
pub use code::{CellCode, Code};
pub use engine::{EngineFacts, RuntimeFacts};
pub use fact::{Fact, FactValue};
pub(crate) use hex::hex;
pub use host::{BackendKind, Endpoint, Host, NoEndpoint, TlsFiles};
pub use observation::{Applied, Fault, FaultKind, KillReason, Observation, Phase};
pub use visibility::{Asks, Grant, Vendor, Visibility, is_plain_runtime};
