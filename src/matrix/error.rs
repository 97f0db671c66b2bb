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
    pub(super) fn new(problem: Problem, file_name: &str, source: &str) -> Self {
        let source_line = source.lines().nth(problem.place.line - 1).unwrap_or_default().to_owned();
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
    const SHOWN: usize = 24;
    let mut known: Vec<&str> = known.into_iter().collect();
    let lower = name.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let nearest = known.iter().map(|candidate| (distance(candidate), *candidate)).min();
    if let Some((distance, candidate)) = nearest
        && distance <= (name.chars().count() / 3).max(1)
    {
        return format!("did you mean `{candidate}`?");
    }
    let more = known.len().saturating_sub(SHOWN);
    known.truncate(SHOWN);
    let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (known.is_empty(), more) {
        (true, _) => "remove it: there is nothing that it could name".to_owned(),
        (false, 0) => format!("use one of {list}"),
        (false, more) => format!("use one of {list}, or {more} more"),
    }
}
