//! The worker's facts as the report carries them: bounded, and free of anything but what they are for.
//!
//! Main functions: [`runtime`] and [`pytorch`].

use gpusweep_report::{Device, Probe, Pytorch, Runtime};

use super::message::{DeviceFacts, PytorchFacts, RuntimeFacts};
use crate::interpreter::How;
use crate::privacy::{Private, token};

/// More than any build or machine has.
const MAX_LIST: usize = 64;

/// The runtime block; the system's part of it is known even where no interpreter ran.
pub(super) fn runtime(facts: Option<&RuntimeFacts>, how: Option<How>, private: &Private) -> Runtime {
    let system = rustix::system::uname();
    Runtime {
        python_version: facts.map(|facts| private.token(&facts.python_version)),
        os_family: token(&system.sysname().to_string_lossy()),
        arch: token(&system.machine().to_string_lossy()),
        libc: facts.and_then(|facts| facts.libc.as_deref()).map(|libc| private.token(libc)),
        interpreter: how.map(|how| how.as_str().to_owned()),
        probe: Probe::Python,
    }
}

/// The torch block.
pub(super) fn pytorch(facts: PytorchFacts, private: &Private) -> Pytorch {
    let token = |text: &str| private.token(text);
    let cuda_build = facts.cuda_build.as_deref().map(token);
    let hip_build = facts.hip_build.as_deref().map(token);
    let backend = match (&hip_build, &cuda_build) {
        (Some(_), _) => "rocm",
        (None, Some(_)) => "cuda",
        (None, None) => "none",
    };
    let version = facts.version.as_deref().map(token).filter(|version| !version.is_empty());
    Pytorch {
        version: version.unwrap_or_else(|| "unknown".to_owned()),
        cuda_build,
        hip_build,
        backend: backend.to_owned(),
        gpu_available: facts.gpu_available,
        visible_device_count: facts.visible_device_count,
        arch_list: facts.arch_list.map(|list| list.iter().take(MAX_LIST).map(|name| token(name)).collect()),
        devices: facts
            .devices
            .map(|list| list.into_iter().take(MAX_LIST).map(|facts| device(&facts, private)).collect()),
    }
}

fn device(facts: &DeviceFacts, private: &Private) -> Device {
    Device {
        index: facts.index,
        name: private.label(&facts.name),
        architecture: facts.architecture.as_deref().map(|name| private.token(name)),
        memory_bytes: facts.memory_bytes,
        uuid: None,
    }
}
