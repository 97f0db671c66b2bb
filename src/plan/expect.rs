//! What a combination must yield: the first rule that speaks of it, else what it yields by nature.

use gpusweep_report::Code as CheckCode;

use super::expand::Combination;
use crate::matrix::{Matrix, Outcome};
use crate::model::{BackendKind, Code, Device, Expectation, Stack};

/// By the rules of the matrix.
pub(super) fn expectation(combination: &Combination<'_>, matrix: &Matrix) -> Expectation {
    let at = combination.coordinates();
    match matrix.rules.iter().find(|rule| rule.when.matches(&at)) {
        Some(rule) => of_outcome(&rule.outcome, combination),
        None => Expectation { codes: vec![natural(combination)], facts: Vec::new() },
    }
}

/// By one outcome; where it says only facts, the code is the natural one.
pub(super) fn of_outcome(outcome: &Outcome, combination: &Combination<'_>) -> Expectation {
    Expectation {
        codes: outcome.codes.clone().unwrap_or_else(|| vec![natural(combination)]),
        facts: outcome.facts.clone(),
    }
}

/// The code of a combination in which everything is as it should be.
fn natural(combination: &Combination<'_>) -> Code {
    let code = match (combination.device, combination.variant.stack) {
        (Device::Cpu, _) => CheckCode::CpuCheckPassed,
        (Device::Gpu(_), Some(Stack::Cpu)) => CheckCode::GpuBackendAbsent,
        (Device::Gpu(_), Some(Stack::Cuda | Stack::Rocm) | None) => match combination.host.backend {
            // A machine exposes to itself what it has.
            BackendKind::Host => CheckCode::GpuCheckPassed,
            BackendKind::Docker(_) if combination.visibility.exposes_gpu() => CheckCode::GpuCheckPassed,
            BackendKind::Docker(_) => CheckCode::GpuUnavailable,
        },
    };
    code.into()
}
