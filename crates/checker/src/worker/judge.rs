//! From what was heard to a code.
//!
//! Main function: [`judge`]. Pure: the same words give the same verdict.

use gpusweep_report::wire::{Computed, Described, Failed, Outcome, Reason};
use gpusweep_report::{Check, Code, Execution, Stage};

use super::compute::{Verified, verify};
use super::crash::first_error;
use super::session::Session;
use crate::process::{End, Ended, signal_name};
use crate::verdict::{Fault, Verdict};

/// What is known besides the worker's words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// As in the report's request.
    pub(crate) device: &'a str,
    /// Opening the AMD driver's node gave ENOMEM: the driver refuses that GPU, and its memory is not at fault.
    pub(crate) kfd_refuses: bool,
}

/// A verdict with what supports it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) execution: Option<Execution>,
    pub(super) checks: Vec<Check>,
}

/// Texts of kernels that were not built for the device.
const NO_KERNEL: [&str; 5] = [
    "no kernel image",
    "invalid device function",
    "hipErrorNoBinaryForGpu",
    "cudaErrorNoKernelImageForDevice",
    "Unable to find code object",
];

/// Texts of allocations that failed. "Cannot allocate memory" is none: that is how ENOMEM of a driver's call reads.
const NO_MEMORY: [&str; 4] =
    ["out of memory", "OutOfMemory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED"];

/// Decides what a run of the worker shows.
pub(super) fn judge(session: Session, ended: &Ended, asked: Asked<'_>) -> Judged {
    let stage = session.progress.current();
    let allowed = session.allowed().as_secs_f32();
    let verdict = match (session.ending, ended.end) {
        (Some(Ok(Outcome::Computed(computed))), _) if stage == Stage::Synchronize => {
            return judge_values(&computed, session.progress, asked);
        }
        (Some(Ok(Outcome::Computed(_))), _) => {
            let message = "the worker gave results before it had computed them";
            Verdict::failed(Code::WorkerFailed, stage, Fault::new("GarbledReport", message))
        }
        (Some(Ok(Outcome::Failed(failed))), _) => judge_failure(failed, stage, asked),
        (Some(Err(ill)), _) => {
            Verdict::failed(Code::WorkerFailed, stage, Fault::new("GarbledReport", ill.to_string()))
        }
        (None, End::Deadline) => {
            let message = format!("stopped after {allowed} s in stage {stage}");
            Verdict::failed(Code::Timeout, stage, Fault::new("Timeout", message))
        }
        (None, End::Stopped(stop)) => stopped(&stop.name(), stage),
        (None, End::Signaled(signal)) => judge_signal(signal, &ended.stderr, stage),
        (None, End::Exited(status)) => judge_exit(status, &ended.stderr, stage),
        // The listener is finished only by an ending, which is handled above.
        (None, End::Finished) => judge_exit(0, &ended.stderr, stage),
    };
    let checks = session.progress.finish(&[stage]);
    Judged { verdict, execution: None, checks }
}

/// The verdict on a run that was stopped from outside.
pub(crate) fn stopped(signal: &str, stage: Stage) -> Verdict {
    Verdict::failed(Code::WorkerFailed, stage, Fault::new("Signal", format!("stopped by {signal}")))
}

fn judge_values(computed: &Computed, progress: super::progress::Progress, asked: Asked<'_>) -> Judged {
    let Verified { execution, faults } = verify(computed, asked.device);
    let failed: Vec<Stage> = faults.iter().map(|(stage, _)| *stage).collect();
    let passed = if asked.device == "cpu" { Code::CpuCheckPassed } else { Code::GpuCheckPassed };
    let verdict = match faults.into_iter().next() {
        None => Verdict::passed(passed),
        Some((stage, fault)) => Verdict::failed(Code::CheckFailed, stage, fault),
    };
    Judged { verdict, execution: Some(execution), checks: progress.finish(&failed) }
}

fn judge_failure(failed: Failed, stage: Stage, asked: Asked<'_>) -> Verdict {
    let message = failed.error.as_ref().map_or("", |error| error.message.as_str());
    let code = match (failed.reason, stage) {
        (Reason::Absent, _) => Code::GpuBackendAbsent,
        (Reason::Unavailable, _) => Code::GpuUnavailable,
        (Reason::Index, _) => Code::DeviceIndexInvalid,
        (Reason::Missing, Stage::Interpreter | Stage::Import) => Code::TorchMissing,
        // What was imported before cannot be missing later: not the worker said so.
        (Reason::Missing, _) => Code::WorkerFailed,
        (Reason::Misfit, _) | (Reason::Memory | Reason::Error, Stage::Interpreter) => Code::WorkerFailed,
        (Reason::Memory | Reason::Error, Stage::Import) => Code::TorchImportFailed,
        (Reason::Memory | Reason::Error, _) if names(message, &NO_KERNEL) => Code::CheckFailed,
        (Reason::Memory, _) => out_of_memory(asked),
        // Before anything is allocated, no allocation can have failed.
        (Reason::Error, stage) if stage >= Stage::Allocate && names(message, &NO_MEMORY) => {
            out_of_memory(asked)
        }
        (Reason::Error, _) => Code::RuntimeError,
    };
    Verdict::failed(code, stage, fault_of(failed, asked))
}

fn out_of_memory(asked: Asked<'_>) -> Code {
    if asked.kfd_refuses { Code::RuntimeError } else { Code::OutOfMemory }
}

fn names(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| message.contains(text))
}

/// The worker's own words, or ours where it met a fact and no error.
fn fault_of(failed: Failed, asked: Asked<'_>) -> Fault {
    if let Some(Described { kind, message }) = failed.error {
        return Fault::new(kind, message);
    }
    match failed.reason {
        Reason::Absent => {
            Fault::new("BackendAbsent", "torch.version.cuda and torch.version.hip are both None")
        }
        Reason::Unavailable => Fault::new("Unavailable", "torch sees no device, and gives no reason"),
        Reason::Index => {
            Fault::new("IndexError", format!("{} is outside the devices that torch sees", asked.device))
        }
        Reason::Missing | Reason::Misfit | Reason::Memory | Reason::Error => {
            Fault::new("Error", "no reason given")
        }
    }
}

/// Whether the worker was killed without a chance to say anything, and not by its supervisor.
pub(super) fn is_sigkill(verdict: &Verdict) -> bool {
    let said = |fault: &Fault| fault.kind == "Signal" && fault.message.starts_with("killed by SIGKILL");
    verdict.error.as_ref().is_some_and(said)
}

fn judge_signal(signal: i32, stderr: &str, stage: Stage) -> Verdict {
    let found = first_error(stderr);
    let is_backend = found.as_ref().is_some_and(|found| found.is_backend);
    let code = if is_backend { Code::RuntimeError } else { Code::WorkerFailed };
    let mut message = format!("killed by {}", signal_name(signal));
    if let Some(found) = found {
        message = format!("{message}: {}", found.line);
    }
    Verdict::failed(code, stage, Fault::new("Signal", message))
}

fn judge_exit(status: i32, stderr: &str, stage: Stage) -> Verdict {
    let mut message = format!("exited with status {status} before its report");
    if let Some(found) = first_error(stderr) {
        message = format!("{message}: {}", found.line);
    }
    Verdict::failed(Code::WorkerFailed, stage, Fault::new("Exit", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(reason: Reason, stage: Stage, message: &str, kfd_refuses: bool) -> Code {
        let error = Some(Described { kind: "RuntimeError".into(), message: message.into() });
        judge_failure(Failed { reason, error }, stage, Asked { device: "cuda:0", kfd_refuses }).code
    }

    #[test]
    fn memory_is_blamed_only_for_allocations() {
        let text = "HIP error: out of memory";
        assert_eq!(code(Reason::Error, Stage::Allocate, text, false), Code::OutOfMemory);
        assert_eq!(code(Reason::Error, Stage::Allocate, text, true), Code::RuntimeError);
        assert_eq!(code(Reason::Error, Stage::Device, text, false), Code::RuntimeError);
        assert_eq!(code(Reason::Error, Stage::Allocate, "Cannot allocate memory", false), Code::RuntimeError);
    }

    #[test]
    fn a_missing_kernel_is_a_failed_check() {
        for text in ["CUDA error: no kernel image is available", "HIP error: invalid device function"] {
            assert_eq!(code(Reason::Error, Stage::Product, text, false), Code::CheckFailed);
        }
    }

    #[test]
    fn a_death_keeps_stage_signal_and_first_line() {
        let verdict = judge_signal(6, "x\nHSA_STATUS_ERROR_INVALID_ISA: bad\n", Stage::Allocate);
        assert_eq!((verdict.code, verdict.stage), (Code::RuntimeError, Stage::Allocate));
        assert_eq!(verdict.error.unwrap().message, "killed by SIGABRT: HSA_STATUS_ERROR_INVALID_ISA: bad");
        assert_eq!(judge_signal(11, "", Stage::Import).code, Code::WorkerFailed);
    }
}
