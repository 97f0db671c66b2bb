//! The ways to reach a GPU, and the choice among them.
//!
//! Main function: [`probe`]. One file a probe; `native.rs` starts the worker that two of them share.

mod driver;
mod elsewhere;
mod libtorch;
mod native;
mod python;
mod variables;

use std::path::{Path, PathBuf};

use gpusweep_report::wire::Target;
use gpusweep_report::{Chosen, Code, Exposure, Probe, Stage};

use crate::cause;
use crate::interpreter::{Interpreter, Surroundings, candidates};
use crate::worker::{Context, Probed};

/// What a probe is run with.
enum Way {
    Python(Option<Interpreter>),
    Libtorch(Option<PathBuf>),
    Driver(Option<Target>),
}

impl Way {
    fn run(&self, context: Context<'_>, without: &[&str]) -> Probed {
        match self {
            Self::Python(interpreter) => python::probe(context, interpreter.as_ref(), without),
            Self::Libtorch(folder) => libtorch::probe(context, folder.as_ref(), without),
            Self::Driver(target) => driver::probe(context, target.as_ref(), without),
        }
    }
}

/// Runs the probe that was asked for, or the first that fits the image.
pub(crate) fn probe(
    context: Context<'_>,
    option: Probe,
    surroundings: &Surroundings,
    exposure: Option<&Exposure>,
) -> Probed {
    let root = Path::new("/");
    let mut interpreters = candidates(surroundings, root).into_iter();
    let python = Way::Python(interpreters.next());
    let others: Vec<Interpreter> = interpreters.collect();
    let libtorch = || libtorch::find(&libtorch::Places::of_this_process(), root);
    let (way, chosen) = match option {
        Probe::Python | Probe::Auto => (python, Chosen::Asked),
        Probe::Libtorch => (Way::Libtorch(libtorch()), Chosen::Asked),
        Probe::Driver => (Way::Driver(driver::find(exposure, root)), Chosen::Asked),
    };
    let mut probed = way.run(context, &[]);
    probed.runtime.chosen = chosen;
    explain_missing(context, &mut probed, &others);
    if option == Probe::Auto {
        let fallback = || {
            let libtorch = libtorch().map(|folder| (Way::Libtorch(Some(folder)), Chosen::Libtorch));
            libtorch.or_else(|| {
                driver::find(exposure, root).map(|target| (Way::Driver(Some(target)), Chosen::Driver))
            })
        };
        return fitting(context, &way, probed, fallback);
    }
    variables::look_without(&mut probed, |names| way.run(context, names));
    probed
}

/// Python where an interpreter has torch, else libtorch where one is found, else the driver where anything speaks of one.
fn fitting(
    context: Context<'_>,
    python: &Way,
    mut probed: Probed,
    fallback: impl FnOnce() -> Option<(Way, Chosen)>,
) -> Probed {
    // Torch in another interpreter is the finding: the image meant to use it.
    let missing = probed.verdict.code == Code::TorchMissing && probed.runtime.torch_elsewhere.is_none();
    let other = if missing { fallback() } else { None };
    let (way, chosen) = match &other {
        Some((way, chosen)) => (way, *chosen),
        None => (python, if missing { Chosen::Nothing } else { Chosen::Interpreter }),
    };
    if other.is_some() {
        probed = way.run(context, &[]);
    }
    probed.runtime.chosen = chosen;
    variables::look_without(&mut probed, |names| way.run(context, names));
    probed
}

/// Why an interpreter that runs has no torch.
fn explain_missing(context: Context<'_>, probed: &mut Probed, others: &[Interpreter]) {
    if probed.verdict.code != Code::TorchMissing || probed.runtime.interpreter.is_none() {
        return;
    }
    probed.runtime.torch_elsewhere = elsewhere::find(context, others);
    probed.cause = match &probed.runtime.torch_elsewhere {
        Some(place) => Some(cause::other_interpreter(place)),
        None if probed.runtime.torch_shadowed && probed.verdict.stage == Stage::Import => {
            Some(cause::torch_shadowed())
        }
        None => None,
    };
}
