//! Where cells run.
//!
//! Main type: [`Host`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Stack;

/// One place where cells run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name in the matrix and in every table.
    pub name: String,
    /// What launches cells there.
    pub backend: BackendKind,
    /// The stacks that it has; none = not said, so nothing is pruned for it.
    pub stacks: Option<BTreeSet<Stack>>,
    /// Cells at a time there; none = the back end's own default.
    pub slots: Option<u32>,
}

/// What launches cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// A Docker engine.
    Docker(Endpoint),
    /// This machine itself, without a container: the baseline.
    Host,
}

/// How a Docker engine is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// Whatever `docker` itself would talk to: `DOCKER_HOST`, else the current context, else the default socket.
    Current,
    /// A unix socket, by its path.
    Unix(String),
}
