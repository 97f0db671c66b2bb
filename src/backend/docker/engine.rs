//! One reachable engine.

use std::io::ErrorKind;
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::{SystemInfo, SystemVersion};
use bollard::{API_DEFAULT_VERSION, Docker};
use gpusweep_report::one_line;

use super::endpoint;
use super::refusal::{engine_fault, words};
use super::tunnel::Tunnel;
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
    pub(super) kind: Kind,
    version: String,
    cpus: usize,
    /// The way to it lasts as long as the client.
    tunnel: Tunnel,
}

/// Whose engine it is: Podman answers to Docker's API, and takes some of it otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Docker,
    Podman,
}

impl Kind {
    pub(super) fn of(version: &SystemVersion) -> Self {
        let podman = version.components.iter().flatten().any(|component| component.name == "Podman Engine");
        if podman { Self::Podman } else { Self::Docker }
    }

    /// The name of its command line.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Of a name that [`Engine::name`] gave.
    pub(super) fn of_name(name: &str) -> Self {
        if name.starts_with(Self::Podman.as_str()) { Self::Podman } else { Self::Docker }
    }
}

impl Engine {
    pub(super) async fn reach(wanted: &Endpoint) -> Result<Self, Fault> {
        Self::introduced(wanted).await.map(|(engine, ..)| engine)
    }

    /// The same, with its first answers whole.
    pub(super) async fn introduced(wanted: &Endpoint) -> Result<(Self, SystemInfo, SystemVersion), Fault> {
        let route = endpoint::route(wanted).map_err(|error| engine_fault(&error.to_string()))?;
        let tunnel = Tunnel::open(&route).await.map_err(|words| engine_fault(&words))?;
        let path = tunnel.socket().display().to_string();
        let unreachable = |error: &Error| engine_fault(&connect_words(&route.to_string(), error));
        let docker = Docker::connect_with_unix(&path, ANSWER_S, API_DEFAULT_VERSION)
            .map_err(|error| unreachable(&error))?;
        let answer = async { tokio::try_join!(docker.info(), docker.version()) };
        match tokio::time::timeout(FIRST_ANSWER, answer).await {
            Ok(Ok((info, version))) => {
                let engine = Self {
                    docker,
                    kind: Kind::of(&version),
                    version: version.version.clone().unwrap_or_default(),
                    tunnel,
                    arch: info.architecture.as_deref().map(go_arch),
                    cpus: info.ncpu.and_then(|cpus| usize::try_from(cpus).ok()).unwrap_or(1),
                };
                Ok((engine, info, version))
            }
            Ok(Err(error)) => Err(unreachable(&error)),
            Err(_) => Err(engine_fault(&format!("{route}: no answer within {} s", FIRST_ANSWER.as_secs()))),
        }
    }

    /// Whose it is and its version, such as `docker 28.5.2`.
    pub(super) fn name(&self) -> String {
        one_line(&format!("{} {}", self.kind.as_str(), self.version), &[])
    }

    /// Whether it is reached without a network.
    pub(super) const fn is_local(&self) -> bool {
        self.tunnel.is_direct()
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

/// Why a socket cannot be used, in a user's terms where they are known.
fn connect_words(path: &str, error: &Error) -> String {
    match io_kind(error) {
        Some(ErrorKind::PermissionDenied) => {
            format!("{path}: permission denied; run as root, or join the group that owns the socket (docker)")
        }
        Some(ErrorKind::NotFound) => format!("{path}: there is no such socket"),
        Some(ErrorKind::ConnectionRefused) => format!("{path}: no engine listens on this socket"),
        Some(_) | None => format!("{path}: {}", words(error)),
    }
}

/// The operating system's word somewhere below an error of the client.
fn io_kind(error: &Error) -> Option<ErrorKind> {
    if matches!(error, Error::SocketNotFoundError(_)) {
        return Some(ErrorKind::NotFound);
    }
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(inner) = next {
        if let Some(found) = inner.downcast_ref::<std::io::Error>() {
            return Some(found.kind());
        }
        next = inner.source();
    }
    None
}
