//! Words that must not leave, known to the caller: values of variables, names of users and hosts.
//!
//! Main type: [`PrivateWords`]. Each is looked for in every spelling that an error message gives it.

use std::collections::BTreeSet;

use crate::sanitize::{MASK, plain, unmask};

/// Values shorter than this are too common as parts of words to be hidden wherever they stand.
const SHORTEST_VALUE: usize = 4;

/// Shorter names cannot be told from punctuation.
const SHORTEST_NAME: usize = 2;

/// Private words, in all their spellings.
#[derive(Clone, Debug, Default)]
pub struct PrivateWords {
    /// Hidden wherever they stand.
    values: Vec<String>,
    /// Hidden where they stand as words, in any case.
    names: Vec<String>,
}

impl PrivateWords {
    /// Values are hidden wherever they stand, names as whole words and in any case of their letters.
    #[must_use]
    pub fn new(
        values: impl IntoIterator<Item = impl AsRef<str>>,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let names = spellings(names, SHORTEST_NAME).into_iter().map(|name| name.to_ascii_lowercase());
        Self { values: spellings(values, SHORTEST_VALUE), names: names.collect() }
    }

    /// The text on one line, with each private word replaced.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        unmask(&self.mask(&plain(text)))
    }

    /// As [`Self::hide`], and names of some length inside of words too: a class is a word that was made of others.
    #[must_use]
    pub fn hide_inside(&self, text: &str) -> String {
        let mut line = self.mask(&plain(text));
        for name in self.names.iter().filter(|name| name.chars().count() >= SHORTEST_VALUE) {
            line = mask_name(&line, name, |_, _| true);
        }
        unmask(&line)
    }

    pub(crate) fn mask(&self, line: &str) -> String {
        let mask = MASK.to_string();
        let mut line = line.to_owned();
        for value in &self.values {
            line = line.replace(value.as_str(), &mask);
        }
        for name in &self.names {
            line = mask_name(&line, name, is_whole);
        }
        line
    }
}

/// As it is, as `repr` writes it, and as it becomes part of an identifier; the longest first, or a short word inside a
/// long one would leave the rest of the long one standing.
fn spellings(words: impl IntoIterator<Item = impl AsRef<str>>, shortest: usize) -> Vec<String> {
    let mut all = BTreeSet::new();
    for word in words {
        let word = word.as_ref().trim();
        let escaped =
            word.replace('\\', r"\\").replace('\n', r"\n").replace('\t', r"\t").replace('\r', r"\r");
        for spelling in [plain(word), plain(&escaped)] {
            all.extend([
                spelling.replace(['-', '.'], "_"),
                spelling.replace('-', "_"),
                spelling.replace('.', "_"),
            ]);
            all.insert(spelling);
        }
    }
    let mut all: Vec<String> =
        all.into_iter().filter(|word| word.chars().count() >= shortest && has_letter(word)).collect();
    all.sort_by_key(|word| std::cmp::Reverse(word.len()));
    all
}

/// A word of punctuation alone would take every sentence apart.
fn has_letter(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

fn is_whole(before: Option<char>, after: Option<char>) -> bool {
    let is_border = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    is_border(before) && is_border(after)
}

/// `name` is in lower case.
fn mask_name(line: &str, name: &str, fits: fn(Option<char>, Option<char>) -> bool) -> String {
    // Of the same length as the line, as only ASCII letters change.
    let lower = line.to_ascii_lowercase();
    let mut masked = String::with_capacity(line.len());
    let mut done = 0;
    for (start, found) in lower.match_indices(name) {
        let end = start + found.len();
        if fits(line[..start].chars().next_back(), line[end..].chars().next()) {
            masked.push_str(&line[done..start]);
            masked.push(MASK);
            done = end;
        }
    }
    masked.push_str(&line[done..]);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> PrivateWords {
        PrivateWords::new(["two  blanks\tand\nlines", r"back\slash", "moon-shot.7"], ["Al", "box-17"])
    }

    #[test]
    fn names_are_whole_words_in_any_case() {
        assert_eq!(
            words().hide("al, AL: also metal (Box-17)"),
            "[redacted], [redacted]: also metal ([redacted])"
        );
        assert_eq!(words().hide("éal x_al"), "éal x_[redacted]");
        assert_eq!(words().hide_inside("Onbox_17Error"), "On[redacted]Error");
    }

    #[test]
    fn values_are_found_in_every_spelling() {
        for text in [
            "two  blanks\tand\nlines",
            "two blanks and lines",
            r"two  blanks\tand\nlines",
            r"back\slash",
            r"back\\slash",
            "moon-shot.7",
            "moon_shot_7",
            "moon_shot.7",
        ] {
            assert_eq!(words().hide(&format!("bad {text}!")), "bad [redacted]!", "{text}");
        }
    }
}
