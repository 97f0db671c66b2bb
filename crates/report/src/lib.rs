//! The report document: what the checker says about one container, and what the controller believes of it.
//!
//! The main type is [`Report`]. This crate knows JSON and nothing of processes, containers or files, so that both sides
//! of the container's wall share one definition.

mod code;
mod document;
mod exposure;
pub mod frame;
mod paths;
mod results;
mod sanitize;
mod validate;
pub mod wire;
mod words;

/// Id of the cause that the kernel killed the worker for memory: the checker's word for it, and the controller's.
pub const MEMORY_KILL: &str = "out-of-memory-kill";

pub use code::{Code, UnknownCode};
pub use document::{
    Cause, Check, Chosen, Device, Driver, Execution, FirstError, HostCheck, Outcome, Probe, Pytorch, Report,
    Request, Runtime, SCHEMA, Stage, Status,
};
pub use exposure::{Exposure, Library, Node, VISIBILITY_VARIABLES};
pub use paths::is_shared_interpreter;
pub use results::{DRIVER_RESULTS, DriverResult, driver_result};
pub use sanitize::{MESSAGE_LIMIT, is_steering, one_line, one_line_without};
pub use validate::{Invalid, MAX_BYTES};
pub use words::PrivateWords;
