//! Where what was asked for, what the engine set and what the checker saw part.
//!
//! Main function: [`partings`]. Pure: it compares grants with the engine's inspect and with the report, and says at which
//! layer each grant that did not come through was lost.

use gpusweep_report::{Exposure, VISIBILITY_VARIABLES, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::nodes;
use super::verdict::report;
use crate::model::{Cell, Device, Grant, Observation, is_plain_runtime};

/// The layer at which something that was asked for was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The engine took the request and did not set it.
    Engine,
    /// The engine set it, and it did not reach the process.
    Container,
}

/// Something that was asked for and did not come through.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Parting {
    /// Where it was lost.
    pub layer: Layer,
    /// What was asked for, by its key in a matrix.
    pub requested: String,
    /// What there was in its place.
    pub found: String,
    /// Whether it decides on the GPUs that the container has, or sees.
    pub exposure: bool,
}

/// Every grant that did not come through, in the order of the matrix; empty where nothing was read back.
#[must_use]
pub fn partings(cell: &Cell, observation: &Observation) -> Vec<Parting> {
    let Some(applied) = observation.applied().filter(|applied| !applied.settings.is_empty()) else {
        return Vec::new();
    };
    let exposure = report(observation).and_then(|report| report.exposure.as_ref());
    let gpu_asked = match cell.device {
        Device::Gpu(_) => true,
        Device::Cpu => false,
    };
    let lost = |grant: &Grant| {
        let (layer, found) = match dropped(grant, &cell.visibility.grants, &applied.settings) {
            Some(found) => (Layer::Engine, found),
            None => (Layer::Container, unseen(grant, exposure.filter(|_| gpu_asked)?)?),
        };
        Some(Parting { layer, requested: label(grant), found, exposure: decides(grant) })
    };
    cell.visibility.grants.iter().filter_map(lost).collect()
}

/// The grant, by its key in a matrix.
fn label(grant: &Grant) -> String {
    match grant {
        Grant::DeviceRequest { .. } => "gpus".to_owned(),
        Grant::Cdi(name) => format!("cdi {name}"),
        Grant::DeviceNode { path, .. } => format!("devices {path}"),
        Grant::Runtime(name) => format!("runtime {name}"),
        Grant::Env { name, .. } | Grant::Unset(name) => format!("env {name}"),
        Grant::Group(gid) => format!("groups {gid}"),
        Grant::HostGroups => "groups host".to_owned(),
        Grant::ShmSize(bytes) => format!("shm_size {bytes}"),
        Grant::Ipc(mode) => format!("ipc {mode}"),
        Grant::Ulimit { name, .. } => format!("ulimits {name}"),
        Grant::Security(_) => "security".to_owned(),
        Grant::Privileged => "privileged".to_owned(),
    }
}

/// Whether a grant decides on which GPUs a container has, or a process in it sees.
fn decides(grant: &Grant) -> bool {
    match grant {
        Grant::Env { name, .. } | Grant::Unset(name) => VISIBILITY_VARIABLES.contains(&name.as_str()),
        Grant::Group(_) | Grant::HostGroups => true,
        Grant::DeviceRequest { .. }
        | Grant::Cdi(_)
        | Grant::DeviceNode { .. }
        | Grant::Runtime(_)
        | Grant::ShmSize(_)
        | Grant::Ipc(_)
        | Grant::Ulimit { .. }
        | Grant::Security(_)
        | Grant::Privileged => grant.exposes_gpu(),
    }
}

/// What the engine set in place of a grant; none where it set the grant, or where its answer cannot tell.
fn dropped(grant: &Grant, all: &[Grant], settings: &Map<String, Value>) -> Option<String> {
    let set = |key: &str| settings.get(key).unwrap_or(&Value::Null);
    let holds = match grant {
        Grant::DeviceRequest { count, ids, .. } => {
            items(set("device_requests")).any(|request| is_request(request, *count, ids))
        }
        Grant::Cdi(name) => has_cdi(name, all, settings),
        Grant::DeviceNode { path, .. } => has_device(path, set("devices")),
        Grant::Runtime(name) => same_runtime(name, set("runtime")),
        Grant::Env { name, value } => match set("env").get(name) {
            found if VISIBILITY_VARIABLES.contains(&name.as_str()) => {
                found.and_then(Value::as_str).is_some_and(|found| is_value(found, value))
            }
            // Others are not read back: they are nobody's business.
            _ => true,
        },
        Grant::Unset(name) => set("env").get(name).is_none(),
        Grant::Group(gid) => items(set("group_add")).any(|group| group == gid.to_string().as_str()),
        // The engine is sent the numbers, and there may be none.
        Grant::HostGroups | Grant::Security(_) => true,
        Grant::ShmSize(bytes) => set("shm_size").as_u64() == Some(*bytes),
        Grant::Ipc(mode) => same_ipc(mode, set("ipc_mode")),
        Grant::Ulimit { name, soft, hard } => items(set("ulimits")).any(|limit| {
            let is = |key: &str, value: i64| limit[key].as_i64() == Some(value);
            is_ulimit(name, &limit["Name"]) && is("Soft", *soft) && is("Hard", *hard)
        }),
        Grant::Privileged => set("privileged") == true,
    };
    (!holds).then(|| in_place_of(grant, settings))
}

fn in_place_of(grant: &Grant, settings: &Map<String, Value>) -> String {
    let key = match grant {
        Grant::DeviceRequest { .. } | Grant::Cdi(_) => "device_requests",
        Grant::DeviceNode { .. } => "devices",
        Grant::Runtime(_) => "runtime",
        Grant::Env { .. } | Grant::Unset(_) => "env",
        Grant::Group(_) | Grant::HostGroups => "group_add",
        Grant::ShmSize(_) => "shm_size",
        Grant::Ipc(_) => "ipc_mode",
        Grant::Ulimit { .. } => "ulimits",
        Grant::Security(_) => "security_opt",
        Grant::Privileged => "privileged",
    };
    let all = settings.get(key);
    let found = if let Grant::Env { name, .. } | Grant::Unset(name) = grant {
        all.and_then(|env| env.get(name))
    } else {
        all
    };
    found.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_request(request: &Value, count: i64, ids: &[String]) -> bool {
    let set: Vec<&str> = items(&request["DeviceIDs"]).filter_map(Value::as_str).collect();
    request["Driver"] != "cdi" && request["Count"].as_i64().unwrap_or(0) == count && set == *ids
}

/// Podman resolves a CDI name before it answers, and shows the nodes in its place.
fn has_cdi(name: &str, all: &[Grant], settings: &Map<String, Value>) -> bool {
    let list = |key: &str| items(settings.get(key).unwrap_or(&Value::Null));
    let named = |request: &Value| items(&request["DeviceIDs"]).any(|id| id == name);
    let nodes_of_its_own = !all.iter().any(|grant| matches!(grant, Grant::DeviceNode { .. }));
    list("device_requests").any(named) || (nodes_of_its_own && list("devices").next().is_some())
}

/// What was read back has been cleaned, which hides a UUID.
fn is_value(found: &str, value: &str) -> bool {
    found == value || found == one_line(value, &[])
}

/// A folder may be shown as it is, or as the nodes in it. Read by the path inside, which is the one that was asked for:
/// outside, Podman names the first node that has the same number.
fn has_device(path: &str, devices: &Value) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    items(devices)
        .filter_map(|device| device["PathInContainer"].as_str())
        .any(|inside| inside == path || inside.starts_with(&folder))
}

/// Podman 4 says `shareable` of every container, whatever it set.
fn same_ipc(mode: &str, set: &Value) -> bool {
    set == mode || set == "shareable"
}

/// Podman gives limits their names in C.
fn is_ulimit(name: &str, set: &Value) -> bool {
    let set = set.as_str().unwrap_or_default();
    set.strip_prefix("RLIMIT_").unwrap_or(set).eq_ignore_ascii_case(name)
}

/// Plain runtimes expose nothing of their own: one in place of another makes no difference to a GPU.
fn same_runtime(name: &str, set: &Value) -> bool {
    let set = set.as_str().unwrap_or_default();
    set == name || (is_plain_runtime(name) && is_plain_runtime(set))
}

/// What the checker saw in place of a grant that the engine set; none where it saw it, or cannot tell.
fn unseen(grant: &Grant, exposure: &Exposure) -> Option<String> {
    match grant {
        Grant::DeviceRequest { .. } | Grant::Cdi(_) | Grant::Runtime(_) => no_node(grant, exposure),
        Grant::DeviceNode { path, .. } if nodes::is_gpu(path) => unopened(path, exposure),
        Grant::Env { name, value } => {
            let seen = exposure.variables.get(name)?.as_deref();
            let same = seen.is_some_and(|seen| is_value(seen, value));
            (!same).then(|| seen.map_or_else(|| "unset".to_owned(), |seen| format!("`{seen}`")))
        }
        Grant::Unset(name) => exposure.variables.get(name)?.as_deref().map(|seen| format!("`{seen}`")),
        Grant::Group(gid) => (!exposure.groups.contains(gid)).then(|| format!("{:?}", exposure.groups)),
        Grant::Ulimit { name, soft, .. } if name == "memlock" => {
            let seen = exposure.memlock_bytes;
            (seen != u64::try_from(*soft).ok())
                .then(|| seen.map_or_else(|| "unlimited".to_owned(), |seen| seen.to_string()))
        }
        Grant::ShmSize(bytes) => {
            let seen = exposure.shm_bytes?;
            // The kernel rounds up to whole pages.
            (seen.abs_diff(*bytes) >= 65_536).then(|| seen.to_string())
        }
        Grant::DeviceNode { .. }
        | Grant::HostGroups
        | Grant::Ipc(_)
        | Grant::Ulimit { .. }
        | Grant::Security(_)
        | Grant::Privileged => None,
    }
}

fn no_node(grant: &Grant, exposure: &Exposure) -> Option<String> {
    let vendor = grant.vendor()?;
    let there: Vec<String> = nodes::present(exposure, Some(vendor))
        .filter(|node| node.open != "ok")
        .map(|node| format!("{} gives {}", node.node, node.open))
        .collect();
    let any = nodes::present(exposure, Some(vendor)).next().is_some();
    match (any, there.is_empty()) {
        (false, _) => Some(format!("no {} device node", vendor.as_str())),
        (true, true) => None,
        (true, false) => Some(there.join(", ")),
    }
}

fn unopened(path: &str, exposure: &Exposure) -> Option<String> {
    let folder = format!("{}/", path.trim_end_matches('/'));
    let of_path = |node: &&gpusweep_report::Node| node.node == path || node.node.starts_with(&folder);
    // A folder holds nodes of displays too, at which the checker does not look.
    let looked_at: Vec<_> = exposure.nodes.iter().filter(of_path).collect();
    let failing = looked_at.iter().filter(|node| node.open != "ok");
    let said: Vec<String> = failing.map(|node| format!("{} gives {}", node.node, node.open)).collect();
    (!said.is_empty()).then(|| said.join(", "))
}
