//! Output formats: each one file and one row of [`FORMATS`].
//!
//! Main types: [`Render`], what a format does, and [`View`], what it is given. Formats read the summary alone and do not
//! know where it came from. Whatever a container or an engine said is hostile text to every one of them.

mod csv;
mod groups;
mod json;
mod junit;
mod markdown;
mod matrix;
mod terminal;
#[cfg(test)]
mod tests;

pub(crate) use json::{document, escaped};

use std::io;

use crate::summary::Summary;
use crate::table::Layout;

/// What a format is given.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The run.
    pub summary: &'a Summary,
    /// What stands where in a table.
    pub layout: &'a Layout,
    /// How the text may look.
    pub style: Style,
}

/// How text may look. Formats for machines pay no heed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are wanted.
    pub color: bool,
    /// Columns of the terminal; none where there is none.
    pub width: Option<u16>,
}

/// An output format.
pub trait Render: Sync {
    /// Writes the whole document.
    ///
    /// # Errors
    /// Where `out` cannot be written to.
    fn render(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()>;
}

/// One row of the registry.
pub struct Format {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What writes it.
    pub render: &'static dyn Render,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "table",
        help: "tables for the terminal, with first errors below them",
        render: &terminal::Terminal,
    },
    Format { name: "json", help: "the document summary.json", render: &json::Json },
    Format {
        name: "markdown",
        help: "for the summary of a CI job, or a pull request",
        render: &markdown::Markdown,
    },
    Format { name: "junit", help: "JUnit's XML: a suite per image, a case per cell", render: &junit::Junit },
    Format { name: "csv", help: "a line per cell, for spreadsheets", render: &csv::Csv },
];

/// The format of this name.
#[must_use]
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
