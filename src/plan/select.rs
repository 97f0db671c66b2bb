//! Narrowing a plan down: `--only` and `--skip`.
//!
//! Main type: [`Expr`], one value of such a flag.

use std::borrow::Cow;
use std::str::FromStr;

use super::{Plan, PlannedCell};
use crate::matrix::{Pattern, suggestion};
use crate::model::{Axis, Cell, Stack};

/// Which cells: `key=pattern`, several of them joined by commas, all of which must match; a word without `=` is sought in
/// the cell's id.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
enum Term {
    At(Axis, Pattern),
    Id(Pattern),
    InId(String),
}

/// Beside the axes, a cell's id can be named.
const ID: &str = "id";

fn keys() -> impl Iterator<Item = &'static str> {
    Axis::ALL.into_iter().map(Axis::as_str).chain([ID])
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
            Self::UnknownKey(key) => suggestion(key, keys()),
            Self::BadPattern { .. } => "use `*`, `?`, `[…]` and `{a,b}`".to_owned(),
        }
    }
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        let terms =
            split(text).into_iter().map(|term| parse_term(term.trim(), text)).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), terms })
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
    let axis = Axis::ALL.into_iter().find(|axis| axis.as_str() == key);
    if axis.is_none() && key != ID {
        return Err(ExprError::UnknownKey(key.to_owned()));
    }
    if value.is_empty() {
        return Err(ExprError::Empty(whole.to_owned()));
    }
    let pattern = pattern(value)?;
    Ok(match axis {
        Some(axis) => Term::At(axis, pattern),
        None => Term::Id(pattern),
    })
}

/// Where a cell stands on an axis; empty where it stands nowhere.
fn place(axis: Axis, cell: &Cell) -> Cow<'_, str> {
    let text = match axis {
        Axis::Image => &cell.image.name,
        Axis::Variant => &cell.variant.name,
        Axis::Visibility => &cell.visibility.name,
        Axis::Host => &cell.host,
        Axis::Device => return cell.device.to_string().into(),
        Axis::Stack => cell.variant.stack.map_or("", Stack::as_str),
        Axis::Family => &cell.image.family,
    };
    text.into()
}

impl Expr {
    /// As typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the cell is meant.
    #[must_use]
    pub fn matches(&self, cell: &Cell) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Id(pattern) => pattern.matches(cell.id().as_str()),
            Term::InId(word) => cell.id().as_str().contains(word.as_str()),
            Term::At(axis, pattern) => pattern.matches(&place(*axis, cell)),
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
