//! How a report is told from whatever else stands in an output: a line before it with a tag that only the two sides can
//! make.
//!
//! Main types: [`Key`], made for one attempt and handed to its checker alone; [`Refused`], why an output is no report.
//! The line is `gpusweep-frame/1 ID LENGTH TAG`: the attempt's public id, the report's length in bytes, and the
//! HMAC-SHA256 of all that and the report under the attempt's secret. A report that was seen once is of no use to another
//! attempt, and one that was made up has no tag.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{MAX_BYTES, SCHEMA};

/// The variable in which a checker finds its key, as `ID:SECRET`. No child of the checker inherits it.
pub const VARIABLE: &str = "GPUSWEEP_FRAME";

/// First word of the line, with the form's version.
const MARKER: &str = "gpusweep-frame/1";

/// First word of a line in any version.
const ANY_MARKER: &[u8] = b"gpusweep-frame/";

/// The most bytes that a report in its frame can have; a reader needs to keep one more, and no others.
pub const MAX_FRAMED: usize = MAX_BYTES + 256;

/// Length of the public id in bytes.
const ID: usize = 16;

/// Length of the secret in bytes, which is that of the tag.
const SECRET: usize = 32;

/// Length of what stands for a UUID in bytes.
const PSEUDONYM: usize = 8;

/// Length of a block of SHA-256.
const BLOCK: usize = 64;

/// Random bytes that a key is made of.
pub const KEY_BYTES: usize = ID + SECRET;

/// What one attempt and its checker share.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    id: String,
    secret: [u8; SECRET],
}

/// Never the secret: what is printed for a person ends up in logs.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why an output is not one report of the attempt that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing but blanks.
    #[error("it printed no report on stdout")]
    Nothing,
    /// More than a report can have.
    #[error("it printed more than {MAX_FRAMED} bytes on stdout")]
    TooLong,
    /// The frame is right, and what is in it is not text.
    #[error("what it printed on stdout is not UTF-8")]
    NotText,
    /// Two frames with right tags.
    #[error("a second report of this attempt: only one that knows the attempt's secret can have made it")]
    Second,
    /// A frame that claims to be of this attempt.
    #[error("a look-alike: it has this attempt's id, and its length or tag is wrong")]
    LookAlike,
    /// The line that goes before a report, and the report broken off or not there.
    #[error("its report is cut off")]
    Cut,
    /// A frame of another attempt.
    #[error("a replay: a report of another cell or attempt")]
    Replay,
    /// A line that begins as a frame.
    #[error("a look-alike: a frame that is no frame of this version")]
    Malformed,
    /// A report, or the like of it, without a frame.
    #[error("a look-alike: a report without a frame, which the checker never prints in a sweep")]
    Unframed,
    /// Anything else.
    #[error("it printed something on stdout that is not its report")]
    Noise,
}

impl Refused {
    /// Whether somebody made it to be taken for a report. The end of a checker explains the others.
    #[must_use]
    pub const fn is_forged(self) -> bool {
        match self {
            Self::Second | Self::LookAlike | Self::Replay | Self::Malformed | Self::Unframed => true,
            Self::NotText | Self::TooLong | Self::Cut | Self::Noise | Self::Nothing => false,
        }
    }

    /// Of several things that are wrong with an output, the one that says most is named.
    const fn weight(self) -> u8 {
        match self {
            Self::Second => 9,
            Self::LookAlike => 8,
            Self::Replay => 7,
            Self::Malformed => 6,
            Self::Unframed => 5,
            Self::NotText => 4,
            Self::TooLong => 3,
            Self::Cut => 2,
            Self::Noise => 1,
            Self::Nothing => 0,
        }
    }
}

impl Key {
    /// A key of these bytes, which must be random and used once.
    #[must_use]
    pub fn from_random(bytes: &[u8; KEY_BYTES]) -> Self {
        let (id, secret) = bytes.split_at(ID);
        let mut key = Self { id: hex(id), secret: [0; SECRET] };
        key.secret.copy_from_slice(secret);
        key
    }

    /// The part that may be shown.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The value of [`VARIABLE`].
    #[must_use]
    pub fn to_variable(&self) -> String {
        format!("{}:{}", self.id, hex(&self.secret))
    }

    /// The key in a value of [`VARIABLE`]; an image may have set it to anything.
    #[must_use]
    pub fn from_variable(value: &str) -> Option<Self> {
        let (id, secret) = value.split_once(':')?;
        unhex::<ID>(id)?;
        Some(Self { id: id.to_owned(), secret: unhex(secret)? })
    }

    /// A report, which is one line without its end, in its frame.
    #[must_use]
    pub fn wrap(&self, report: &str) -> String {
        format!("{}\n{report}\n", self.line_before(report.as_bytes()))
    }

    fn line_before(&self, report: &[u8]) -> String {
        let claim = format!("{MARKER} {} {}", self.id, report.len());
        let mut tag = self.hmac();
        tag.update(claim.as_bytes());
        tag.update(b"\n");
        tag.update(report);
        format!("{claim} {}", hex(&tag.finalize().into_bytes()))
    }

    /// What stands for a GPU's UUID in this attempt's report: of use to those who have the key and a UUID to hold it against.
    #[must_use]
    pub fn pseudonym(&self, uuid: &str) -> String {
        let lower = uuid.to_ascii_lowercase();
        // Tools put a word before it, and programs do not.
        let bare = lower.strip_prefix("gpu-").or_else(|| lower.strip_prefix("mig-")).unwrap_or(&lower);
        let mut digest = self.hmac();
        digest.update(b"uuid\n");
        digest.update(bare.as_bytes());
        hex(&digest.finalize().into_bytes()[..PSEUDONYM])
    }

    fn hmac(&self) -> Hmac<Sha256> {
        // As the standard fills up a key that is shorter than a block of the hash.
        let mut block = [0; BLOCK];
        block[..SECRET].copy_from_slice(&self.secret);
        Hmac::new(&block.into())
    }

    /// The one report of this attempt in an output that holds it and nothing else.
    ///
    /// # Errors
    /// Where there is none, or anything beside it: nobody but the checker can write there, so whatever else stands
    /// there was put there by somebody who should not have been able to.
    pub fn unwrap<'a>(&self, output: &'a [u8]) -> Result<&'a str, Refused> {
        if output.len() > MAX_FRAMED {
            return Err(Refused::TooLong);
        }
        let mut found: Option<&[u8]> = None;
        let mut wrong: Option<Refused> = None;
        let mut note = |problem: Refused| {
            wrong = wrong.into_iter().chain([problem]).max_by_key(|problem| problem.weight());
        };
        let mut lines = output.split_inclusive(|byte| *byte == b'\n');
        while let Some(line) = lines.next() {
            match self.kind(line) {
                Line::Blank => {}
                Line::Refused(problem) => note(problem),
                Line::Ours => match self.report_behind(line, lines.clone().next()) {
                    Ok(report) => {
                        lines.next();
                        if found.replace(report).is_some() {
                            note(Refused::Second);
                        }
                    }
                    Err(Refused::Cut) => {
                        // What there is of the report is no report without a frame.
                        note(Refused::Cut);
                        break;
                    }
                    Err(problem) => note(problem),
                },
            }
        }
        match (wrong, found) {
            (Some(problem), _) => Err(problem),
            (None, None) => Err(Refused::Nothing),
            (None, Some(report)) => std::str::from_utf8(report).map_err(|_| Refused::NotText),
        }
    }

    /// The report that follows a line. There is one way to write that line for it, so any other is wrong.
    fn report_behind<'a>(&self, line: &[u8], next: Option<&'a [u8]>) -> Result<&'a [u8], Refused> {
        let report = next.and_then(|next| next.strip_suffix(b"\n")).ok_or(Refused::Cut)?;
        let is_right = line.strip_suffix(b"\n") == Some(self.line_before(report).as_bytes());
        if is_right { Ok(report) } else { Err(Refused::LookAlike) }
    }

    fn kind(&self, line: &[u8]) -> Line {
        let text = line.trim_ascii();
        if text.is_empty() {
            return Line::Blank;
        }
        if !text.starts_with(ANY_MARKER) {
            let quoted = [b"\"", SCHEMA.as_bytes(), b"\""].concat();
            let is_report = text.windows(quoted.len()).any(|window| window == quoted);
            return Line::Refused(if is_report { Refused::Unframed } else { Refused::Noise });
        }
        let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
        match words[..] {
            [marker, id, _, _] if marker == MARKER.as_bytes() && id == self.id.as_bytes() => Line::Ours,
            [marker, id, _, _] if marker == MARKER.as_bytes() && is_id(id) => Line::Refused(Refused::Replay),
            _ => Line::Refused(Refused::Malformed),
        }
    }
}

/// What a line of an output is by itself.
enum Line {
    Blank,
    /// It claims to be this attempt's.
    Ours,
    Refused(Refused),
}

fn is_id(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| unhex::<ID>(word).is_some())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Exactly so many bytes, as [`hex`] writes them.
fn unhex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != LENGTH * 2 || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REPORT: &str = r#"{"schema":"gpusweep.report/1","code":"GPU_CHECK_PASSED"}"#;

    fn key(seed: u8) -> Key {
        Key::from_random(&[seed; KEY_BYTES])
    }

    fn refused(output: &str) -> Refused {
        key(1).unwrap(output.as_bytes()).unwrap_err()
    }

    /// Against another implementation: Python's `hmac.new(bytes([1] * 32), text, "sha256")`.
    #[test]
    fn the_tag_is_an_hmac_of_line_and_report() {
        let line = key(1).line_before(b"{}");
        assert_eq!(
            line,
            "gpusweep-frame/1 01010101010101010101010101010101 2 \
             52c8583c0813600dc142ce696047242326d2745e759329fdd79dca1046ec49b4"
        );
    }

    #[test]
    fn whatever_is_not_the_one_report_is_named() {
        let own = key(1).wrap(REPORT);
        let tag_of_another = own.replacen(REPORT, &REPORT.replace("GPU", "CPU"), 1);
        let (line, _) = own.split_once('\n').unwrap();
        assert_eq!(refused(""), Refused::Nothing);
        assert_eq!(refused("\n \n"), Refused::Nothing);
        assert_eq!(refused(&own.repeat(2)), Refused::Second);
        let other_report = key(1).wrap("{}");
        assert_eq!(refused(&format!("{own}{other_report}")), Refused::Second);
        assert_eq!(refused(&tag_of_another), Refused::LookAlike);
        assert_eq!(refused(&format!("{tag_of_another}{own}")), Refused::LookAlike);
        assert_eq!(refused(&format!("{line}\n{own}")), Refused::LookAlike);
        assert_eq!(refused(own.trim_end()), Refused::Cut);
        assert_eq!(refused(line), Refused::Cut);
        assert_eq!(refused(&format!("{own}{line}")), Refused::Cut);
        assert_eq!(refused(&key(2).wrap(REPORT)), Refused::Replay);
        assert_eq!(refused(&format!("{own}{}", key(2).wrap(REPORT))), Refused::Replay);
        assert_eq!(refused(&format!("gpusweep-frame/2 x\n{own}")), Refused::Malformed);
        assert_eq!(refused(&format!("{REPORT}\n")), Refused::Unframed);
        assert_eq!(refused(&format!("{own}{REPORT}")), Refused::Unframed);
        assert_eq!(refused(&format!("hello\n{own}")), Refused::Noise);
        assert_eq!(refused(&" ".repeat(MAX_FRAMED + 1)), Refused::TooLong);
        assert_eq!(key(1).unwrap(own.as_bytes()), Ok(REPORT));
    }

    #[test]
    fn the_longest_report_fits_its_frame() {
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(key(1).unwrap(key(1).wrap(&longest).as_bytes()), Ok(longest.as_str()));
    }

    #[test]
    fn a_key_is_what_its_variable_says_and_is_not_shown() {
        let mut bytes = [0; KEY_BYTES];
        (0..).zip(&mut bytes).for_each(|(number, byte)| *byte = number);
        let key = Key::from_random(&bytes);
        let value = key.to_variable();
        assert_eq!(Key::from_variable(&value).as_ref(), Some(&key));
        let secret = value.split_once(':').unwrap().1;
        assert!(!format!("{key:?}").contains(secret) && !key.wrap(REPORT).contains(secret));
        for other in ["", ":", "x:y", &value[1..], &value[..value.len() - 1], &value.to_uppercase()] {
            assert_eq!(Key::from_variable(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_output_breaks_the_reader(output in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(key(1).unwrap(&output).is_err());
        }

        #[test]
        fn no_pieces_of_frames_break_the_reader(pieces in proptest::collection::vec(piece(), 0..8)) {
            let output = pieces.concat();
            let taken = key(1).unwrap(output.as_bytes());
            prop_assert!(taken.is_err() || output.trim() == key(1).wrap(REPORT).trim(), "{output:?}");
        }

        #[test]
        fn a_report_comes_back_as_it_was(report in "[^\n\r]{0,300}", bytes in any::<[u8; 32]>()) {
            let mut random = [7; KEY_BYTES];
            random[..32].copy_from_slice(&bytes);
            let key = Key::from_random(&random);
            let output = key.wrap(&report);
            prop_assert_eq!(key.unwrap(output.as_bytes()), Ok(report.as_str()));
        }

        #[test]
        fn no_changed_byte_is_taken(at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let mut output = key(1).wrap(REPORT).into_bytes();
            let at = at.index(output.len());
            output[at] ^= flip;
            prop_assert!(key(1).unwrap(&output).is_err());
        }
    }

    fn piece() -> impl Strategy<Value = String> {
        let own = key(1).wrap(REPORT);
        let (line, report) = own.split_once('\n').unwrap();
        prop_oneof![
            Just(own.clone()),
            Just(format!("{line}\n")),
            Just(report.to_owned()),
            Just(key(2).wrap(REPORT)),
            Just("gpusweep-frame/1 ".to_owned()),
            Just("\n".to_owned()),
            ".{0,20}",
        ]
    }
}
