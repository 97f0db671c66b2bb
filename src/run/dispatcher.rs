//! The one loop that owns the state of a run.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::host::HostQueue;
use super::lease::{self, Claim, Leases};
use super::{Backends, End, Note, Options, Reaction, Sink};
use crate::backend::{Attempt, AttemptContext, Backend};
use crate::event::{Event, EventKind};
use crate::model::{Cell, CellId, Fault, FaultKind, Observation, Phase};
use crate::plan::Plan;

/// An attempt that ended.
struct Finished<'a> {
    host: usize,
    cell: &'a Cell,
    number: u32,
    claim: Option<Claim>,
    began: Instant,
    attempt: Attempt,
}

struct Dispatcher<'a, S> {
    hosts: Vec<HostQueue<'a>>,
    leases: Leases,
    share: bool,
    jobs: usize,
    running: FuturesUnordered<BoxFuture<'a, Finished<'a>>>,
    tell_phase: UnboundedSender<(CellId, Phase)>,
    phases: UnboundedReceiver<(CellId, Phase)>,
    cancel: CancellationToken,
    stopping: bool,
    seq: u64,
    sink: &'a mut S,
}

/// Carries out a plan, and leaves nothing of it on the hosts, also where it fails.
///
/// # Errors
/// Whatever the sink says of why the sweep cannot go on.
pub async fn run<S: Sink>(
    plan: &Plan,
    backends: &Backends,
    options: Options,
    sink: &mut S,
) -> Result<End, S::Error> {
    let cancel = options.cancel.clone();
    let outcome =
        Dispatcher::new(plan, backends, &options, sink).await.carry_out(options.start.opening).await;
    if outcome.is_err() {
        cancel.cancel();
    }
    let left = join_all(backends.values().map(|backend| backend.finish())).await.concat();
    outcome.map(|interrupted| End { interrupted, left })
}

impl<'a, S: Sink> Dispatcher<'a, S> {
    async fn new(plan: &'a Plan, backends: &Backends, options: &Options, sink: &'a mut S) -> Self {
        let share = |(name, backend): (&String, &Arc<dyn Backend>)| {
            let here = plan.runnable().filter(|cell| cell.host == *name);
            let waiting =
                here.filter_map(|cell| Some((cell, *options.start.cells.get(cell.id())?))).collect();
            let backend = Arc::clone(backend);
            let machine = lease::machine(plan.hosts.iter().find(|host| host.name == *name), name);
            async move {
                let slots = backend.prepare().await;
                HostQueue::new(backend, slots, machine, waiting)
            }
        };
        let hosts = join_all(backends.iter().map(share)).await;
        let (tell_phase, phases) = unbounded_channel();
        Self {
            hosts,
            leases: Leases::default(),
            share: plan.limits.share,
            jobs: options.jobs.unwrap_or(usize::MAX),
            running: FuturesUnordered::new(),
            tell_phase,
            phases,
            cancel: options.cancel.clone(),
            stopping: false,
            seq: options.start.seq,
            sink,
        }
    }

    /// Runs to the end. Where the sink fails, attempts under way are ended and waited for before the error is passed on.
    async fn carry_out(mut self, opening: Vec<EventKind>) -> Result<bool, S::Error> {
        let outcome = self.sweep(opening).await;
        if outcome.is_err() {
            self.cancel.cancel();
            while self.running.next().await.is_some() {}
        }
        outcome
    }

    /// Returns whether the user stopped it; a signal that comes after the last event changes nothing.
    async fn sweep(&mut self, opening: Vec<EventKind>) -> Result<bool, S::Error> {
        for fact in opening {
            self.tell(fact)?;
        }
        loop {
            self.launch()?;
            let resting = self.rest();
            if self.running.is_empty() && resting.is_none() {
                break;
            }
            self.step(resting).await?;
        }
        let interrupted = self.cancel.is_cancelled();
        self.tell(EventKind::RunFinished { interrupted }).map(|_| interrupted)
    }

    /// When the next host that is left alone for a while may be tried again.
    fn rest(&self) -> Option<Instant> {
        let at_work = !self.stopping && !self.cancel.is_cancelled();
        at_work.then(|| self.hosts.iter().filter_map(HostQueue::pause).min()).flatten()
    }

    async fn step(&mut self, resting: Option<Instant>) -> Result<(), S::Error> {
        let cancel = self.cancel.clone();
        let rested = async {
            match resting {
                Some(until) => tokio::select! {
                    () = tokio::time::sleep_until(until.into()) => {}
                    () = cancel.cancelled() => {}
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some((cell, phase)) = self.phases.recv() => self.tell(EventKind::PhaseReached { cell, phase }).map(|_| ()),
            Some(finished) = self.running.next() => self.finish(finished),
            () = rested => Ok(()),
        }
    }

    fn launch(&mut self) -> Result<(), S::Error> {
        for host in 0..self.hosts.len() {
            while !self.stopping && !self.cancel.is_cancelled() && self.running.len() < self.jobs {
                let queue = &mut self.hosts[host];
                let Some(((cell, number), claim)) = queue.next(&self.leases, self.share) else { break };
                self.leases.take(&queue.machine, claim.clone());
                self.tell(EventKind::AttemptStarted { cell: cell.id().clone(), attempt: number })?;
                self.running.push(self.attempt(host, cell, number, claim));
            }
        }
        Ok(())
    }

    fn attempt(
        &self,
        host: usize,
        cell: &'a Cell,
        number: u32,
        claim: Option<Claim>,
    ) -> BoxFuture<'a, Finished<'a>> {
        let backend = Arc::clone(&self.hosts[host].backend);
        let context = AttemptContext {
            cell: cell.id().clone(),
            number,
            phases: self.tell_phase.clone(),
            cancel: self.cancel.clone(),
        };
        async move {
            let began = Instant::now();
            let attempt = backend.attempt(cell, context).await;
            Finished { host, cell, number, claim, began, attempt }
        }
        .boxed()
    }

    fn finish(&mut self, finished: Finished<'a>) -> Result<(), S::Error> {
        // Its last steps may still wait in the channel, and must be told before its end.
        while let Ok((cell, phase)) = self.phases.try_recv() {
            self.tell(EventKind::PhaseReached { cell, phase })?;
        }
        let Finished { host, cell, number, claim, began, attempt } = finished;
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Attempt { observation, report, log } = attempt;
        let queue = &mut self.hosts[host];
        queue.busy -= 1;
        self.leases.give_back(&queue.machine, claim.as_ref());
        let aside = queue.learn(&observation, began);
        let id = cell.id().clone();
        let kind = EventKind::AttemptFinished { cell: id, attempt: number, duration_ms, observation };
        let reaction = self.note(kind, report.as_deref(), &log)?;
        match (reaction, aside) {
            (Reaction::Stop, _) => self.stopping = true,
            (Reaction::Continue | Reaction::Retry, Some(reason)) => self.set_aside(host, &reason)?,
            (Reaction::Continue, None) => {}
            (Reaction::Retry, None) => self.hosts[host].again((cell, number + 1)),
        }
        Ok(())
    }

    /// Nothing more is tried on a host that cannot be relied on; each of its cells has a row that says so.
    fn set_aside(&mut self, host: usize, reason: &str) -> Result<(), S::Error> {
        for (cell, attempt) in std::mem::take(&mut self.hosts[host].waiting) {
            let id = cell.id();
            self.tell(EventKind::AttemptStarted { cell: id.clone(), attempt })?;
            let message = format!("host `{}` was set aside: {reason}", cell.host);
            let fault = Fault { kind: FaultKind::EngineUnreachable, message };
            let observation = Observation::NotStarted { phase: Phase::Queued, fault };
            let cell = id.clone();
            self.tell(EventKind::AttemptFinished { cell, attempt, duration_ms: 0, observation })?;
        }
        Ok(())
    }

    fn tell(&mut self, kind: EventKind) -> Result<Reaction, S::Error> {
        self.note(kind, None, &[])
    }

    fn note(&mut self, kind: EventKind, report: Option<&str>, log: &[u8]) -> Result<Reaction, S::Error> {
        let event = Event { seq: self.seq, at: Timestamp::now(), kind };
        self.seq += 1;
        self.sink.take(&Note { event: &event, report, log })
    }
}
