//! `gpusweep compare`.

use std::collections::BTreeMap;
use std::path::Path;

use super::Outcome;
use super::failure::Failure;
use super::options::{CompareOptions, DocumentFormat};
use super::recorded::replay;
use crate::compare::{self, Facts, Side};
use crate::exit::Exit;
use crate::journal::Recorded;
use crate::model::CellId;
use crate::render::document;
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
        DocumentFormat::Table => compare::write(&comparison, &mut out)?,
        DocumentFormat::Json => document(&comparison, &mut out)?,
    }
    Ok(if comparison.regressed() { Exit::NotGreen } else { Exit::Green })
}

/// A run as it stands, and the versions that its reports tell of.
fn read(folder: &Path) -> Result<(Summary, BTreeMap<CellId, Facts>), Failure> {
    let recorded = Recorded::read(folder).map_err(|error| Failure::from(error).exit(Exit::Usage))?;
    let ledger = replay(&recorded.plan, &recorded.events, folder)?;
    let summary = Summary::build(&recorded.plan, &ledger, &BTreeMap::new());
    Ok((summary, Facts::of(&ledger)))
}
