//! The last bytes of a stream of any length.
//!
//! Main type: [`Tail`]. A worker may print gigabytes; a crash's reason is at the end.

/// How much is kept.
const KEPT: usize = 16 * 1024;

/// The end of what was printed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.is_cut |= self.bytes.len() + chunk.len() > KEPT;
        let chunk = &chunk[chunk.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + chunk.len()).saturating_sub(KEPT);
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend_from_slice(chunk);
    }

    /// The text, with what is no UTF-8 replaced. It begins with a whole line: the half of a path or of a secret is not
    /// recognised as such, and would not be hidden.
    pub(crate) fn text(&self) -> String {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let start = match self.bytes.iter().position(is_end) {
            _ if !self.is_cut => 0,
            Some(end) => end + 1,
            None => self.bytes.len(),
        };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; 3 * KEPT]);
        assert_eq!(tail.text(), "");
        tail.push(b"half a secret\nthe end");
        assert_eq!(tail.bytes.len(), KEPT);
        assert_eq!(tail.text(), "the end");
        let mut short = Tail::default();
        short.push(b"one ");
        short.push(b"two");
        assert_eq!(short.text(), "one two");
    }
}
