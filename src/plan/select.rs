//! Narrowing a plan down: `--only` and `--skip`.
//!
//! Main type: [`Expr`], one value of such a flag.

use std::str::FromStr;

use super::{Plan, PlannedCell};
use crate::matrix::{Pattern, suggestion};
use crate::model::{Cell, Stack};

/// Which cells: `key=pattern`, several of them joined by commas, all of which must match; a word without `=` is sought in
/// the cell's id.
#[derive(Clone, Debug)]
pub struct Expr {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
enum Term {
    Field(Key, Pattern),
    Id(Pattern),
    InId(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Image,
    Variant,
    Visibility,
    Host,
    Device,
    Stack,
    Family,
    Id,
}

impl Key {
    const ALL: [(&'static str, Self); 8] = [
        ("image", Self::Image),
        ("variant", Self::Variant),
        ("visibility", Self::Visibility),
        ("host", Self::Host),
        ("device", Self::Device),
        ("stack", Self::Stack),
        ("family", Self::Family),
        ("id", Self::Id),
    ];
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// Nothing is named.
    #[error("the selection `{0}` has an empty part")]
    Empty(String),
    /// Not a coordinate of a cell.
    #[error("unknown key `{0}` in a selection")]
    UnknownKey(String),
    /// The pattern cannot be read.
    #[error("`{pattern}` is no pattern: {why}")]
    BadPattern {
        /// As typed.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl ExprError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Empty(_) => {
                "give `key=pattern`, several joined by commas, or a part of a cell's id".to_owned()
            }
            Self::UnknownKey(key) => suggestion(key, Key::ALL.map(|(name, _)| name)),
            Self::BadPattern { .. } => "use `*`, `?`, `[…]` and `{a,b}`".to_owned(),
        }
    }
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        let terms =
            split(text).into_iter().map(|term| parse_term(term.trim(), text)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }
}

/// Splits at commas, but not at those of `{a,b}`.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

fn parse_term(term: &str, whole: &str) -> Result<Term, ExprError> {
    let pattern = |text: &str| {
        Pattern::parse(text).map_err(|why| ExprError::BadPattern { pattern: text.to_owned(), why })
    };
    if term.is_empty() {
        return Err(ExprError::Empty(whole.to_owned()));
    }
    let Some((key, value)) = term.split_once('=') else {
        let word = term.to_lowercase();
        return if Pattern::is_plain(&word) { Ok(Term::InId(word)) } else { pattern(&word).map(Term::Id) };
    };
    let Some((_, found)) = Key::ALL.into_iter().find(|(name, _)| *name == key) else {
        return Err(ExprError::UnknownKey(key.to_owned()));
    };
    if value.is_empty() {
        return Err(ExprError::Empty(whole.to_owned()));
    }
    pattern(value).map(|pattern| Term::Field(found, pattern))
}

impl Expr {
    /// Whether the cell is meant.
    #[must_use]
    pub fn matches(&self, cell: &Cell) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Id(pattern) => pattern.matches(cell.id().as_str()),
            Term::InId(word) => cell.id().as_str().contains(word.as_str()),
            Term::Field(key, pattern) => match key {
                Key::Image => pattern.matches(&cell.image.name),
                Key::Variant => pattern.matches(&cell.variant.name),
                Key::Visibility => pattern.matches(&cell.visibility.name),
                Key::Host => pattern.matches(&cell.host),
                Key::Device => pattern.matches(&cell.device.to_string()),
                Key::Stack => pattern.matches(cell.variant.stack.map_or("", Stack::as_str)),
                Key::Family => pattern.matches(&cell.image.family),
                Key::Id => pattern.matches(cell.id().as_str()),
            },
        })
    }
}

/// The plan with the cells that any of `only` means (all of them where there is none), less those that any of `skip` means.
///
/// Hosts of which no cell is left are gone too: nobody has to reach them. A selection may leave nothing to run, which the
/// caller has to tell the user.
#[must_use]
pub fn select(plan: Plan, only: &[Expr], skip: &[Expr]) -> Plan {
    if only.is_empty() && skip.is_empty() {
        return plan;
    }
    let wanted = |planned: &PlannedCell| {
        let any = |exprs: &[Expr]| exprs.iter().any(|expr| expr.matches(&planned.cell));
        (only.is_empty() || any(only)) && !any(skip)
    };
    let cells: Vec<PlannedCell> = plan.cells.into_iter().filter(wanted).collect();
    let hosts = plan
        .hosts
        .into_iter()
        .filter(|host| cells.iter().any(|planned| planned.cell.host == host.name))
        .collect();
    Plan { cells, hosts, ..plan }
}
