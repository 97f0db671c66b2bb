//! The checker: finds the first layer that fails between a container image and its GPU.
//!
//! Main function: [`run`]. Order of work: exposure (what reached the process), the worker (what torch can do with it), the
//! host's word where asked, then one report. It changes nothing in the image and sends nothing anywhere.

mod cause;
mod cli;
mod draft;
mod errno;
mod exposure;
mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
mod host_check;
mod interpreter;
mod limits;
mod memory;
mod output;
mod privacy;
mod probes;
mod process;
#[cfg(test)]
mod testing;
mod verdict;
mod worker;

use std::io::Write as _;
use std::time::{Duration, Instant};

use gpusweep_report::{Check, Code, Exposure, Outcome, Stage};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

pub use cli::{Asks, Options, UsageError};
pub use limits::Limits;

use draft::Draft;
use interpreter::Surroundings;
use privacy::Private;
use process::Supervisor;
use verdict::{Fault, Verdict};
use worker::{Asked, Context, stopped};

/// Checks, prints the report on stdout, and gives the exit status.
///
/// It takes the process for itself: signal handlers, and every child that ends.
#[must_use]
pub fn run(options: &Options, limits: &Limits) -> u8 {
    close_to_others();
    let private = Private::collect();
    let mut draft = match Supervisor::new() {
        Ok(supervisor) => check(&supervisor, options, limits, &private),
        Err(error) => {
            let fault = Fault::new(errno::of(&error), "the supervisor cannot listen for signals");
            let verdict = Verdict::failed(Code::WorkerFailed, Stage::Interpreter, fault);
            Draft::bare(options.request(), verdict)
        }
    };
    let (mut line, mut exit) = draft.line(&private);
    if let Some(path) = &options.output
        && let Err(error) = output::save(path, &format!("{line}\n"))
    {
        draft.fail_output(Fault::new(error.kind(), error.to_string()));
        (line, exit) = draft.line(&private);
    }
    // A reader that went away cannot be told so; the exit status still says what was found.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(printed(&line, &private).as_bytes()).and_then(|()| stdout.flush());
    if exit != 0 {
        // For whoever reads the container's log: the report itself holds no traceback.
        let _ = std::io::stderr().write_all(draft.said.as_bytes());
    }
    exit
}

/// The report in the frame of whoever asked for one, or as it is for a person.
fn printed(report: &str, private: &Private) -> String {
    private.key().map_or_else(|| format!("{report}\n"), |key| key.wrap(report))
}

/// The image's code has the same user, and would otherwise write a report of its own to this process's stdout through
/// /proc, read its key, or change its memory. Best effort: a kernel that refuses leaves a check that is still worth its while.
fn close_to_others() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn check(supervisor: &Supervisor, options: &Options, limits: &Limits, private: &Private) -> Draft {
    let request = options.request();
    let (mut exposure, exposed) = look_at_exposure(options, limits);
    if let Some(stop) = supervisor.stop() {
        let mut draft = Draft::bare(request, stopped(&stop.name(), Stage::Exposure));
        draft.exposure = exposure;
        return draft;
    }
    let compute = Duration::from_secs(u64::from(options.timeout));
    let asked = Asked { device: &request.device, kfd_refuses: kfd_refuses(exposure.as_ref()) };
    let context = Context { supervisor, limits, private, compute, asked };
    let surroundings = Surroundings::of_this_process(options.python.clone(), options.image_command.clone());
    let mut probed = probes::probe(context, options.probe, &surroundings, exposure.as_ref());
    probed.checks.insert(0, exposed);
    if let Some(exposure) = &mut exposure {
        exposure.devices_without_variables = probed.devices_without_variables;
    }
    let host_check = (options.host_check && supervisor.stop().is_none())
        .then(|| host_check::host_check(supervisor, limits));
    Draft {
        verdict: probed.verdict,
        runtime: Some(probed.runtime),
        pytorch: probed.pytorch,
        driver: probed.driver,
        execution: probed.execution,
        exposure,
        host_check,
        checks: probed.checks,
        cause: probed.cause,
        said: probed.said,
        request,
    }
}

fn kfd_refuses(exposure: Option<&Exposure>) -> bool {
    exposure.is_some_and(|exposure| {
        exposure.nodes.iter().any(|node| node.node == "/dev/kfd" && node.open == "ENOMEM")
    })
}

/// Only where a GPU is asked for: for the CPU, nothing of one is looked at.
fn look_at_exposure(options: &Options, limits: &Limits) -> (Option<Exposure>, Check) {
    let start = Instant::now();
    let exposure = if options.wants_gpu() { exposure::look(limits.exposure) } else { None };
    let outcome = match (&exposure, options.wants_gpu()) {
        (_, false) => Outcome::Skipped,
        (Some(_), true) => Outcome::Passed,
        (None, true) => Outcome::Failed,
    };
    let elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    (exposure, Check { name: Stage::Exposure, outcome, elapsed_ms })
}
