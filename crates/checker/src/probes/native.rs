//! Starting the native worker, which loads libraries that a static program cannot.
//!
//! Main function: [`probe`]. The worker is a file beside the checker.

use std::path::PathBuf;

use gpusweep_report::wire::{Target, Task};
use gpusweep_report::{Code, Probe, Stage};

use crate::errno;
use crate::process::{Job, StartError};
use crate::verdict::Fault;
use crate::worker::{Context, Probed, Route, Worker, not_started, run};

/// Name of the file beside the checker.
const FILE_NAME: &str = "gpusweep-native";

/// Runs the check with a library, without the variables named.
pub(super) fn probe(
    context: Context<'_>,
    probe: Probe,
    route: Route,
    target: &Target,
    without: &[&str],
) -> Probed {
    let failed = |kind: &str, message: String| {
        not_started(context, probe, None, (Code::WorkerFailed, route[0], Fault::new(kind, message)))
    };
    let Some(program) = beside_the_checker() else {
        let message = format!("this checker has no {} probe: {FILE_NAME} is not beside it", probe.as_str());
        return failed("ProbeUnavailable", message);
    };
    let job =
        Job { program, arguments: Vec::new(), input: &|fd| task(context.asked.device, target, fd), without };
    run(context, &Worker { job, probe, route, how: None }).unwrap_or_else(|StartError(error)| {
        // The file is there: what is missing is the program that loads it, and with it every library it could load.
        if error.kind() == std::io::ErrorKind::NotFound {
            return without_loader(context, probe, route);
        }
        let errno = errno::of(&error);
        failed(&errno, format!("{FILE_NAME} cannot be started: {errno}"))
    })
}

/// An image of musl, or without any C library: vendors' drivers and libtorch need glibc, as the worker does.
fn without_loader(context: Context<'_>, probe: Probe, route: Route) -> Probed {
    let (code, what) = match probe {
        Probe::Driver => (Code::GpuUnavailable, "neither libcuda.so.1 nor libamdhip64.so"),
        Probe::Libtorch | Probe::Python | Probe::Auto => (Code::TorchImportFailed, "no libtorch"),
    };
    let message = format!("the image has no glibc, without which {what} can be loaded");
    not_found(context, probe, route[0], code, &message)
}

/// A probe that has nothing to load.
pub(super) fn not_found(
    context: Context<'_>,
    probe: Probe,
    stage: Stage,
    code: Code,
    message: &str,
) -> Probed {
    not_started(context, probe, None, (code, stage, Fault::new("NotFound", message)))
}

fn beside_the_checker() -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?.with_file_name(FILE_NAME);
    file.is_file().then_some(file)
}

fn task(device: &str, target: &Target, fd: i32) -> String {
    let task = Task { fd, device: device.to_owned(), target: target.clone() };
    // Every part of it is text or a number, except a folder's name, which was found through text.
    serde_json::to_string(&task).map_or_else(|_| String::new(), |line| line + "\n")
}
