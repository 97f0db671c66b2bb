//! What of a GPU reached this process, seen from inside.
//!
//! Main function: [`look`]. One file for each kind of fact, each reading below a root so that tests can make one up.
//! It never replaces the computation: a node that opens says nothing of what torch can do with it.

mod driver;
mod identity;
mod libraries;
mod loader;
mod memory;
mod nodes;
mod variables;

#[cfg(fuzzing)]
pub(crate) use driver::version_in;
#[cfg(fuzzing)]
pub(crate) use loader::cached;

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use gpusweep_report::Exposure;

/// Said outright, as the default is the image's to set: a RUST_MIN_STACK beyond all memory would keep the thread away.
const STACK: usize = 1 << 20;

/// Looks at everything, or gives up: a driver can block an open for ever, and the check has to go on.
pub(crate) fn look(limit: Duration) -> Option<Exposure> {
    let (sender, receiver) = mpsc::channel();
    let looking = move || {
        // Where nobody waits any more, the facts came too late.
        let _ = sender.send(look_below(Path::new("/")));
    };
    std::thread::Builder::new().name("exposure".to_owned()).stack_size(STACK).spawn(looking).ok()?;
    receiver.recv_timeout(limit).ok()
}

fn look_below(root: &Path) -> Exposure {
    Exposure {
        nodes: nodes::nodes(root),
        libraries: libraries::libraries(root, std::env::var_os("LD_LIBRARY_PATH").as_deref()),
        variables: variables::variables(),
        shm_bytes: memory::shm_bytes(root),
        memlock_bytes: memory::memlock_bytes(),
        uid: identity::uid(),
        groups: identity::groups(),
        uid_map_identity: identity::uid_map_identity(root),
        nvidia_driver: driver::nvidia_driver(root),
        kfd_gpu_nodes: driver::kfd_gpu_nodes(root),
        devices_without_variables: None,
    }
}
