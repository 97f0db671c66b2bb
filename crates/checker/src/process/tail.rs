//! The last bytes of a stream of any length.
//!
//! Main type: [`Tail`]. A worker may print gigabytes; a crash's reason is at the end.

/// How much is kept.
const KEPT: usize = 16 * 1024;

/// The end of what was printed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + chunk.len()).saturating_sub(KEPT);
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend_from_slice(chunk);
    }

    /// The text, with what is no UTF-8 replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; 3 * KEPT]);
        tail.push(b"the end");
        assert_eq!(tail.text().len(), KEPT);
        assert!(tail.text().ends_with("aathe end"));
        let mut short = Tail::default();
        short.push(b"one ");
        short.push(b"two");
        assert_eq!(short.text(), "one two");
    }
}
