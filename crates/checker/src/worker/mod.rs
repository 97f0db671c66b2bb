//! A worker under supervision: what it says, when its time is up, and the judgement of both.
//!
//! Main function: [`run`]. It knows stages and codes, but no probe, and starts processes only through [`crate::process`].

mod compute;
mod crash;
mod facts;
mod judge;
mod message;
mod progress;
mod session;

use std::path::Path;
use std::time::Duration;

use gpusweep_report::{Cause, Check, Code, Driver, Execution, Outcome, Probe, Pytorch, Runtime, Stage};

use crate::{cause, memory};
use judge::Judged;
pub(crate) use judge::{Asked, stopped};
#[cfg(fuzzing)]
pub(crate) use message::Reader;
pub(crate) use progress::{DRIVER, LIBTORCH, PYTHON, Route};
use session::{Allowance, Session};

use crate::Limits;
use crate::interpreter::How;
use crate::privacy::Private;
use crate::process::{Job, StartError, Supervisor};
use crate::verdict::{Fault, Verdict};

/// What every probe of one check shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) limits: &'a Limits,
    pub(crate) private: &'a Private,
    /// The computation's deadline.
    pub(crate) compute: Duration,
    pub(crate) asked: Asked<'a>,
}

/// A worker to be.
pub(crate) struct Worker<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) probe: Probe,
    pub(crate) route: Route,
    pub(crate) how: Option<How>,
}

/// What a probe found.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) verdict: Verdict,
    pub(crate) runtime: Runtime,
    pub(crate) pytorch: Option<Pytorch>,
    pub(crate) driver: Option<Driver>,
    pub(crate) execution: Option<Execution>,
    pub(crate) checks: Vec<Check>,
    pub(crate) cause: Option<Cause>,
    /// Devices that appear without the visibility variables, where that was tried.
    pub(crate) devices_without_variables: Option<u32>,
    /// The last that the worker printed on stderr.
    pub(crate) said: String,
}

/// Runs a worker to its end.
pub(crate) fn run(context: Context<'_>, worker: &Worker<'_>) -> Result<Probed, StartError> {
    let Context { supervisor, limits, private, compute, asked } = context;
    let allowance = Allowance { import: limits.import.max(compute), compute };
    let killed_before = memory::kills(Path::new("/"));
    let mut session = Session::start(worker.route, asked.device != "cpu", allowance);
    let ended = supervisor.supervise(&worker.job, &mut session, limits.settle)?;
    let runtime = facts::runtime(worker.probe, session.runtime.as_ref(), worker.how, private);
    let pytorch = session.pytorch.take().map(|torch| facts::pytorch(*torch, private));
    let driver = session.driver.take().map(|driver| facts::driver(*driver, private));
    let Judged { verdict, execution, checks } = judge::judge(session, &ended, asked);
    let more = || memory::kills(Path::new("/")) > killed_before;
    let cause = (judge::is_sigkill(&verdict) && more()).then(cause::memory_kill);
    Ok(Probed {
        verdict,
        runtime,
        pytorch,
        driver,
        execution,
        checks,
        cause,
        devices_without_variables: None,
        said: ended.stderr,
    })
}

/// A probe that came to nothing before a worker ran.
pub(crate) fn not_started(
    context: Context<'_>,
    probe: Probe,
    how: Option<How>,
    (code, stage, fault): (Code, Stage, Fault),
) -> Probed {
    Probed {
        verdict: Verdict::failed(code, stage, fault),
        runtime: facts::runtime(probe, None, how, context.private),
        pytorch: None,
        driver: None,
        execution: None,
        checks: vec![Check { name: stage, outcome: Outcome::Failed, elapsed_ms: 0 }],
        cause: None,
        devices_without_variables: None,
        said: String::new(),
    }
}
