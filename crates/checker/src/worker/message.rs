//! The reader of a worker's report descriptor.
//!
//! Main type: [`Reader`].

use gpusweep_report::wire::Message;

/// The most that a worker may report, in bytes.
const MAX_REPORT: usize = 64 * 1024;

/// Why a report descriptor's content is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Garbled {
    #[error("the worker's report is longer than {MAX_REPORT} bytes")]
    TooLong,
    #[error("the worker's report has a line that is no message")]
    NoMessage,
}

/// Cuts a stream into messages, and holds no more than one report may have.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pending: Vec<u8>,
    total: usize,
}

impl Reader {
    /// The messages that are whole by now, up to the first fault.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (Vec<Message>, Option<Garbled>) {
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
