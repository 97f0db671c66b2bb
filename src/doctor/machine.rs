//! What of GPUs this machine shows, by its files alone.
//!
//! Main type: [`MachineFacts`]. Nothing is opened: what a process in a container may open is the checker's to find out.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cdi::{self, CdiSpec};
use crate::model::EngineFacts;

/// Where engines look for CDI specifications unless they are told otherwise.
/// Source: the CDI specification, "How to configure CDI".
const CDI_DIRECTORIES: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

/// What of GPUs a machine shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFacts {
    /// Device nodes of GPUs.
    pub nodes: Vec<NodeFacts>,
    /// Version of the loaded NVIDIA kernel driver; null where there is none.
    pub nvidia_driver: Option<String>,
    /// GPUs that AMD's kernel driver shows, by their architecture; null where the driver is not loaded.
    pub kfd_gpus: Option<Vec<String>>,
    /// CDI specifications.
    pub cdi_specs: Vec<CdiSpec>,
    /// Programs of the engine's runtimes that are not on this machine, by the runtime's name.
    pub missing_runtimes: Vec<String>,
}

/// One device node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFacts {
    /// Path.
    pub node: String,
    /// Permissions as octal digits, such as `660`.
    pub mode: String,
    /// User that owns it.
    pub uid: u32,
    /// Group that owns it: the number that `--group-add` takes.
    pub gid: u32,
    /// Major and minor number, such as `195:0`; null where it is no device node.
    pub number: Option<String>,
}

/// Whether an engine's machine is this one: a forwarded socket is local, and its engine is not.
#[must_use]
pub fn is_this_machine(engine: &EngineFacts) -> bool {
    let here = rustix::system::uname();
    let is = |name: &std::ffi::CStr, said: Option<&str>| {
        said.is_some_and(|said| name.to_bytes() == said.as_bytes())
    };
    is(here.release(), engine.kernel.as_deref()) && is(here.nodename(), engine.machine.as_deref())
}

impl MachineFacts {
    /// Looks at the machine whose root is `root`.
    #[must_use]
    pub fn look(root: &Path, engine: Option<&EngineFacts>) -> Self {
        let directories = cdi_directories(root, engine);
        // Podman lists every runtime that it has heard of, whether it is there or not.
        let docker = engine.filter(|engine| !engine.is_podman());
        let runtimes = docker.iter().flat_map(|engine| &engine.runtimes);
        let missing = runtimes.filter(|runtime| {
            runtime.path.as_deref().is_some_and(|path| !path.is_empty() && !is_program(root, path))
        });
        Self {
            nodes: nodes(root),
            nvidia_driver: nvidia_driver(root),
            kfd_gpus: kfd_gpus(root),
            cdi_specs: cdi::specs(root, &directories),
            missing_runtimes: missing.map(|runtime| runtime.name.clone()).collect(),
        }
    }
}

/// Each folder once, also where one is a link to another.
fn cdi_directories(root: &Path, engine: Option<&EngineFacts>) -> Vec<String> {
    let own = engine.iter().flat_map(|engine| engine.cdi_directories.iter().cloned());
    let mut seen: Vec<PathBuf> = Vec::new();
    CDI_DIRECTORIES
        .map(str::to_owned)
        .into_iter()
        .chain(own)
        .filter(|directory| {
            let real = fs::canonicalize(below(root, directory)).unwrap_or_else(|_| below(root, directory));
            let new = !seen.contains(&real);
            seen.push(real);
            new
        })
        .collect()
}

/// A path below another root.
pub(super) fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn nodes(root: &Path) -> Vec<NodeFacts> {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let mut names = listed(root, "/dev", |name| match name.strip_prefix("nvidia") {
        Some(rest) => number(rest) || matches!(rest, "ctl" | "-uvm" | "-uvm-tools" | "-modeset"),
        None => name == "kfd" || name == "dxg",
    });
    names.extend(listed(root, "/dev/nvidia-caps", |_| true));
    names.extend(listed(root, "/dev/dri", |name| name.strip_prefix("renderD").is_some_and(number)));
    names.into_iter().filter_map(|node| of_node(root, node)).collect()
}

fn listed(root: &Path, folder: &str, accept: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(below(root, folder)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| accept(name))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort_unstable();
    names
}

fn of_node(root: &Path, node: String) -> Option<NodeFacts> {
    let meta = fs::metadata(below(root, &node)).ok()?;
    let number = meta.file_type().is_char_device().then(|| {
        let device = meta.rdev();
        format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
    });
    Some(NodeFacts {
        node,
        mode: format!("{:o}", meta.mode() & 0o7777),
        uid: meta.uid(),
        gid: meta.gid(),
        number,
    })
}

/// The first line names the module and its version: the first word that begins with a digit and has a dot.
fn nvidia_driver(root: &Path) -> Option<String> {
    let text = fs::read_to_string(below(root, "/proc/driver/nvidia/version")).ok()?;
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// Each node of the topology that is a GPU names its architecture as a decimal number: 90402 is gfx942.
/// Source: the kernel's `amd/amdkfd/kfd_topology.c`, `gfx_target_version`.
fn kfd_gpus(root: &Path) -> Option<Vec<String>> {
    let folder = "/sys/class/kfd/kfd/topology/nodes";
    fs::metadata(below(root, folder)).ok()?;
    let nodes = listed(root, folder, |_| true);
    let version = |node: String| {
        let text = fs::read_to_string(below(root, &format!("{node}/properties"))).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("gfx_target_version "))?;
        line.trim().parse::<u32>().ok().filter(|version| *version > 0)
    };
    let gfx = |version: u32| format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100);
    Some(nodes.into_iter().filter_map(version).map(gfx).collect())
}

fn is_program(root: &Path, path: &str) -> bool {
    const PATH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let is_file = |path: &str| fs::metadata(below(root, path)).is_ok_and(|meta| meta.is_file());
    if path.contains('/') {
        is_file(path)
    } else {
        PATH.iter().any(|folder| is_file(&format!("{folder}/{path}")))
    }
}
