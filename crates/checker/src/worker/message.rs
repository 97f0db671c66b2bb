//! What a worker may say, and the reader of its report descriptor.
//!
//! Main types: [`Message`] and [`Reader`]. Everything here comes from inside the image and is not to be believed further
//! than its shape.

use gpusweep_report::Stage;
use serde::Deserialize;

/// The most that a worker may report, in bytes.
const MAX_REPORT: usize = 64 * 1024;

/// One line of the worker's report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Message {
    /// It begins with this stage.
    Stage(Stage),
    /// The interpreter.
    Runtime(RuntimeFacts),
    /// The torch that it imported; a later one replaces an earlier one.
    Pytorch(Box<PytorchFacts>),
    /// The last line.
    Result(Outcome),
}

/// Facts of the interpreter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuntimeFacts {
    pub(super) python_version: String,
    pub(super) libc: Option<String>,
}

/// Facts of torch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PytorchFacts {
    pub(super) version: Option<String>,
    pub(super) cuda_build: Option<String>,
    pub(super) hip_build: Option<String>,
    pub(super) gpu_available: Option<bool>,
    pub(super) visible_device_count: Option<u32>,
    pub(super) arch_list: Option<Vec<String>>,
    pub(super) devices: Option<Vec<DeviceFacts>>,
}

/// Facts of one device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceFacts {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) architecture: Option<String>,
    pub(super) memory_bytes: Option<u64>,
}

/// How the worker's own part ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Outcome {
    /// It has values; whether they are right is not for it to say.
    Computed(Computed),
    /// It could not go on in the stage it had told last.
    Failed(Failed),
}

/// The results, with numbers as text: JSON has no NaN.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Computed {
    pub(super) product: Vec<Vec<String>>,
    pub(super) gradient: Vec<Vec<String>>,
    pub(super) loss: String,
    pub(super) product_device: String,
    pub(super) gradient_device: String,
}

/// Why the worker could not go on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failed {
    pub(super) reason: Reason,
    pub(super) error: Option<Described>,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reason {
    /// There is no torch.
    Missing,
    /// torch declares no GPU backend.
    Absent,
    /// No GPU is usable.
    Unavailable,
    /// The index is out of range.
    Index,
    /// An error that torch calls an out-of-memory one.
    Memory,
    /// Any other error.
    Error,
}

/// An exception.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: String,
}

/// Why a report descriptor's content is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Garbled {
    #[error("the worker's report is longer than {MAX_REPORT} bytes")]
    TooLong,
    #[error("the worker's report has a line that is no message")]
    NoMessage,
}

/// Cuts a stream into messages, and holds no more than one report may have.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pending: Vec<u8>,
    total: usize,
}

impl Reader {
    /// The messages that are whole by now, up to the first fault.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (Vec<Message>, Option<Garbled>) {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > MAX_REPORT {
            self.pending.clear();
            return (Vec::new(), Some(Garbled::TooLong));
        }
        self.pending.extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(message) => messages.push(message),
                Err(_) => return (messages, Some(Garbled::NoMessage)),
            }
        }
        (messages, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_in_any_pieces() {
        let text =
            b"{\"stage\":\"import\"}\n{\"result\":{\"failed\":{\"reason\":\"absent\",\"error\":null}}}\n";
        for size in [1, 7, text.len()] {
            let mut reader = Reader::default();
            let found: usize = text.chunks(size).map(|piece| reader.push(piece).0.len()).sum();
            assert_eq!(found, 2, "pieces of {size}");
        }
    }

    #[test]
    fn garbage_and_floods_are_told_apart() {
        let mut reader = Reader::default();
        let (messages, fault) = reader.push(b"{\"stage\":\"import\"}\nhello\n");
        assert_eq!((messages.len(), fault), (1, Some(Garbled::NoMessage)));
        let mut reader = Reader::default();
        assert_eq!(reader.push(&vec![b'x'; MAX_REPORT]).1, None);
        assert_eq!(reader.push(b"x").1, Some(Garbled::TooLong));
    }
}
