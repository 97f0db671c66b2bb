//! The driver probe: the vendor's driver, without torch.
//!
//! Main functions: [`find`] and [`probe`].

use std::path::Path;

use gpusweep_report::wire::Target;
use gpusweep_report::{Code, Exposure, Probe, Stage};

use super::native;
use crate::cause;
use crate::files::{below, names_in};
use crate::worker::{Context, DRIVER, Probed};

/// Which driver to ask: the one whose library is here, else the one that a device node or a toolkit in the image speaks
/// of, else none. Where both are, the one of which a node opens, else NVIDIA's.
pub(super) fn find(exposure: Option<&Exposure>, root: &Path) -> Option<Target> {
    let exposure = exposure?;
    let library = |prefix: &str| exposure.libraries.iter().any(|library| library.name.starts_with(prefix));
    let node = |prefix: &str, accept: fn(&str) -> bool| {
        exposure.nodes.iter().any(|node| node.node.starts_with(prefix) && accept(&node.open))
    };
    let signs = [
        (library("libcuda.so") && node("/dev/nvidia", opens), Target::Cuda),
        (library("libamdhip64.so") && node("/dev/kfd", opens), Target::Hip),
        (library("libcuda.so"), Target::Cuda),
        (library("libamdhip64.so"), Target::Hip),
        (node("/dev/nvidia", exists), Target::Cuda),
        (node("/dev/kfd", exists), Target::Hip),
        (has_toolkit(root, "cuda"), Target::Cuda),
        (has_toolkit(root, "rocm"), Target::Hip),
    ];
    signs.into_iter().find(|(holds, _)| *holds).map(|(_, target)| target)
}

fn opens(open: &str) -> bool {
    open == "ok"
}

fn exists(open: &str) -> bool {
    open != "ENOENT"
}

/// Where base images of the vendors have their toolkits.
fn has_toolkit(root: &Path, name: &str) -> bool {
    let folder = if name == "cuda" { "/usr/local" } else { "/opt" };
    names_in(&below(root, folder)).iter().any(|found| found.strip_prefix(name).is_some_and(is_version))
}

/// `cuda`, `cuda-12.8`, `rocm-6.4.4`.
fn is_version(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('-')
}

/// Runs the check with a driver.
pub(super) fn probe(context: Context<'_>, target: Option<&Target>, without: &[&str]) -> Probed {
    let Some(target) = target else {
        let message = "there is no driver: neither libcuda.so.1 nor libamdhip64.so is where the loader looks";
        return native::not_found(context, Probe::Driver, Stage::Driver, Code::GpuUnavailable, message);
    };
    let mut probed = native::probe(context, Probe::Driver, DRIVER, target, without);
    if !probed.verdict.code.passed() {
        let result = probed.driver.as_ref().and_then(|driver| driver.init_result);
        probed.cause = result.and_then(cause::driver_start);
    }
    probed
}

#[cfg(test)]
mod tests {
    use gpusweep_report::{Library, Node};

    use super::*;

    fn exposure(libraries: &[&str], nodes: &[(&str, &str)]) -> Exposure {
        Exposure {
            libraries: libraries.iter().map(|name| Library { name: (*name).into(), compat: false }).collect(),
            nodes: nodes
                .iter()
                .map(|(node, open)| Node { node: (*node).into(), open: (*open).into(), gid: None })
                .collect(),
            ..Exposure::default()
        }
    }

    #[test]
    fn the_driver_that_is_here_is_asked() {
        let root = tempfile::tempdir().unwrap();
        let found =
            |libraries: &[&str], nodes: &[(&str, &str)]| find(Some(&exposure(libraries, nodes)), root.path());
        assert_eq!(found(&[], &[("/dev/nvidiactl", "ENOENT"), ("/dev/kfd", "ENOENT")]), None);
        assert_eq!(found(&["libcuda.so.580.1"], &[]), Some(Target::Cuda));
        assert_eq!(found(&["libamdhip64.so.6"], &[]), Some(Target::Hip));
        assert_eq!(found(&["libcuda.so.1", "libamdhip64.so.6"], &[]), Some(Target::Cuda));
        assert_eq!(found(&["libcuda.so.1", "libamdhip64.so.6"], &[("/dev/kfd", "ok")]), Some(Target::Hip));
        assert_eq!(found(&[], &[("/dev/nvidia0", "EPERM")]), Some(Target::Cuda));
        assert_eq!(found(&[], &[("/dev/kfd", "EACCES")]), Some(Target::Hip));
        assert_eq!(find(None, root.path()), None);
    }

    #[test]
    fn a_toolkit_in_the_image_speaks_of_its_driver() {
        for (folder, target) in [("usr/local/cuda-12.8", Target::Cuda), ("opt/rocm-6.4.4", Target::Hip)] {
            let root = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(root.path().join("usr/local/cudarc")).unwrap();
            assert_eq!(find(Some(&exposure(&[], &[])), root.path()), None);
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
            assert_eq!(find(Some(&exposure(&[], &[])), root.path()), Some(target));
        }
    }
}
