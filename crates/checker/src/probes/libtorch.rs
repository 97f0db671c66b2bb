//! The libtorch probe: the image's libtorch, without Python.
//!
//! Main functions: [`find`] and [`probe`].

use std::path::{Path, PathBuf};

use gpusweep_report::wire::Target;
use gpusweep_report::{Code, Probe, Stage};

use super::native;
use crate::worker::{Context, LIBTORCH, Probed};

/// The folder of the image's libtorch.
pub(super) fn find(_root: &Path) -> Option<PathBuf> {
    None
}

/// Runs the check with the libtorch in a folder.
pub(super) fn probe(context: Context<'_>, folder: Option<&PathBuf>, without: &[&str]) -> Probed {
    let Some(folder) = folder else {
        let message =
            "there is no libtorch: neither under LIBTORCH, nor where the loader looks, nor in a wheel";
        return native::not_found(context, Probe::Libtorch, Stage::Import, Code::TorchMissing, message);
    };
    native::probe(context, Probe::Libtorch, LIBTORCH, &Target::Libtorch(folder.clone()), without)
}
