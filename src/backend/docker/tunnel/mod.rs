//! Makes an engine that is reached over a network look like one on a local socket.
//!
//! Main type: [`Tunnel`]. The client of the API knows unix sockets alone: over TCP it waits 44 ms for each request, since it
//! neither keeps connections nor switches the delay of small packets off, and its way over ssh takes one master a connection.

mod ssh;
mod tcp;
mod unverified;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::endpoint::Route;

/// A local socket that leads to an engine, for as long as it is kept.
pub(super) struct Tunnel {
    socket: PathBuf,
    /// What passes the bytes on, and then the folder of the socket: dropped in this order.
    kept: Option<Box<dyn Send + Sync>>,
}

impl Tunnel {
    /// Opens the way to an engine.
    ///
    /// # Errors
    /// Why it cannot be opened, in a user's terms.
    pub(super) async fn open(route: &Route) -> Result<Self, String> {
        if let Route::Unix(path) = route {
            return Ok(Self { socket: path.into(), kept: None });
        }
        let folder = folder()?;
        let socket = folder.path().join("engine.sock");
        let kept: Box<dyn Send + Sync> = match route {
            Route::Unix(_) => Box::new(folder),
            Route::Ssh { destination, port, socket: there } => {
                Box::new((ssh::forward(destination, *port, there, &socket).await?, folder))
            }
            Route::Tcp { address, tls } => {
                Box::new((tcp::pass_on(address, tls.as_ref(), &socket).await?, folder))
            }
        };
        Ok(Self { socket, kept: Some(kept) })
    }

    /// Whether the engine listens on this machine itself, as far as can be told.
    pub(super) const fn is_direct(&self) -> bool {
        self.kept.is_none()
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

/// For this user alone: whoever reaches the socket reaches the engine.
fn folder() -> Result<TempDir, String> {
    use std::os::unix::fs::PermissionsExt as _;
    tempfile::Builder::new()
        .prefix("gpusweep-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("no folder for the engine's socket can be made: {error}"))
}
