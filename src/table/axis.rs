//! What may stand in rows, columns and cells of a table.
//!
//! Main type: [`Layout`].

use std::collections::BTreeSet;

pub use crate::model::Axis;
use crate::summary::{Summary, SummaryCell};

/// Where a cell stands on an axis.
pub(super) fn place(axis: Axis, cell: &SummaryCell) -> &str {
    match axis {
        Axis::Image => &cell.image,
        Axis::Variant => &cell.variant,
        Axis::Visibility => &cell.visibility,
        Axis::Host => &cell.host,
        Axis::Device => &cell.device,
        Axis::Stack => cell.stack.map_or("-", crate::model::Stack::as_str),
        Axis::Family => &cell.family,
    }
}

/// What a table shows of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value {
    /// Code and exit code.
    #[default]
    Code,
    /// Exit code.
    Exit,
    /// The stage at which it ended.
    Stage,
    /// Cause, or the code where none is known.
    Cause,
    /// Wall time.
    Time,
}

impl Value {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::Code, Self::Exit, Self::Stage, Self::Cause, Self::Time];

    /// The name as it stands on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Exit => "exit",
            Self::Stage => "stage",
            Self::Cause => "cause",
            Self::Time => "time",
        }
    }
}

/// A name that no axis, or no value, has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not one of {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

fn named<T: Copy>(name: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T, UnknownName> {
    all.iter().copied().find(|item| as_str(*item) == name).ok_or_else(|| UnknownName {
        name: name.to_owned(),
        known: all.iter().map(|item| as_str(*item)).collect::<Vec<_>>().join(", "),
    })
}

impl std::str::FromStr for Axis {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, &Self::ALL, Self::as_str)
    }
}

impl std::str::FromStr for Value {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, &Self::ALL, Self::as_str)
    }
}

/// What stands where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Axes whose combinations are the rows.
    pub rows: Vec<Axis>,
    /// Axes whose combinations are the columns.
    pub columns: Vec<Axis>,
    /// What each cell shows.
    pub value: Value,
}

impl Layout {
    /// Image × variant down, visibility across; host and device only where there is more than one of them.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let places = |axis: Axis| {
            let places: BTreeSet<&str> = summary.cells.iter().map(|cell| place(axis, cell)).collect();
            places.len()
        };
        let has_variants = summary.cells.iter().any(|cell| cell.variant != "-");
        let mut rows = vec![Axis::Image];
        rows.extend(has_variants.then_some(Axis::Variant));
        rows.extend((places(Axis::Host) > 1).then_some(Axis::Host));
        let mut columns = vec![Axis::Visibility];
        columns.extend((places(Axis::Device) > 1).then_some(Axis::Device));
        Self { rows, columns, value: Value::Code }
    }

    /// The layout of [`Layout::of`], with what the user chose in place of it.
    #[must_use]
    pub fn choose(
        summary: &Summary,
        rows: Option<Axis>,
        columns: Option<Axis>,
        value: Option<Value>,
    ) -> Self {
        let usual = Self::of(summary);
        let without = |axes: Vec<Axis>, taken: Option<Axis>, fallback: Axis| {
            let left: Vec<Axis> = axes.into_iter().filter(|axis| Some(*axis) != taken).collect();
            if left.is_empty() { vec![fallback] } else { left }
        };
        Self {
            rows: rows.map_or_else(|| without(usual.rows, columns, Axis::Visibility), |axis| vec![axis]),
            columns: columns.map_or_else(|| without(usual.columns, rows, Axis::Image), |axis| vec![axis]),
            value: value.unwrap_or(usual.value),
        }
    }
}
