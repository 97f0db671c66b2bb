//! One reachable engine.

use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};

use super::endpoint;
use super::refusal::{engine_fault, words};
use crate::model::{Endpoint, Fault};

/// How long an engine may take for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// How long the head of any later answer may take, in seconds: a busy engine is slow, not gone.
const ANSWER_S: u64 = 120;

/// A client, and what the engine says of itself.
pub(super) struct Engine {
    pub(super) docker: Docker,
    /// Machine architecture in Go's words, such as `amd64`.
    pub(super) arch: Option<String>,
    cpus: usize,
}

impl Engine {
    pub(super) async fn reach(wanted: &Endpoint) -> Result<Self, Fault> {
        let path = endpoint::socket(wanted).map_err(|error| engine_fault(&error.to_string()))?;
        let docker = Docker::connect_with_unix(&path, ANSWER_S, API_DEFAULT_VERSION)
            .map_err(|error| engine_fault(&format!("{path}: {}", words(&error))))?;
        match tokio::time::timeout(FIRST_ANSWER, docker.info()).await {
            Ok(Ok(info)) => Ok(Self {
                docker,
                arch: info.architecture.as_deref().map(go_arch),
                cpus: info.ncpu.and_then(|cpus| usize::try_from(cpus).ok()).unwrap_or(1),
            }),
            Ok(Err(error)) => Err(engine_fault(&format!("{path}: {}", words(&error)))),
            Err(_) => Err(engine_fault(&format!("{path}: no answer within {} s", FIRST_ANSWER.as_secs()))),
        }
    }

    /// Starting a container is bound by the runtime's processor time; twice the processors was measured fastest.
    pub(super) const fn default_slots(&self) -> usize {
        self.cpus * 2
    }
}

/// Engines name their machine as uname does, images as Go does.
fn go_arch(uname: &str) -> String {
    match uname {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
    .to_owned()
}
