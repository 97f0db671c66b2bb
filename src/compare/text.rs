//! What a person reads of a comparison.
//!
//! Main function: [`write()`]. Everything from a container or an engine is spelled out where it would steer a terminal.

use std::io::{self, Write};

use super::{Change, Comparison, Kind, Outcome};
use crate::summary::visible;

/// Every kind, with the heading of its section.
const SECTIONS: [(Kind, &str); 7] = [
    (Kind::Regression, "Regressions"),
    (Kind::Changed, "Failing otherwise than before"),
    (Kind::Flaky, "Flaky now"),
    (Kind::New, "New"),
    (Kind::Gone, "Gone"),
    (Kind::Fix, "Fixed"),
    (Kind::Facts, "Same result, other versions"),
];

/// Writes one section per kind of change, and a line that sums them up.
///
/// # Errors
/// Where `out` cannot be written to.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let of = |kind: Kind| comparison.changes.iter().filter(move |change| change.kind == kind);
    for (kind, heading) in SECTIONS {
        if of(kind).next().is_none() {
            continue;
        }
        writeln!(out, "{heading}")?;
        of(kind).try_for_each(|change| line(change, out))?;
        writeln!(out)?;
    }
    let counted = SECTIONS.map(|(kind, heading)| (of(kind).count(), heading.to_lowercase()));
    let said = counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what}: {count}"));
    let said: Vec<String> = said.chain([format!("unchanged: {}", comparison.unchanged)]).collect();
    let word = if comparison.regressed() { "REGRESSED" } else { "NO REGRESSION" };
    writeln!(
        out,
        "{} -> {}: {} — {word}",
        visible(&comparison.base),
        visible(&comparison.head),
        said.join(", ")
    )
}

fn line(change: &Change, out: &mut dyn Write) -> io::Result<()> {
    let results = match (&change.base, &change.head) {
        (Some(base), Some(head)) if base == head => said(head),
        (Some(base), Some(head)) => format!("{} -> {}", said(base), said(head)),
        (Some(only), None) | (None, Some(only)) => said(only),
        (None, None) => String::new(),
    };
    writeln!(out, "  {}: {}", visible(&change.cell), visible(&results))?;
    for fact in &change.facts {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let told = format!("{}: {} -> {}", fact.path, value(&fact.base), value(&fact.head));
        writeln!(out, "    {}", visible(&told))?;
    }
    Ok(())
}

fn said(outcome: &Outcome) -> String {
    let code = outcome.code.map_or_else(|| "no result".to_owned(), |code| code.to_string());
    let cause = outcome.cause.as_ref().map(|cause| format!(" [{cause}]")).unwrap_or_default();
    let verdict = if outcome.leak { "LEAK" } else { outcome.verdict.shouted() };
    format!("{code} {verdict}{cause}")
}
