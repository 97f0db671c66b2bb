//! `gpusweep compare`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use super::Outcome;
use super::failure::Failure;
use super::options::{CompareFormat, CompareOptions};
use crate::compare::{self, Facts, Side};
use crate::exit::Exit;
use crate::journal::Recorded;
use crate::ledger::Ledger;
use crate::model::CellId;
use crate::render::escaped;
use crate::summary::Summary;

/// Shows what changed from one run to another; a regression is not green.
pub(super) fn compare(options: &CompareOptions) -> Outcome {
    let ((base, of_base), (head, of_head)) = (read(&options.base)?, read(&options.head)?);
    let comparison = compare::compare(
        &Side { summary: &base, facts: &of_base },
        &Side { summary: &head, facts: &of_head },
    );
    let mut out = std::io::stdout().lock();
    match options.format {
        CompareFormat::Table => compare::write(&comparison, &mut out)?,
        CompareFormat::Json => {
            let text = serde_json::to_string_pretty(&comparison).map_err(Failure::failed)?;
            writeln!(out, "{}", escaped(text))?;
        }
    }
    Ok(if comparison.regressed() { Exit::NotGreen } else { Exit::Green })
}

/// A run as it stands, and the versions that its reports tell of.
fn read(folder: &Path) -> Result<(Summary, BTreeMap<CellId, Facts>), Failure> {
    let recorded = Recorded::read(folder).map_err(|error| Failure::from(error).exit(Exit::Usage))?;
    let mut ledger = Ledger::new(&recorded.plan);
    recorded.events.iter().try_for_each(|event| ledger.apply(event)).map_err(|error| {
        Failure::failed(format!("the journal of `{}` is damaged: {error}", folder.display()))
    })?;
    let summary = Summary::build(&recorded.plan, &ledger, &BTreeMap::new());
    Ok((summary, Facts::of(&ledger)))
}
