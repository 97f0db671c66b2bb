//! The worker's facts as the report carries them: bounded, and free of anything but what they are for.
//!
//! Main functions: [`runtime`], [`pytorch`] and [`driver`].

use gpusweep_report::wire::{DeviceFacts, DriverFacts, PytorchFacts, RuntimeFacts};
use gpusweep_report::{Chosen, Device, Driver, Probe, Pytorch, Runtime};

use crate::interpreter::How;
use crate::privacy::{Private, token};

/// More than any build or machine has.
const MAX_LIST: usize = 64;

/// The runtime block; the system's part of it is known even where no interpreter ran.
pub(super) fn runtime(
    probe: Probe,
    facts: Option<&RuntimeFacts>,
    how: Option<How>,
    private: &Private,
) -> Runtime {
    let system = rustix::system::uname();
    let told = |text: Option<&String>| text.map(|text| private.token(text));
    Runtime {
        python_version: told(facts.and_then(|facts| facts.python_version.as_ref())),
        os_family: token(&system.sysname().to_string_lossy()),
        arch: token(&system.machine().to_string_lossy()),
        libc: told(facts.and_then(|facts| facts.libc.as_ref())),
        interpreter: how.map(|how| how.as_str().to_owned()),
        probe,
        chosen: Chosen::Asked,
        binding: told(facts.and_then(|facts| facts.binding.as_ref())),
        torch_elsewhere: None,
        torch_shadowed: facts.is_some_and(|facts| facts.torch_shadowed),
    }
}

/// The driver block.
pub(super) fn driver(facts: DriverFacts, private: &Private) -> Driver {
    Driver {
        api: private.token(&facts.api),
        library: facts.library.map(|name| private.token(&name)),
        version: facts.version,
        init_result: facts.init_result,
        init_name: facts.init_name.map(|name| private.token(&name)),
        device_count: facts.device_count,
        devices: facts.devices.map(|list| devices(list, private)),
    }
}

fn devices(list: Vec<DeviceFacts>, private: &Private) -> Vec<Device> {
    list.into_iter().take(MAX_LIST).map(|facts| device(&facts, private)).collect()
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
        devices: facts.devices.map(|list| devices(list, private)),
    }
}

fn device(facts: &DeviceFacts, private: &Private) -> Device {
    Device {
        index: facts.index,
        name: private.label(&facts.name),
        architecture: facts.architecture.as_deref().map(|name| private.token(name)),
        memory_bytes: facts.memory_bytes,
        uuid: facts.uuid.as_deref().and_then(|uuid| private.uuid(uuid)),
    }
}
