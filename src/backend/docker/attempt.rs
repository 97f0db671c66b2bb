//! One attempt at one cell: create, start, wait, read, and remove whatever happened.
//!
//! Main function: [`attempt`]. Requests that make something are never dropped half-way, since an engine finishes them all
//! the same and nobody would know of the container.

use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{
    CreateContainerOptions, KillContainerOptions, LogsOptions, WaitContainerOptions,
};
use futures_util::StreamExt as _;
use gpusweep_report::frame::{Key, MAX_FRAMED};

use super::engine::{Engine, Kind};
use super::image::Image;
use super::refusal::{engine_fault, fault, launch_fault, request_fault, words};
use super::{DockerBackend, applied, clean, inspect, lower, podman};
use crate::backend::{Attempt, AttemptContext, report};
use crate::model::{Cell, Fault, FaultKind, Grant, Observation, Phase};

/// What is kept of a container's output, beside its report.
const LOG_BYTES: usize = 1 << 20;

/// How long reading what an ended container left may take.
const COLLECT: Duration = Duration::from_secs(120);

/// The same once the user stopped the sweep.
const COLLECT_CANCELLED: Duration = Duration::from_secs(5);

/// How waiting for a container ended.
enum Ended {
    ByItself,
    Deadline,
    Cancelled,
}

/// Runs one attempt to its end.
pub(super) async fn attempt(backend: &DockerBackend, cell: &Cell, context: AttemptContext) -> Attempt {
    let prepared = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return cancelled(Phase::Prepare),
        prepared = prepare(backend, cell, &context) => prepared,
    };
    let (engine, image) = match prepared {
        Ok(prepared) => prepared,
        Err((phase, fault)) => return not_started(phase, fault),
    };
    if !engine.is_local() && cell.visibility.grants.contains(&Grant::HostGroups) {
        return not_started(Phase::Create, unknown_groups());
    }
    let delivery = match backend.delivery(engine, cell).await {
        Ok(delivery) => delivery,
        Err(fault) => return not_started(Phase::Pull, fault),
    };
    let name = format!("gpusweep-{}-{}-{}", backend.run, cell.id(), context.number);
    let key = match report::key() {
        Ok(key) => key,
        Err(fault) => return not_started(Phase::Create, fault),
    };
    let container = Container { engine, cell, name: &name, image: &image, context: &context, key: &key };
    let mut body = match lower::container(cell, &backend.run, delivery, &image.command) {
        Ok(body) => body,
        Err(fault) => return not_started(Phase::Create, fault),
    };
    lower::hand_over(&key, &mut body);
    match engine.kind {
        Kind::Docker => {}
        Kind::Podman => podman::adapt(cell, &mut body),
    }
    let mut attempt = container.run(body).await;
    if let Err(words) = clean::remove_container(engine, &name).await {
        attempt
            .log
            .extend(format!("\ngpusweep: the container {name} could not be removed: {words}\n").bytes());
    }
    attempt
}

async fn prepare<'a>(
    backend: &'a DockerBackend,
    cell: &Cell,
    context: &AttemptContext,
) -> Result<(&'a Engine, Image), (Phase, Fault)> {
    context.reach(Phase::Prepare);
    let engine = backend.engine().await.map_err(|fault| (Phase::Prepare, fault))?;
    context.reach(Phase::Pull);
    let image = backend.image(engine, &cell.image.reference).await.map_err(|fault| (Phase::Pull, fault))?;
    Ok((engine, image))
}

/// The numbers are those of the engine's machine, whose nodes nobody here can look at.
fn unknown_groups() -> Fault {
    let message = "the groups that own the GPU nodes of a host behind a network cannot be read from here: give their numbers \
                   as `groups:`, as `stat -c %g /dev/kfd` tells them there";
    fault(FaultKind::LaunchRefused, message)
}

fn cancelled(phase: Phase) -> Attempt {
    Attempt::bare(Observation::Cancelled { phase }, Vec::new())
}

fn not_started(phase: Phase, fault: Fault) -> Attempt {
    let log = format!("gpusweep: {}: {}\n", phase.as_str(), fault.message);
    Attempt::bare(Observation::NotStarted { phase, fault }, log)
}

/// One container, from its creation to the reading of its output.
struct Container<'a> {
    engine: &'a Engine,
    cell: &'a Cell,
    name: &'a str,
    image: &'a Image,
    context: &'a AttemptContext,
    key: &'a Key,
}

impl Container<'_> {
    async fn run(&self, body: bollard::models::ContainerCreateBody) -> Attempt {
        let docker = &self.engine.docker;
        self.context.reach(Phase::Create);
        let options =
            CreateContainerOptions { name: Some(self.name.to_owned()), ..CreateContainerOptions::default() };
        if let Err(error) = docker.create_container(Some(options), body).await {
            return self.refused(Phase::Create, &error);
        }
        self.context.reach(Phase::Start);
        if let Err(error) = docker.start_container(self.name, None).await {
            return self.refused(Phase::Start, &error);
        }
        self.context.reach(Phase::Running);
        let ended = match self.wait().await {
            Ok(ended) => ended,
            Err(error) => return self.lost(&error),
        };
        self.context.reach(Phase::Collect);
        tokio::select! {
            attempt = self.finish(ended) => attempt,
            () = self.patience() => self.silent(),
        }
    }

    async fn finish(&self, ended: Ended) -> Attempt {
        if !matches!(ended, Ended::ByItself) {
            self.kill().await;
        }
        match inspect::container(self.engine, self.name).await {
            Ok(found) => self.collect(ended, found).await,
            Err(error) => self.lost(&error),
        }
    }

    /// Ends when nobody should wait any longer for what an ended container left.
    async fn patience(&self) {
        let cancelled = async {
            self.context.cancel.cancelled().await;
            tokio::time::sleep(COLLECT_CANCELLED).await;
        };
        tokio::select! {
            () = tokio::time::sleep(COLLECT) => {}
            () = cancelled => {}
        }
    }

    fn silent(&self) -> Attempt {
        if self.context.cancel.is_cancelled() {
            return cancelled(Phase::Collect);
        }
        let message = "the engine stopped answering while the container's output was read";
        not_started(Phase::Collect, engine_fault(message))
    }

    /// The engine's raw words go to the private log, the cleaned ones into the observation.
    fn refused(&self, phase: Phase, error: &Error) -> Attempt {
        let log = format!("gpusweep: {}: {}\n", phase.as_str(), words(error));
        Attempt::bare(Observation::NotStarted { phase, fault: launch_fault(self.cell, error) }, log)
    }

    /// The engine stopped answering while the checker ran.
    fn lost(&self, error: &Error) -> Attempt {
        let fault = request_fault(FaultKind::EngineUnreachable, error);
        Attempt::bare(Observation::NotStarted { phase: Phase::Running, fault }, words(error))
    }

    async fn wait(&self) -> Result<Ended, Error> {
        let options = WaitContainerOptions { condition: "not-running".to_owned() };
        let mut waiting = self.engine.docker.wait_container(self.name, Some(options));
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Ok(Ended::Cancelled),
            answer = waiting.next() => match answer {
                // A status other than 0 comes as an error; the status itself is read from inspect.
                Some(Ok(_) | Err(Error::DockerContainerWaitError { .. })) | None => Ok(Ended::ByItself),
                Some(Err(error)) => Err(error),
            },
            () = tokio::time::sleep(self.cell.limits.cell_timeout) => Ok(Ended::Deadline),
        }
    }

    async fn kill(&self) {
        let options = KillContainerOptions { signal: "KILL".to_owned() };
        // It may have ended in the meantime; removal kills it too.
        let _ = self.engine.docker.kill_container(self.name, Some(options)).await;
    }

    async fn collect(&self, ended: Ended, found: ContainerInspectResponse) -> Attempt {
        let state = found.state.clone().unwrap_or_default();
        let applied = applied::applied(found, self.image, &self.engine.name());
        match ended {
            Ended::Cancelled => cancelled(Phase::Running),
            Ended::Deadline => {
                let (_, log) = self.output().await;
                Attempt::bare(Observation::TimedOut { phase: Phase::Running, applied }, log)
            }
            Ended::ByItself => {
                let (stdout, log) = self.output().await;
                let exit = state.exit_code.unwrap_or(-1);
                let oom_killed = state.oom_killed.unwrap_or(false);
                let (key, stdout) = (self.key, stdout.as_slice());
                report::attempt(self.cell, report::Ended { key, stdout, log, exit, oom_killed, applied })
            }
        }
    }

    /// Standard output up to the longest report, and all output up to a bound.
    async fn output(&self) -> (Vec<u8>, Vec<u8>) {
        let options =
            LogsOptions { stdout: true, stderr: true, tail: "all".to_owned(), ..LogsOptions::default() };
        let mut lines = self.engine.docker.logs(self.name, Some(options));
        let (mut stdout, mut log) = (Vec::new(), Vec::new());
        while let Some(line) = lines.next().await {
            let part = match line {
                Ok(LogOutput::StdOut { message }) => {
                    keep(&mut stdout, &message, MAX_FRAMED + 1);
                    message
                }
                Ok(
                    LogOutput::StdErr { message }
                    | LogOutput::StdIn { message }
                    | LogOutput::Console { message },
                ) => message,
                Err(error) => format!("\ngpusweep: the log broke off: {}\n", words(&error)).into(),
            };
            keep(&mut log, &part, LOG_BYTES);
            // Never for the log's sake: what comes behind a flood on stderr may be a second report.
            if stdout.len() > MAX_FRAMED {
                break;
            }
        }
        (stdout, log)
    }
}

/// Appends as much of `part` as fits into `limit` bytes.
fn keep(kept: &mut Vec<u8>, part: &[u8], limit: usize) {
    kept.extend_from_slice(&part[..part.len().min(limit.saturating_sub(kept.len()))]);
}
