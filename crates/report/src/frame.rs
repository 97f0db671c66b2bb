//! The frame around a report: which attempt it answers, how long it is, and a tag that only the checker can make.
//!
//! Main type: [`Frame`]. The controller makes one for every attempt and hands it to the checker in [`VARIABLE`], which the
//! checker keeps from everything that it starts. What an image prints has no frame, one of another cell, or a wrong tag.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The environment variable that hands a frame to the checker: `ID:SECRET`, both in hexadecimal digits.
pub const VARIABLE: &str = "GPUSWEEP_FRAME";

/// The first word of a frame.
const MARKER: &str = "gpusweep-frame/1";

/// The longest first line of a frame, in bytes, its end included.
pub const HEADER_BYTES: usize = 160;

const ID_DIGITS: usize = 16;
const SECRET_DIGITS: usize = 64;

/// The frame of one attempt.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    id: String,
    /// The secret's digits, which are as many as a block of the hash has bytes.
    secret: [u8; SECRET_DIGITS],
}

/// Without the secret, so that no log ever has it.
impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a text holds no report that can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unframed {
    /// There is nothing.
    #[error("it printed no report on stdout")]
    Nothing,
    /// A line looks like a report and has no frame.
    #[error("a look-alike of a report, without the frame of this attempt, is on stdout")]
    LookAlike,
    /// The frame is that of another attempt.
    #[error("the report on stdout was made for another cell or attempt: a replay")]
    Replay,
    /// The frame names this attempt, and its length or tag is wrong.
    #[error("the report on stdout was not made by this attempt's checker: its length or tag is wrong")]
    Forged,
    /// There is more than one report.
    #[error("a second report is on stdout")]
    Second,
    /// There is something beside the report.
    #[error("something else than the report is on stdout")]
    Noise,
}

impl Frame {
    /// One from 40 random bytes.
    #[must_use]
    pub fn from_random(bytes: &[u8; 40]) -> Self {
        let mut secret = [0; SECRET_DIGITS];
        secret.copy_from_slice(hex(&bytes[8..]).as_bytes());
        Self { id: hex(&bytes[..8]), secret }
    }

    /// The value of [`VARIABLE`].
    #[must_use]
    pub fn to_variable(&self) -> String {
        format!("{}:{}", self.id, String::from_utf8_lossy(&self.secret))
    }

    /// Reads the value of [`VARIABLE`].
    #[must_use]
    pub fn from_variable(value: &str) -> Option<Self> {
        let (id, secret) = value.split_once(':')?;
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let fits = id.len() == ID_DIGITS && is_hex(id) && is_hex(secret);
        let secret = secret.as_bytes().try_into().ok().filter(|_| fits)?;
        Some(Self { id: id.to_owned(), secret })
    }

    /// The two lines that are printed for a report, without the last line end.
    #[must_use]
    pub fn wrap(&self, report: &str) -> String {
        let tag = hex(&self.mac(report).finalize().into_bytes());
        format!("{MARKER} {} {} {tag}\n{report}", self.id, report.len())
    }

    /// Finds the report in what a container printed.
    ///
    /// # Errors
    /// Where there is anything but one report in the frame of this attempt.
    pub fn unwrap<'a>(&self, printed: &'a str) -> Result<&'a str, Unframed> {
        let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
        let headers: Vec<usize> =
            (0..lines.len()).filter(|index| lines[*index].starts_with(MARKER)).collect();
        let Some(first) = headers.first() else { return Err(without_frame(&lines)) };
        for index in &headers {
            self.check(lines[*index], lines.get(index + 1).copied().unwrap_or_default())?;
        }
        match (headers.len(), lines.len()) {
            (1, 2) => Ok(lines[first + 1]),
            (1, _) if lines.iter().filter(|line| is_like_a_report(line)).count() == 1 => Err(Unframed::Noise),
            (1, _) => Err(Unframed::LookAlike),
            (_, _) => Err(Unframed::Second),
        }
    }

    fn check(&self, header: &str, report: &str) -> Result<(), Unframed> {
        let mut words = header.split(' ').skip(1);
        let (id, length, tag) = (words.next(), words.next(), words.next());
        if id != Some(&self.id) {
            return Err(Unframed::Replay);
        }
        let length_holds = length.and_then(|text| text.parse().ok()) == Some(report.len());
        let tag = tag.and_then(bytes_of).filter(|_| words.next().is_none());
        let tag_holds = tag.is_some_and(|tag| self.mac(report).verify_slice(&tag).is_ok());
        if length_holds && tag_holds { Ok(()) } else { Err(Unframed::Forged) }
    }

    fn mac(&self, report: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new((&self.secret).into());
        mac.update(self.id.as_bytes());
        mac.update(report.as_bytes());
        mac
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn without_frame(lines: &[&str]) -> Unframed {
    match lines {
        [] => Unframed::Nothing,
        lines if lines.iter().any(|line| is_like_a_report(line)) => Unframed::LookAlike,
        _ => Unframed::Noise,
    }
}

fn is_like_a_report(line: &str) -> bool {
    line.trim_start().starts_with('{') && line.contains("\"code\"")
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REPORT: &str = "{\"code\":\"CPU_CHECK_PASSED\"}";

    fn frame(seed: u8) -> Frame {
        Frame::from_random(&[seed; 40])
    }

    #[test]
    fn a_frame_survives_its_variable_and_does_not_show_its_secret() {
        let one = frame(7);
        assert_eq!(Frame::from_variable(&one.to_variable()), Some(one.clone()));
        let secret = String::from_utf8(one.secret.to_vec()).unwrap();
        assert!(!format!("{one:?}").contains(&secret) && !one.wrap(REPORT).contains(&secret));
        assert!(one.wrap(REPORT).lines().next().unwrap().len() < HEADER_BYTES);
        for wrong in ["", ":", "12:34", &one.to_variable()[1..], &format!("{}g", &one.to_variable()[..80])] {
            assert_eq!(Frame::from_variable(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whatever_is_not_the_report_is_named() {
        let own = frame(1).wrap(REPORT);
        let other = frame(2).wrap(REPORT);
        let read = |text: &str| frame(1).unwrap(text).map(str::to_owned);
        assert_eq!(read(&format!("{own}\n")), Ok(REPORT.to_owned()));
        assert_eq!(read(" \n"), Err(Unframed::Nothing));
        assert_eq!(read("hello\n"), Err(Unframed::Noise));
        assert_eq!(read(REPORT), Err(Unframed::LookAlike));
        assert_eq!(read(&other), Err(Unframed::Replay));
        assert_eq!(read(&format!("{own}\n{other}")), Err(Unframed::Replay));
        assert_eq!(read(&format!("{own}\n{own}")), Err(Unframed::Second));
        assert_eq!(read(&format!("{REPORT}\n{own}")), Err(Unframed::LookAlike));
        assert_eq!(read(&format!("{own}\nnoise")), Err(Unframed::Noise));
        assert_eq!(read(&own.replace("CPU", "GPU")), Err(Unframed::Forged));
        assert_eq!(read(own.lines().next().unwrap()), Err(Unframed::Forged));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in ".*") {
            prop_assert!(frame(1).unwrap(&text).is_err());
            let _ = Frame::from_variable(&text);
        }

        #[test]
        fn a_report_is_read_back_and_no_changed_byte_is(text in "\\{[ -~]{0,80}\\}", at in any::<prop::sample::Index>(), byte in b' '..=b'~') {
            let wrapped = frame(1).wrap(&text);
            prop_assert_eq!(frame(1).unwrap(&wrapped), Ok(text.as_str()));
            let mut bytes = wrapped.clone().into_bytes();
            let at = at.index(bytes.len());
            // A changed digit of the tag may be the same one in another case.
            let same = bytes[at].eq_ignore_ascii_case(&byte);
            bytes[at] = byte;
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(same || frame(1).unwrap(&changed) != Ok(text.as_str()), "{}", changed);
        }
    }
}
