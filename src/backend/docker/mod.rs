//! Cells as containers of a Docker engine.
//!
//! Main type: [`DockerBackend`]. Each file has one step: find the engine (`endpoint`, `engine`), get the image
//! (`image`), deliver the checker (`deliver`), say what a container is made of (`lower`, `podman`, and `line` for people), run it
//! (`attempt`), read what the engine says of it (`inspect`), understand refusals (`refusal`), and remove what is left
//! (`clean`).

mod applied;
mod ask;
mod attempt;
mod clean;
mod deliver;
mod endpoint;
mod engine;
mod image;
mod inspect;
mod line;
mod lower;
mod podman;
mod refusal;
mod tunnel;

use std::collections::HashMap;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{OnceCell, Semaphore};

pub use ask::ask;
pub use clean::{Cleaned, clean};
pub use endpoint::{EndpointError, Route, route};
pub use line::command;
pub(super) use line::{CHECKER, quoted};
pub(super) use lower::checker_arguments;

use self::deliver::Delivery;
use self::engine::Engine;
use self::image::Image;
use super::{Attempt, AttemptContext, Backend};
use crate::model::{Cell, Endpoint, Fault, FaultKind, Host};
use crate::plan::Plan;

/// Label of everything that gpusweep makes; its value is the run's id.
pub const LABEL: &str = "gpusweep";

/// Label with the cell's id.
const LABEL_CELL: &str = "gpusweep.cell";

/// Label that tells whether the controller that made a container is still alive.
const LABEL_OWNER: &str = "gpusweep.owner";

/// Label with the time, in seconds since 1970, after which no controller can still be waiting for a container.
const LABEL_DEADLINE: &str = "gpusweep.deadline";

/// Where the checker lies in the containers of a line for people. A run takes a place of its own, which no image can
/// know: one that has links or volumes at a known place could put a file of its own over the checker.
const MOUNT: &str = "/.gpusweep";

/// Pulls at a time unless the matrix says otherwise.
const PULLS: usize = 2;

/// One engine, for one run.
pub struct DockerBackend {
    endpoint: Endpoint,
    run: String,
    slots: Option<usize>,
    pulls: Semaphore,
    engine: OnceCell<Engine>,
    delivery: OnceCell<Delivery>,
    /// Name of this host in names of containers and volumes: two hosts may turn out to be one engine.
    tag: String,
    mount: String,
    images: HashMap<String, OnceCell<Result<Image, Fault>>>,
}

impl DockerBackend {
    /// Prepares nothing yet: the engine is first asked when the run begins.
    #[must_use]
    pub fn new(endpoint: &Endpoint, host: &Host, run: &str, plan: &Plan) -> Self {
        let wanted = plan.runnable().filter(|cell| cell.host == host.name);
        let slots = host.slots.or(plan.limits.per_host).map(|slots| slots as usize);
        Self {
            endpoint: endpoint.clone(),
            run: run.to_owned(),
            slots,
            pulls: Semaphore::new(plan.limits.pull.map_or(PULLS, |pulls| pulls as usize)),
            engine: OnceCell::new(),
            delivery: OnceCell::new(),
            tag: format!("h{}", plan.hosts.iter().position(|other| other.name == host.name).unwrap_or(0)),
            mount: format!("{MOUNT}-{}", secret()),
            images: wanted.map(|cell| (cell.image.reference.clone(), OnceCell::new())).collect(),
        }
    }

    async fn engine(&self) -> Result<&Engine, Fault> {
        // Only a success is kept: an engine that does not answer now may answer later.
        self.engine.get_or_try_init(|| Engine::reach(&self.endpoint)).await
    }

    /// The image, had once for all cells that want it. That it cannot be had is kept too, unless the engine was what failed.
    async fn image(&self, engine: &Engine, reference: &str) -> Result<Image, Fault> {
        match self.images.get(reference) {
            Some(shared) => {
                let obtain = async || match image::obtain(engine, reference, &self.pulls).await {
                    Err(fault) if fault.kind == FaultKind::EngineUnreachable => Err(fault),
                    settled => Ok(settled),
                };
                shared.get_or_try_init(obtain).await?.clone()
            }
            None => image::obtain(engine, reference, &self.pulls).await,
        }
    }

    /// The volume with the checker, filled once. Any image serves, since the container that fills it never starts; but
    /// one that cannot be used for it is no reason for others to fail, so only a success is kept.
    async fn delivery(&self, engine: &Engine, cell: &Cell) -> Result<&Delivery, Fault> {
        let name = format!("gpusweep-{}-{}", self.run, self.tag);
        let deliver = || deliver::deliver(engine, &self.run, &name, &self.mount, cell);
        self.delivery.get_or_try_init(deliver).await
    }
}

/// A word that nobody can foresee.
fn secret() -> String {
    let mut bytes = [0_u8; 8];
    // Where the kernel has no randomness, the time is still nothing that an image was built with.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        bytes = jiff::Timestamp::now().as_nanosecond().to_le_bytes()[..8].try_into().unwrap_or(bytes);
    }
    format!("{:016x}", u64::from_le_bytes(bytes))
}

impl Backend for DockerBackend {
    fn prepare(&self) -> BoxFuture<'_, usize> {
        async {
            let default = self.engine().await.map_or(1, Engine::default_slots);
            self.slots.unwrap_or(default).max(1)
        }
        .boxed()
    }

    fn attempt<'a>(&'a self, cell: &'a Cell, context: AttemptContext) -> BoxFuture<'a, Attempt> {
        attempt::attempt(self, cell, context).boxed()
    }

    fn digest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Option<String>> {
        async {
            let engine = self.engine().await.ok()?;
            image::digest_of(engine, reference).await
        }
        .boxed()
    }

    fn finish(&self) -> BoxFuture<'_, Vec<String>> {
        async {
            match self.engine.get() {
                Some(engine) => clean::remove_run(engine, &self.run).await,
                None => Vec::new(),
            }
        }
        .boxed()
    }
}
