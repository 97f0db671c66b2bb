//! Which cells a rule speaks of.
//!
//! Main types: [`Condition`], and [`Coordinates`], what it is held against. Used for `when`, `exclude`, and by the
//! planner for selections.

use globset::{Glob, GlobMatcher};

use super::at::{At, Place, Texts};
use super::error::{Parsed, Problem};
use super::raw::RawWhen;

/// Longest pattern: longer ones could take the compiler of patterns past its limit.
const MAX_PATTERN: usize = 256;

/// Characters that make a text a pattern.
const META: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A value, or a pattern with `*`, `?`, `[…]` and `{a,b}`.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    glob: Option<GlobMatcher>,
}

impl Pattern {
    /// Reads it; the error says what is wrong with the pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > MAX_PATTERN {
            return Err(format!("a pattern may have {MAX_PATTERN} characters"));
        }
        let glob = if Self::is_plain(text) {
            None
        } else {
            Some(Glob::new(text).map_err(|error| error.kind().to_string())?.compile_matcher())
        };
        Ok(Self { text: text.to_owned(), glob })
    }

    /// Whether a text has none of the characters that make a pattern.
    pub(crate) fn is_plain(text: &str) -> bool {
        !text.contains(META)
    }

    /// Whether it fits.
    pub(crate) fn matches(&self, value: &str) -> bool {
        self.glob.as_ref().map_or_else(|| self.text == value, |glob| glob.is_match(value))
    }
}

/// A value of one key: any of these patterns.
type Patterns = Option<Vec<Pattern>>;

/// Every key that is given must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    image: Patterns,
    variant: Patterns,
    visibility: Patterns,
    host: Patterns,
    device: Patterns,
    stack: Patterns,
    family: Patterns,
}

/// The coordinates of one combination, as text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinates<'a> {
    pub(crate) image: &'a str,
    pub(crate) variant: &'a str,
    pub(crate) visibility: &'a str,
    pub(crate) host: &'a str,
    pub(crate) device: &'a str,
    /// Empty where the variant has none.
    pub(crate) stack: &'a str,
    pub(crate) family: &'a str,
}

impl Condition {
    /// Whether the combination is spoken of.
    pub(crate) fn matches(&self, at: &Coordinates<'_>) -> bool {
        let fits = |patterns: &Patterns, value: &str| {
            patterns.as_ref().is_none_or(|any| any.iter().any(|pattern| pattern.matches(value)))
        };
        fits(&self.image, at.image)
            && fits(&self.variant, at.variant)
            && fits(&self.visibility, at.visibility)
            && fits(&self.host, at.host)
            && fits(&self.device, at.device)
            && fits(&self.stack, at.stack)
            && fits(&self.family, at.family)
    }

    /// Whether it speaks of every combination.
    pub(super) fn is_empty(&self) -> bool {
        let keys = [
            &self.image,
            &self.variant,
            &self.visibility,
            &self.host,
            &self.device,
            &self.stack,
            &self.family,
        ];
        keys.into_iter().all(Option::is_none)
    }
}

/// The values that each key can have.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) image: Vec<String>,
    pub(super) variant: Vec<String>,
    pub(super) visibility: Vec<String>,
    pub(super) host: Vec<String>,
    pub(super) device: Vec<String>,
    pub(super) family: Vec<String>,
}

/// A condition whose every value is known.
pub(super) fn parse(raw: &RawWhen, known: &Known, source: &str) -> Parsed<Condition> {
    let stacks = ["cuda", "rocm", "cpu"].map(str::to_owned);
    let key = |texts: Option<&Texts>, what: &str, known: &[String]| {
        texts.map(|texts| patterns(texts, what, known, source)).transpose()
    };
    Ok(Condition {
        image: key(raw.image.as_ref(), "image", &known.image)?,
        variant: key(raw.variant.as_ref(), "variant", &known.variant)?,
        visibility: key(raw.visibility.as_ref(), "visibility", &known.visibility)?,
        host: key(raw.host.as_ref(), "host", &known.host)?,
        device: key(raw.device.as_ref(), "device", &known.device)?,
        stack: key(raw.stack.as_ref(), "stack", &stacks)?,
        family: key(raw.family.as_ref(), "family", &known.family)?,
    })
}

fn patterns(texts: &Texts, what: &str, known: &[String], source: &str) -> Parsed<Vec<Pattern>> {
    let items = texts.items(source);
    if items.is_empty() {
        return Err(Problem::new(
            texts.place,
            format!("`{what}` has an empty list, which nothing matches"),
            "give a value, or remove the key",
        ));
    }
    items.iter().map(|item| pattern_of(item, what, known)).collect()
}

fn pattern_of(item: &At<String>, what: &str, known: &[String]) -> Parsed<Pattern> {
    let pattern = Pattern::parse(&item.value).map_err(|why| bad_pattern(item.place, &item.value, &why))?;
    if known.iter().any(|value| pattern.matches(value)) {
        return Ok(pattern);
    }
    if pattern.glob.is_none() {
        return Err(Problem::unknown(item.place, what, &item.value, known.iter().map(String::as_str)));
    }
    let values: Vec<String> = known.iter().map(|value| format!("`{value}`")).collect();
    Err(Problem::new(
        item.place,
        format!("pattern `{}` matches no {what}", item.value),
        format!("correct it so that it matches one of {}", values.join(", ")),
    ))
}

/// A pattern that cannot be compiled.
pub(super) fn bad_pattern(place: Place, text: &str, why: &str) -> Problem {
    Problem::new(
        place,
        format!("`{text}` is no pattern: {why}"),
        "use `*`, `?`, `[…]` and `{a,b}`, and `\\` before any of them that is meant literally",
    )
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns() {
        let matches = |pattern: &str, value: &str| Pattern::parse(pattern).unwrap().matches(value);
        assert!(matches("torch", "torch") && !matches("torch", "torch2"));
        assert!(matches("team/*", "team/a/b") && matches("*", "") && matches("cu12?", "cu128"));
        assert!(matches("{cu,rocm}*", "rocm72") && !matches("{cu,rocm}*", "cpu"));
        assert!(matches("(host)", "(host)") && matches("[a-c]", "b") && matches("a\\*", "a*"));
        assert!(!matches("TORCH*", "torch"));
    }

    #[test]
    fn patterns_that_cannot_be_read() {
        for pattern in ["[a", "{a", "a}", "[z-a]"] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
        assert!(Pattern::parse(&"?".repeat(257)).is_err());
        // The longest ones still compile.
        for part in ["[a-z]", "{a,b}", "?", "*", "é", "[!é]"] {
            let pattern = part.repeat(256 / part.chars().count());
            assert!(Pattern::parse(&pattern).is_ok(), "{pattern}");
        }
    }
}
