//! What the user's terminal can show.

use std::io::{IsTerminal as _, Write as _};

use super::options::Color;
use crate::progress::Mode;
use crate::render::Style;

/// How standard output may look.
pub(super) fn style(color: Color) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = terminal.then(|| console::Term::stdout().size().1);
    Style { color: wants_color(color, terminal), width }
}

/// How progress is shown on standard error.
pub(super) fn progress() -> Mode {
    if std::io::stderr().is_terminal() { Mode::Bar } else { Mode::Lines }
}

/// Says one line on standard error. One that cannot be written to changes nothing of a command's outcome.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn wants_color(color: Color, terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        // https://no-color.org: any value that is not empty.
        Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
