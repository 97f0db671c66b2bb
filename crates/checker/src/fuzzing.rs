//! Readers of hostile bytes, for the fuzzer alone.

use crate::worker::Reader;
use crate::{exposure, process};

/// The paths in a cache of the loader.
#[must_use]
pub fn cached(bytes: &[u8]) -> Vec<&str> {
    exposure::cached(bytes)
}

/// The version in NVIDIA's file below /proc.
#[must_use]
pub fn nvidia_version(text: &str) -> Option<String> {
    exposure::version_in(text)
}

/// A process's `stat`.
pub fn place(stat: &[u8]) {
    process::read_place(stat);
}

/// What is read from these bytes in pieces of this size, up to the first fault, as text that can be compared.
#[must_use]
pub fn messages(bytes: &[u8], size: usize) -> Vec<String> {
    let mut reader = Reader::default();
    let mut told = Vec::new();
    for piece in bytes.chunks(size) {
        let (messages, fault) = reader.push(piece);
        told.extend(messages.iter().map(|message| format!("{message:?}")));
        if let Some(fault) = fault {
            told.push(format!("{fault:?}"));
            break;
        }
    }
    told
}
