//! What is wrong with a matrix, where, and the way out.
//!
//! Main types: [`MatrixError`] for callers; [`Problem`] inside this module, which does not know the file yet.

use std::fmt;

use super::at::Place;

/// The first thing that is wrong with a matrix.
///
/// Shown, it names file, line and column, and the way out on a line of its own:
///
/// ```text
/// matrices/x.yaml:12:5: unknown key `visiblity` in a matrix
/// hint: did you mean `visibility`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    file: String,
    problem: Problem,
    source_line: String,
}

impl MatrixError {
    pub(super) fn new(mut problem: Problem, file_name: &str, source: &str) -> Self {
        problem.message = one_line(&problem.message);
        problem.hint = one_line(&problem.hint);
        let source_line = source.lines().nth(problem.place.line - 1).unwrap_or_default();
        // One character for one character, so that the column still fits.
        let shown = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
        let source_line = source_line.chars().map(shown).collect();
        Self(Box::new(Details { file: file_name.to_owned(), problem, source_line }))
    }

    /// What is wrong, as a lower-case fragment.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.problem.message
    }

    /// The way out.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.0.problem.hint
    }

    /// The file's name as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.problem.place.line
    }

    /// Column, from 1, in characters.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.problem.place.column
    }

    /// The line in question, without its end; empty where the file has ended.
    #[must_use]
    pub fn source_line(&self) -> &str {
        &self.0.source_line
    }
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.problem.place;
        write!(
            f,
            "{}:{}:{}: {}\nhint: {}",
            self.file(),
            place.line,
            place.column,
            self.message(),
            self.hint()
        )
    }
}

impl std::error::Error for MatrixError {}

/// Text from the file stands in messages: it must neither break their line nor command a terminal, nor fill the screen.
fn one_line(text: &str) -> String {
    const LIMIT: usize = 600;
    let mut line = String::new();
    for c in text.chars().take(LIMIT) {
        if c.is_control() {
            line.extend(c.escape_debug());
        } else {
            line.push(c);
        }
    }
    if text.chars().nth(LIMIT).is_some() {
        line.push('…');
    }
    line
}

/// What is wrong and where, before the file is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: String,
}

/// What one step of parsing gives.
pub(super) type Parsed<T> = Result<T, Problem>;

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: hint.into() }
    }

    /// A name that is not one of `known`.
    pub(super) fn unknown<'a>(
        place: Place,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::new(place, format!("unknown {what} `{name}`"), suggestion(name, known))
    }
}

/// The known name that is meant, else all of them.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    nearest(name, &known).map_or_else(|| listing(&known), |meant| format!("did you mean `{meant}`?"))
}

/// The known name that a slip of the keyboard would turn into this one.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    // A name so long is no slip, and the distance takes time that grows with the product of both lengths.
    if length > 100 {
        return None;
    }
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let (distance, candidate) = known.iter().map(|candidate| (distance(candidate), *candidate)).min()?;
    (distance < length && distance <= (length / 3).max(1)).then_some(candidate)
}

fn listing(known: &[&str]) -> String {
    const SHOWN: usize = 32;
    let quoted: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match known.len() {
        0 => "remove it: there is nothing that it could name".to_owned(),
        1 => format!("use {}", quoted[0]),
        2..=SHOWN => format!("use one of {}", quoted.join(", ")),
        more => format!("use one of {}, or {} more", quoted.join(", "), more - SHOWN),
    }
}
