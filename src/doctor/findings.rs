//! What follows from the facts of a host: what is missing, and what to do.
//!
//! Main function: [`findings`]. Pure; each rule is one function of [`RULES`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MachineFacts;
use crate::model::EngineFacts;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Some way of exposing a GPU cannot work here.
    Fault,
    /// Worth knowing.
    Note,
}

/// Something that follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name.
    pub id: String,
    /// How much it weighs.
    pub weight: Weight,
    /// What was seen.
    pub seen: String,
    /// What to do, beginning with a verb.
    pub next_action: String,
}

type Rule = fn(&Seen<'_>) -> Vec<Finding>;

/// Every rule, in the order in which findings of one weight are listed.
const RULES: [Rule; 12] = [
    engine_too_old_for_cdi,
    podman_drops_requests,
    nvidia_without_a_way_in,
    nvidia_half_loaded,
    amd_half_loaded,
    runtime_without_program,
    cdi_unreadable,
    cdi_stale,
    cdi_twice,
    groups,
    rootless,
    default_runtime,
];

/// What the rules look at.
struct Seen<'a> {
    engine: Option<&'a EngineFacts>,
    machine: Option<&'a MachineFacts>,
}

/// What follows, faults first.
#[must_use]
pub fn findings(
    engine: Option<&EngineFacts>,
    unreachable: Option<&str>,
    machine: Option<&MachineFacts>,
) -> Vec<Finding> {
    let seen = Seen { engine, machine };
    let unreachable = unreachable.map(|words| {
        fault(
            "engine-unreachable",
            words.to_owned(),
            "Start the engine where it runs (`systemctl start docker`), or name one that answers with `--host`",
        )
    });
    let mut found: Vec<Finding> =
        unreachable.into_iter().chain(RULES.iter().flat_map(|rule| rule(&seen))).collect();
    if machine.is_some_and(shows_no_gpu) {
        found.push(note("no-gpu", "this machine shows no GPU", "Run `gpusweep doctor` where the GPUs are"));
    }
    found.sort_by_key(|finding| finding.weight);
    found
}

fn shows_no_gpu(machine: &MachineFacts) -> bool {
    let driver = machine.nvidia_driver.is_some() || machine.kfd_gpus.is_some();
    machine.nodes.is_empty() && machine.cdi_specs.is_empty() && !driver
}

fn fault(id: &str, seen: String, next_action: impl Into<String>) -> Finding {
    Finding { id: id.to_owned(), weight: Weight::Fault, seen, next_action: next_action.into() }
}

fn note(id: &str, seen: impl Into<String>, next_action: impl Into<String>) -> Finding {
    Finding { id: id.to_owned(), weight: Weight::Note, seen: seen.into(), next_action: next_action.into() }
}

impl Seen<'_> {
    fn has_node(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.machine.is_some_and(|machine| machine.nodes.iter().any(|node| fits(&node.node)))
    }

    fn has_runtime(&self, name: &str) -> bool {
        self.engine.is_some_and(|engine| engine.runtimes.iter().any(|runtime| runtime.name == name))
    }

    fn has_cdi(&self, kind: &str) -> bool {
        let known = self.engine.iter().flat_map(|engine| &engine.cdi_devices);
        known.into_iter().any(|device| device.starts_with(kind))
    }

    fn specs(&self) -> impl Iterator<Item = &super::CdiSpec> {
        self.machine.iter().flat_map(|machine| &machine.cdi_specs)
    }
}

/// CDI came with Docker 25 behind a switch, and is on from 28.2 on.
fn engine_too_old_for_cdi(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(engine) = seen.engine.filter(|engine| !engine.is_podman() && engine.cdi_directories.is_empty())
    else {
        return Vec::new();
    };
    let version = engine.version.as_deref().unwrap_or("unknown");
    let finding = match engine.release() {
        Some(release) if release < (25, 0) => note(
            "no-cdi",
            format!("Docker {version} has no CDI: names such as nvidia.com/gpu=all are refused"),
            "Expose GPUs with `gpus`, `runtime` or `devices` here, or upgrade to Docker 25 or later",
        ),
        Some(_) | None => note(
            "cdi-switched-off",
            format!("Docker {version} has CDI, and it is not switched on"),
            "Set `{\"features\": {\"cdi\": true}}` in /etc/docker/daemon.json, and restart the daemon",
        ),
    };
    vec![finding]
}

fn podman_drops_requests(seen: &Seen<'_>) -> Vec<Finding> {
    let podman = seen.engine.filter(|engine| engine.is_podman());
    let said = |engine: &EngineFacts| {
        note(
            "podman-drops-requests",
            format!(
                "Podman {} takes `gpus` and unknown runtimes without an error, and leaves them out",
                engine.version.as_deref().unwrap_or_default()
            ),
            "Expose GPUs with `devices`, or from Podman 5.4 on with `cdi`, on this host",
        )
    };
    podman.map(said).into_iter().collect()
}

fn nvidia_without_a_way_in(seen: &Seen<'_>) -> Vec<Finding> {
    let there = seen.has_node(|node| node.starts_with("/dev/nvidia"));
    let way = seen.has_runtime("nvidia") || seen.has_cdi("nvidia.com/");
    if !there || way || seen.engine.is_none() {
        return Vec::new();
    }
    vec![fault(
        "nvidia-not-registered",
        "NVIDIA's device nodes are there, and this engine knows neither the runtime `nvidia` nor a CDI device of NVIDIA"
            .to_owned(),
        "Install the NVIDIA Container Toolkit, run `nvidia-ctk runtime configure --runtime=docker`, and restart the daemon",
    )]
}

fn nvidia_half_loaded(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(machine) = seen.machine else { return Vec::new() };
    let has = |name: &str| seen.has_node(|node| node == name);
    if has("/dev/nvidiactl") && !has("/dev/nvidia-uvm") {
        return vec![fault(
            "nvidia-uvm-missing",
            "/dev/nvidiactl is there, and /dev/nvidia-uvm is not: CUDA cannot start".to_owned(),
            "Run `nvidia-modprobe -u -c=0` on the host",
        )];
    }
    match &machine.nvidia_driver {
        Some(version) if !has("/dev/nvidiactl") => vec![fault(
            "nvidia-nodes-missing",
            format!("NVIDIA's kernel driver {version} is loaded, and it has no device nodes"),
            "Run `nvidia-modprobe -u -c=0`, or `nvidia-smi` once, on the host",
        )],
        Some(_) | None => Vec::new(),
    }
}

fn amd_half_loaded(seen: &Seen<'_>) -> Vec<Finding> {
    let (kfd, render) = (
        seen.has_node(|node| node == "/dev/kfd"),
        seen.has_node(|node| node.starts_with("/dev/dri/renderD")),
    );
    let none = seen.machine.and_then(|machine| machine.kfd_gpus.as_ref()).is_some_and(Vec::is_empty);
    if kfd && (!render || none) {
        return vec![fault(
            "kfd-without-gpu",
            "/dev/kfd is there, and no GPU that computes is behind it".to_owned(),
            "Look for amdgpu in the kernel's log (`dmesg | grep -i -E 'kfd|amdgpu'`): the GPU may not be supported",
        )];
    }
    Vec::new()
}

fn runtime_without_program(seen: &Seen<'_>) -> Vec<Finding> {
    let missing = seen.machine.iter().flat_map(|machine| &machine.missing_runtimes);
    let said = |name: &String| {
        fault(
            "runtime-without-program",
            format!("the runtime `{name}` is registered, and its program is not there"),
            format!("Install the program of `{name}`, or take it out of /etc/docker/daemon.json"),
        )
    };
    missing.map(said).collect()
}

fn cdi_unreadable(seen: &Seen<'_>) -> Vec<Finding> {
    let said = |spec: &super::CdiSpec| {
        Some(fault(
            "cdi-unreadable",
            format!("{} cannot be read: {}", spec.file, spec.problem.as_ref()?),
            format!("Generate it again: {}", generate(&spec.file, spec.kind.as_deref())),
        ))
    };
    seen.specs().filter_map(said).collect()
}

fn cdi_stale(seen: &Seen<'_>) -> Vec<Finding> {
    let stale = seen.specs().filter(|spec| !spec.stale.is_empty());
    let said = |spec: &super::CdiSpec| {
        fault(
            "cdi-stale",
            format!("{} names what is not there: {}", spec.file, spec.stale.join(", ")),
            format!("Generate it again: {}", generate(&spec.file, spec.kind.as_deref())),
        )
    };
    stale.map(said).collect()
}

/// The command that makes a specification of this kind.
fn generate(file: &str, kind: Option<&str>) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let tool = match kind {
        Some(kind) if kind.starts_with("amd.com/") => "amd-ctk",
        // What cannot be read is told by its name alone.
        None if name.contains("amd") => "amd-ctk",
        Some(_) | None => "nvidia-ctk",
    };
    format!("`{tool} cdi generate --output={file}`")
}

fn cdi_twice(seen: &Seen<'_>) -> Vec<Finding> {
    let all: Vec<(&String, &String)> =
        seen.specs().flat_map(|spec| spec.devices.iter().map(|device| (device, &spec.file))).collect();
    let mut found = Vec::new();
    for (index, (device, file)) in all.iter().enumerate() {
        if let Some((_, other)) =
            all[..index].iter().find(|(earlier, other)| earlier == device && other != file)
        {
            found.push(fault(
                "cdi-device-twice",
                format!("`{device}` stands in {other} and in {file}"),
                format!("Remove one of the two files, such as `rm {file}`"),
            ));
        }
    }
    found
}

fn groups(seen: &Seen<'_>) -> Vec<Finding> {
    let nodes = seen.machine.iter().flat_map(|machine| &machine.nodes);
    let closed = nodes.filter(|node| node.gid != 0 && !node.mode.ends_with('6'));
    let mut gids: Vec<u32> = closed.map(|node| node.gid).collect();
    gids.sort_unstable();
    gids.dedup();
    if gids.is_empty() {
        return Vec::new();
    }
    let flags: Vec<String> = gids.iter().map(|gid| format!("--group-add {gid}")).collect();
    vec![note(
        "groups",
        "GPU nodes belong to groups that a user other than root needs, by number".to_owned(),
        format!("Pass `{}` to `docker run`, or `groups: host` in a matrix", flags.join(" ")),
    )]
}

fn rootless(seen: &Seen<'_>) -> Vec<Finding> {
    let rootless = seen.engine.is_some_and(|engine| engine.rootless);
    let closed =
        seen.machine.iter().flat_map(|machine| &machine.nodes).find(|node| !node.mode.ends_with('6'));
    match closed {
        Some(node) if rootless => vec![fault(
            "rootless-closed-node",
            format!("the engine runs without root's rights, and {} has mode {}", node.node, node.mode),
            format!("Add the user of the engine to group {} on the host, and log in again", node.gid),
        )],
        Some(_) | None => Vec::new(),
    }
}

fn default_runtime(seen: &Seen<'_>) -> Vec<Finding> {
    let default = seen.engine.and_then(|engine| engine.default_runtime.as_deref());
    match default.filter(|name| *name == "nvidia" || *name == "amd") {
        Some(name) => vec![note(
            "gpu-runtime-is-default",
            format!("`{name}` is the default runtime: containers see the GPUs that their image asks for"),
            "Use the preset `none` for isolation: it asks for `runc`, and for no GPU",
        )],
        None => Vec::new(),
    }
}
