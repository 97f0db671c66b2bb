//! Causes that lie in the exposure itself: a GPU that got in, one that did not, a request that the engine left out.

use super::{CauseRule, Family, Finding};
use crate::ledger::{self, Breach, Layer, Parting};
use crate::model::{Cell, Observation};

pub(super) const GPU_LEAK: CauseRule =
    CauseRule { id: "gpu-leak", family: Family::Isolation, find: gpu_leak };
pub(super) const PINNED_GPU_ABSENT: CauseRule =
    CauseRule { id: "pinned-gpu-absent", family: Family::Isolation, find: pinned_gpu_absent };
pub(super) const ISOLATION_UNPROVEN: CauseRule =
    CauseRule { id: "isolation-unproven", family: Family::Isolation, find: isolation_unproven };
pub(super) const REQUEST_DROPPED: CauseRule =
    CauseRule { id: "request-dropped", family: Family::Isolation, find: request_dropped };

fn gpu_leak(cell: &Cell, observation: &Observation) -> Option<Finding> {
    let Some(Breach::Leak(summary)) = ledger::breach(cell, observation) else { return None };
    let next_action = "look at `applied` of this row and at the engine's default runtime (`docker info`), volumes and \
                       image for what let the GPU in, and remove it before anything relies on this isolation";
    Some(Finding { summary, next_action: next_action.to_owned() })
}

fn pinned_gpu_absent(cell: &Cell, observation: &Observation) -> Option<Finding> {
    // Where the code is not as expected, the checker's own cause says more.
    if !cell.expect.codes.contains(&ledger::code(observation)) {
        return None;
    }
    let Some(Breach::Absent(summary)) = ledger::breach(cell, observation) else { return None };
    let next_action = "check the index or UUID of this visibility against the GPUs of the host, or remove the \
                       visibility from the matrix";
    Some(Finding { summary, next_action: next_action.to_owned() })
}

fn isolation_unproven(cell: &Cell, observation: &Observation) -> Option<Finding> {
    let Some(Breach::Unproven(summary)) = ledger::breach(cell, observation) else { return None };
    let next_action = "run the cell again, and look for processes in uninterruptible sleep (state D) on the host if it stays so";
    Some(Finding { summary, next_action: next_action.to_owned() })
}

fn request_dropped(cell: &Cell, observation: &Observation) -> Option<Finding> {
    let dropped: Vec<Parting> = ledger::partings(cell, observation)
        .into_iter()
        .filter(|parting| parting.layer == Layer::Engine && parting.exposure)
        .collect();
    let told: Vec<String> =
        dropped.iter().map(|part| format!("`{}` (set: {})", part.requested, part.found)).collect();
    (!told.is_empty()).then(|| Finding {
        summary: format!("the engine accepted the request and left out {}", told.join(", ")),
        next_action: "use a way of exposing the GPU that this engine honours (Podman takes CDI names and device nodes, \
                      and ignores `gpus` and unknown runtimes), or another engine"
            .to_owned(),
    })
}
