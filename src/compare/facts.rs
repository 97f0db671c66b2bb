//! Versions that are worth telling of where they change, though the result is the same.
//!
//! Main type: [`Facts`].

use std::collections::BTreeMap;

use gpusweep_report::Report;

use super::FactChange;
use crate::ledger::{Ledger, Record};
use crate::model::{CellId, Observation};

/// Versions of one cell, by their paths in the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(BTreeMap<&'static str, String>);

impl Facts {
    /// Those of every cell that has a report.
    #[must_use]
    pub fn of(ledger: &Ledger) -> BTreeMap<CellId, Self> {
        let facts = |record: &Record| match record.observation()? {
            Observation::Reported { report, applied, .. } => {
                Some((record.cell().id().clone(), Self::of_report(report, applied.digest.as_deref())))
            }
            Observation::Garbled { .. }
            | Observation::NotStarted { .. }
            | Observation::TimedOut { .. }
            | Observation::Killed { .. }
            | Observation::Cancelled { .. } => None,
        };
        ledger.records().filter_map(facts).collect()
    }

    /// Those of one report, and of the image that it is about.
    #[must_use]
    pub fn of_report(report: &Report, digest: Option<&str>) -> Self {
        let torch = report.pytorch.as_ref();
        let runtime = report.runtime.as_ref();
        let exposure = report.exposure.as_ref();
        let device = torch.and_then(|torch| torch.devices.as_ref()?.first());
        let told = [
            ("pytorch.version", torch.map(|torch| torch.version.clone())),
            ("pytorch.cuda_build", torch.and_then(|torch| torch.cuda_build.clone())),
            ("pytorch.hip_build", torch.and_then(|torch| torch.hip_build.clone())),
            ("pytorch.devices.0.name", device.map(|device| device.name.clone())),
            ("runtime.python_version", runtime.and_then(|runtime| runtime.python_version.clone())),
            ("runtime.libc", runtime.and_then(|runtime| runtime.libc.clone())),
            ("runtime.arch", runtime.map(|runtime| runtime.arch.clone())),
            ("driver.library", report.driver.as_ref().and_then(|driver| driver.library.clone())),
            ("exposure.nvidia_driver", exposure.and_then(|exposure| exposure.nvidia_driver.clone())),
            ("checker_version", Some(report.checker_version.clone())),
            ("digest", digest.map(str::to_owned)),
        ];
        Self(told.into_iter().filter_map(|(path, value)| Some((path, value?))).collect())
    }
}

/// The versions that differ.
pub(super) fn changes(base: Option<&Facts>, head: Option<&Facts>) -> Vec<FactChange> {
    let (Some(base), Some(head)) = (base, head) else { return Vec::new() };
    let mut paths: Vec<&str> = base.0.keys().chain(head.0.keys()).copied().collect();
    paths.sort_unstable();
    paths.dedup();
    let differing = paths.into_iter().filter(|path| base.0.get(path) != head.0.get(path));
    differing
        .map(|path| FactChange {
            path: path.to_owned(),
            base: base.0.get(path).cloned(),
            head: head.0.get(path).cloned(),
        })
        .collect()
}
