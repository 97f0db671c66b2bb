//! What launches a cell: one folder or file a back end, behind one trait.
//!
//! Main trait: [`Backend`]. A back end turns one cell into one [`Observation`]; it never judges, and it never leaves
//! anything behind. It must not know of journals, tables or verdicts.

pub mod checker;
pub mod docker;
mod host;
mod leftovers;
mod owner;
mod pinned;
mod report;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::model::{Applied, BackendKind, Cell, CellId, Host, Observation, Phase};
use crate::plan::Plan;

/// Launches cells on one host.
pub trait Backend: Send + Sync {
    /// Reaches the host, and tells how many cells it takes at a time unless the matrix says so. A host that does not
    /// answer takes one: each of its cells then says why by itself.
    fn prepare(&self) -> BoxFuture<'_, usize>;

    /// Runs one attempt to its end. Whatever happens, nothing of it is left on the host afterwards.
    fn attempt<'a>(&'a self, cell: &'a Cell, context: AttemptContext) -> BoxFuture<'a, Attempt>;

    /// Digest of an image as the host has it now; none where there are no images, or it is not there. Nothing is pulled.
    fn digest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Removes what [`Backend::prepare`] and the attempts made for all cells.
    fn finish(&self) -> BoxFuture<'_, Vec<String>>;
}

/// What an attempt needs beside its cell.
pub struct AttemptContext {
    /// The cell, for those who are told of steps.
    pub cell: CellId,
    /// From 1.
    pub number: u32,
    /// Where steps are told.
    pub phases: UnboundedSender<(CellId, Phase)>,
    /// Set when the user stops the sweep.
    pub cancel: CancellationToken,
}

impl AttemptContext {
    /// Tells that the attempt came to a new step. Nobody listens any more once the sweep broke off.
    fn reach(&self, phase: Phase) {
        let _ = self.phases.send((self.cell.clone(), phase));
    }
}

/// What one attempt gave.
#[derive(Debug)]
pub struct Attempt {
    /// What it came to.
    pub observation: Observation,
    /// The report as printed, once validated.
    pub report: Option<String>,
    /// Everything it printed, and the raw words of the engine, within bounds. Stays on this machine.
    pub log: Vec<u8>,
}

impl Attempt {
    /// An attempt of which only the observation is known.
    #[must_use]
    pub fn bare(observation: Observation, log: impl Into<Vec<u8>>) -> Self {
        Self { observation, report: None, log: log.into() }
    }
}

/// The back end of a host, for one run.
#[must_use]
pub fn open(host: &Host, run: &str, plan: &Plan) -> Arc<dyn Backend> {
    match &host.backend {
        BackendKind::Docker(endpoint) => Arc::new(docker::DockerBackend::new(endpoint, host, run, plan)),
        BackendKind::Host => Arc::new(host::HostBackend::default()),
    }
}

/// An error with its causes, each said once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = inner.source();
    }
    text
}

/// The line that a person would type for a cell of this host. What one of its engine's inspections said tells whose
/// command line that is; none where no engine was asked.
#[must_use]
pub fn command(host: &Host, cell: &Cell, applied: Option<&Applied>) -> String {
    match &host.backend {
        BackendKind::Docker(_) => docker::command(cell, applied),
        BackendKind::Host => host::command(cell),
    }
}
