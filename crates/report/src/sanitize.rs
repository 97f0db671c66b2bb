//! Cleaning of error text before it may stand in a report or an export.
//!
//! Main function: [`one_line`]. It keeps what names the fault (library names, symbols, device nodes) and drops what
//! names the machine or its users. It cannot know which words are names: the caller passes those it knows.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use crate::paths::cut_paths;
use crate::words::PrivateWords;

/// The longest message, in characters.
pub const MESSAGE_LIMIT: usize = 300;

/// Replaces what was taken out.
const REDACTED: &str = "[redacted]";

/// Stands for [`REDACTED`] while a line is worked on. A character for private use; texts lose theirs.
pub(crate) const MASK: char = '\u{f8ff}';

/// What may stand behind "the token is" without being one.
const ORDINARY: [&str; 16] = [
    "a",
    "an",
    "absent",
    "empty",
    "expired",
    "incorrect",
    "invalid",
    "missing",
    "no",
    "none",
    "not",
    "null",
    "required",
    "the",
    "unset",
    "wrong",
];

static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b."));
static URL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s"'`<>)\],;]+"#));
static ASSIGNED_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b([a-z0-9_.-]*(?:token|secret|passwd|password|passphrase|api[_-]?key|access[_-]?key|credential|authorization)[a-z0-9_.-]*["']?|pwd["']?|pw["']?)(\s*[=:]\s*|\s+is\s+|\s+)(?:bearer\s+|basic\s+)?["']?[^\s"',;]+"#,
    )
});
static KNOWN_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox[abposr]-|AKIA|ASIA|dckr_pat_|pypi-|npm_)[A-Za-z0-9_-]{8,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+)",
    )
});
static UUID: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
});
static LONG_WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9_+=-]{32,}"));
static EMAIL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b"));

/// One line of at most [`MESSAGE_LIMIT`] characters, fit to leave the machine.
///
/// Paths are cut to their last component (GPU device nodes stay whole: they name the fault), and what looks like a
/// secret, a URL or a UUID is replaced, as is each of the `private` values that the caller knows to be such.
#[must_use]
pub fn one_line(text: &str, private: &[String]) -> String {
    one_line_without(text, &PrivateWords::new(private, [""; 0]))
}

/// As [`one_line`], for a caller that tells names from values.
#[must_use]
pub fn one_line_without(text: &str, private: &PrivateWords) -> String {
    let mask = MASK.to_string();
    // Private words first, as the other rules change what is around them; one character in their place, as brackets
    // would end a path.
    let mut line = private.mask(&plain(text));
    line = URL.replace_all(&line, "[url]").into_owned();
    line = KNOWN_SECRET.replace_all(&line, mask.as_str()).into_owned();
    line = ASSIGNED_SECRET.replace_all(&line, hide_assigned).into_owned();
    line = UUID.replace_all(&line, "[uuid]").into_owned();
    line = EMAIL.replace_all(&line, mask.as_str()).into_owned();
    line = cut_paths(&line);
    line = LONG_WORD.replace_all(&line, hide_long).into_owned();
    truncate(&unmask(&line))
}

/// The text on one line, without terminal escapes and characters that steer what is shown.
pub(crate) fn plain(text: &str) -> String {
    flatten(&ESCAPES.replace_all(text, " "))
}

/// Puts the reader's word in the place of [`MASK`].
pub(crate) fn unmask(line: &str) -> String {
    line.replace(MASK, REDACTED)
}

/// `Bearer token is missing` holds no secret; only a value behind `=`, `:` or a value-like word does.
fn hide_assigned(found: &Captures<'_>) -> String {
    let separator = &found[2];
    let whole = &found[0];
    let value = &whole[found[1].len() + separator.len()..];
    if separator.trim().eq_ignore_ascii_case("is") && ORDINARY.contains(&value.to_ascii_lowercase().as_str())
    {
        return whole.to_owned();
    }
    if separator.trim().is_empty() && !value.chars().any(|c| c.is_ascii_digit()) {
        return whole.to_owned();
    }
    format!("{}{separator}{MASK}", &found[1])
}

/// Digests, keys and ids mix digits and letters; mangled C++ symbols do too, but they are what the error is about.
fn hide_long(found: &Captures<'_>) -> String {
    let word = &found[0];
    let mixed = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(|c| c.is_ascii_alphabetic());
    if mixed && !word.starts_with("_Z") { MASK.to_string() } else { word.to_owned() }
}

fn flatten(text: &str) -> String {
    let spaced: String =
        text.chars().map(|c| if c.is_control() || is_steering(c) || c == MASK { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that change how the text around them is shown, or that are not shown at all.
#[must_use]
pub const fn is_steering(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn truncate(line: &str) -> String {
    if line.chars().count() <= MESSAGE_LIMIT {
        return line.to_owned();
    }
    let kept: String = line.chars().take(MESSAGE_LIMIT - 1).collect();
    format!("{kept}…")
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and every one is compiled by the tests")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("constant pattern")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(text: &str) -> String {
        one_line(text, &[])
    }

    #[test]
    fn paths_keep_their_last_component() {
        assert_eq!(clean("/home/alice/x/libcudart.so.13: cannot open"), "libcudart.so.13: cannot open");
        assert_eq!(clean("(\"/opt/venv/lib/a.py\", line 3)"), "(\"a.py\", line 3)");
        assert_eq!(clean("in ./src/secret-project/x.py and ~/notes"), "in x.py and notes");
        assert_eq!(clean("home/alice/project/x.so missing"), "x.so missing");
        assert_eq!(clean("PATH=/root/bin"), "PATH=bin");
    }

    #[test]
    fn what_names_the_fault_stays() {
        for text in [
            "undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcEE",
            "error gathering device information while adding custom device \"/dev/kfd\": no such file",
            "could not select device driver \"\" with capabilities: [[gpu]]",
            "Found no NVIDIA driver on your system and/or no GPU.",
            "libcublasLt.so.*[0-9] not found in the system path",
            "invalid token in expression",
        ] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn secrets_are_replaced() {
        assert_eq!(clean("HF_TOKEN=hf_abcdefghijkl failed"), "HF_TOKEN=[redacted] failed");
        assert_eq!(clean("password: hunter2, next"), "password: [redacted], next");
        assert_eq!(clean("Authorization: Bearer abc.def"), "Authorization: [redacted]");
        assert_eq!(clean("get https://u:p@host/x?k=1 now"), "get [url] now");
        assert_eq!(clean("at `https://host/x`, then"), "at `[url]`, then");
        assert_eq!(clean("GPU-12345678-1234-1234-1234-123456789abc lost"), "[uuid] lost");
        assert_eq!(clean(&format!("id {}", "0a".repeat(32))), "id [redacted]");
        assert_eq!(
            one_line("at build-box-7 by bob1", &["build-box-7".into(), "bob1".into()]),
            "at [redacted] by [redacted]"
        );
    }

    #[test]
    fn people_and_spoken_secrets_are_replaced() {
        assert_eq!(clean("ask bob.b+x@mail.example.org, now"), "ask [redacted], now");
        assert_eq!(clean("the passphrase is correcthorse"), "the passphrase is [redacted]");
        assert_eq!(clean("pw: abc, pwd=def"), "pw: [redacted], pwd=[redacted]");
        for text in ["the token is missing", "undefined symbol: memcpy@GLIBC_2.14", "power is low"] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn a_private_word_does_not_end_a_path() {
        let private = ["moonshot".to_owned()];
        assert_eq!(one_line("in /srv/moonshot/secret/x.so", &private), "in x.so");
        assert_eq!(one_line("in /srv/moonshot", &private), "in [redacted]");
    }

    #[test]
    fn nothing_steers_the_text() {
        for c in ['\u{61c}', '\u{ad}', '\u{180e}', '\u{fff9}', '\u{fffb}', '\u{e0041}', '\u{202e}', MASK] {
            assert_eq!(clean(&format!("a{c}b")), "a b");
        }
    }

    #[test]
    fn one_short_line_without_escapes() {
        assert_eq!(clean("a\n\tb\u{1b}[31mc\u{1b}[0m\u{202e}d"), "a b c d");
        assert_eq!(clean(&"x ".repeat(500)).chars().count(), MESSAGE_LIMIT);
    }

    proptest! {
        #[test]
        fn always_one_bounded_line(text in any::<String>()) {
            let line = clean(&text);
            prop_assert!(line.chars().count() <= MESSAGE_LIMIT);
            prop_assert!(!line.chars().any(char::is_control));
        }

        #[test]
        fn no_folder_of_an_absolute_path_survives(folder in "[a-z]{6,12}", file in "[a-z]{1,8}\\.so", quote in "[ '\"(=]") {
            let line = clean(&format!("cannot open{quote}/srv/{folder}/{file}: gone"));
            prop_assert!(!line.contains(&folder), "{line}");
            prop_assert!(line.contains(&file), "{line}");
        }
    }
}
