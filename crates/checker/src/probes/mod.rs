//! The ways to reach a GPU, and the choice among them.
//!
//! Main function: [`probe`]. One file a probe; `native.rs` starts the worker that two of them share.

mod driver;
mod libtorch;
mod native;
mod python;

use std::path::{Path, PathBuf};

use gpusweep_report::{Chosen, Code, Exposure};

use crate::ProbeOption;
use crate::interpreter::{Surroundings, find};
use crate::worker::{Context, Probed};

/// Runs the probe that was asked for, or the first that fits the image.
pub(crate) fn probe(
    context: Context<'_>,
    option: ProbeOption,
    surroundings: &Surroundings,
    exposure: Option<&Exposure>,
) -> Probed {
    let root = Path::new("/");
    let python = || python::probe(context, find(surroundings, root).as_ref(), &[]);
    match option {
        ProbeOption::Python => python(),
        ProbeOption::Libtorch => libtorch::probe(context, find_libtorch().as_ref(), &[]),
        ProbeOption::Driver => driver::probe(context, driver::find(exposure, root).as_ref(), &[]),
        ProbeOption::Auto => fitting(context, python(), exposure),
    }
}

/// Python where an interpreter has torch, else libtorch where one is found, else the driver where anything speaks of one.
fn fitting(context: Context<'_>, python: Probed, exposure: Option<&Exposure>) -> Probed {
    if python.verdict.code != Code::TorchMissing {
        return chosen(python, Chosen::Interpreter);
    }
    if let Some(folder) = find_libtorch() {
        return chosen(libtorch::probe(context, Some(&folder), &[]), Chosen::Libtorch);
    }
    if let Some(target) = driver::find(exposure, Path::new("/")) {
        return chosen(driver::probe(context, Some(&target), &[]), Chosen::Driver);
    }
    chosen(python, Chosen::Nothing)
}

fn find_libtorch() -> Option<PathBuf> {
    libtorch::find(&libtorch::Places::of_this_process(), Path::new("/"))
}

fn chosen(mut probed: Probed, chosen: Chosen) -> Probed {
    probed.runtime.chosen = chosen;
    probed
}
