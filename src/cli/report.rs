//! `gpusweep report`.

use super::failure::Failure;
use super::options::{Color, ReportOptions};
use super::recorded::replay;
use super::sweep::commands;
use super::{Outcome, terminal};
use crate::exit::Exit;
use crate::journal::Recorded;
use crate::render::{self, View};
use crate::summary::Summary;
use crate::table::Layout;

/// Renders a finished or partial run again.
pub(super) fn report(options: &ReportOptions, color: Color) -> Outcome {
    let recorded = Recorded::read(&options.run)?;
    let ledger = replay(&recorded.plan, &recorded.events, &options.run)?;
    let summary = Summary::build(&recorded.plan, &ledger, &commands(&recorded.plan, Some(&ledger)));
    let layout = Layout::choose(&summary, options.rows, options.columns, options.value);
    let format = render::format(&options.format)
        .ok_or_else(|| Failure::usage(format!("there is no format `{}`", options.format)))?;
    let view = View { summary: &summary, layout: &layout, style: terminal::style(color) };
    format.render.render(&view, &mut std::io::stdout().lock())?;
    Ok(Exit::Green)
}
