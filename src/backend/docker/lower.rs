//! From a cell to the request that makes its container.
//!
//! Main function: [`container`]. What it sends for a grant is what `docker run` sends for the flag that [`super::line`]
//! prints; both match on every grant, so a new one cannot be forgotten in either.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, DeviceMapping, DeviceRequest, HealthConfig, HostConfig, HostConfigLogConfig,
    ResourcesUlimits,
};

use gpusweep_report::frame::{self, Key};
use serde::de::IgnoredAny;

use super::deliver::Delivery;
use super::refusal::fault;
use super::{LABEL, LABEL_CELL, LABEL_DEADLINE, LABEL_OWNER};
use crate::backend::owner;
use crate::model::{Cell, Device, Fault, FaultKind, Grant};

/// Processes and threads that a cell may have. Generous: libraries start some threads for each processor.
pub(super) const PIDS: i64 = 4096;

/// The request for one attempt at a cell. The image's own command tells the checker which interpreter is the image's.
/// The fault is a file that the cell names and that cannot be sent.
pub(super) fn container(
    cell: &Cell,
    run: &str,
    delivery: &Delivery,
    image_command: &[String],
) -> Result<ContainerCreateBody, Fault> {
    let mut host = confined(cell, delivery);
    let mut env = Vec::new();
    for grant in &cell.visibility.grants {
        apply(grant, &mut host, &mut env)?;
    }
    let mut arguments = checker_arguments(cell);
    arguments.extend(image_command.iter().map(|word| format!("--image-command={word}")));
    Ok(ContainerCreateBody {
        image: Some(cell.image.reference.clone()),
        entrypoint: Some(vec![delivery.program()]),
        cmd: Some(arguments),
        env: Some(env),
        labels: Some(labels(run, Some(cell))),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        attach_stdout: Some(false),
        attach_stderr: Some(false),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

/// Hands the attempt's key to its checker, in place of whatever a cell calls so. Not on the command line, which every
/// process can read.
pub(super) fn hand_over(key: &Key, body: &mut ContainerCreateBody) {
    let env = body.env.get_or_insert_default();
    env.retain(|pair| pair.split('=').next() != Some(frame::VARIABLE));
    env.push(format!("{}={}", frame::VARIABLE, key.to_variable()));
}

/// What every cell is denied, whatever it is granted.
fn confined(cell: &Cell, delivery: &Delivery) -> HostConfig {
    let memory = cell.limits.memory.and_then(|bytes| i64::try_from(bytes).ok());
    // A privileged container with its capabilities dropped would be neither one thing nor the other.
    let confined = !cell.visibility.privileged();
    HostConfig {
        network_mode: Some("none".into()),
        cap_drop: confined.then(|| vec!["ALL".into()]),
        security_opt: confined.then(|| vec!["no-new-privileges".into()]),
        pids_limit: Some(PIDS),
        memory,
        // Without this the container may swap as much again, and a limit is none.
        memory_swap: memory,
        // The report is read from the log, so the log must be one that can be read back whole.
        log_config: Some(HostConfigLogConfig { typ: Some("json-file".into()), config: None }),
        mounts: Some(vec![delivery.mounted(true)]),
        ..HostConfig::default()
    }
}

fn apply(grant: &Grant, host: &mut HostConfig, env: &mut Vec<String>) -> Result<(), Fault> {
    match grant {
        Grant::DeviceRequest { driver, count, ids, capabilities } => {
            push(&mut host.device_requests, device_request(driver, *count, ids, capabilities));
        }
        Grant::Cdi(name) => cdi(name, host.device_requests.get_or_insert_default()),
        Grant::DeviceNode { path, permissions } => {
            let mapping = DeviceMapping {
                path_on_host: Some(path.clone()),
                path_in_container: Some(path.clone()),
                cgroup_permissions: Some(permissions.clone()),
            };
            push(&mut host.devices, mapping);
        }
        Grant::Runtime(name) => host.runtime = Some(name.clone()),
        Grant::Env { name, value } => env.push(format!("{name}={value}")),
        // A name alone takes the variable away, whatever the image sets it to.
        Grant::Unset(name) => env.push(name.clone()),
        Grant::Group(gid) => push(&mut host.group_add, gid.to_string()),
        Grant::HostGroups => {
            host_groups().into_iter().for_each(|gid| push(&mut host.group_add, gid.to_string()));
        }
        Grant::ShmSize(bytes) => host.shm_size = i64::try_from(*bytes).ok(),
        Grant::Ipc(mode) => host.ipc_mode = Some(mode.clone()),
        Grant::Ulimit { name, soft, hard } => {
            let limit = ResourcesUlimits { name: Some(name.clone()), soft: Some(*soft), hard: Some(*hard) };
            push(&mut host.ulimits, limit);
        }
        Grant::Security(option) => security(option, host)?,
        Grant::Privileged => host.privileged = Some(true),
    }
    Ok(())
}

/// What the client makes of `--gpus`: the capability `gpu` is always among those asked for.
fn device_request(driver: &str, count: i64, ids: &[String], capabilities: &[String]) -> DeviceRequest {
    let mut wanted = capabilities.to_vec();
    if !wanted.iter().any(|name| name == "gpu") {
        wanted.push("gpu".into());
    }
    DeviceRequest {
        driver: Some(driver.to_owned()),
        count: Some(count),
        device_ids: (!ids.is_empty()).then(|| ids.to_vec()),
        capabilities: Some(vec![wanted]),
        options: Some(HashMap::new()),
    }
}

/// What the client makes of `--device` with CDI names: one request for all of them, without a capability.
fn cdi(name: &str, requests: &mut Vec<DeviceRequest>) {
    let of_devices = |request: &&mut DeviceRequest| {
        request.driver.as_deref() == Some("cdi") && request.capabilities.is_none()
    };
    match requests.iter_mut().find(of_devices) {
        Some(request) => push(&mut request.device_ids, name.to_owned()),
        None => requests.push(DeviceRequest {
            driver: Some("cdi".into()),
            count: Some(0),
            device_ids: Some(vec![name.to_owned()]),
            ..DeviceRequest::default()
        }),
    }
}

/// The engine takes a seccomp profile by its content; like `docker run`, a matrix names the file. One option is none to
/// the engine: the client says by empty lists that no path of the system is hidden.
fn security(option: &str, host: &mut HostConfig) -> Result<(), Fault> {
    match profile(option) {
        Some(path) => push(&mut host.security_opt, format!("seccomp={}", seccomp(path)?)),
        None if option == "systempaths=unconfined" => {
            host.masked_paths = Some(Vec::new());
            host.readonly_paths = Some(Vec::new());
        }
        None => push(&mut host.security_opt, option.to_owned()),
    }
    Ok(())
}

/// The file of the seccomp profile that an option names.
pub(super) fn profile(option: &str) -> Option<&str> {
    option.strip_prefix("seccomp=").filter(|profile| !matches!(*profile, "unconfined" | "builtin"))
}

/// The profile in one line, as the client sends it.
fn seccomp(path: &str) -> Result<String, Fault> {
    let fault =
        |why: &dyn Display| fault(FaultKind::LaunchRefused, &format!("the seccomp profile `{path}` {why}"));
    let text =
        std::fs::read_to_string(path).map_err(|error| fault(&format_args!("cannot be read: {error}")))?;
    serde_json::from_str::<IgnoredAny>(&text).map_err(|error| fault(&format_args!("is no JSON: {error}")))?;
    Ok(compact(&text))
}

/// JSON without the white space between its tokens.
fn compact(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keep = move |letter: &char| {
        let quote = *letter == '"' && !escaped;
        escaped = inside && !escaped && *letter == '\\';
        inside ^= quote;
        inside || quote || !letter.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

fn push<T>(list: &mut Option<Vec<T>>, item: T) {
    list.get_or_insert_default().push(item);
}

/// Numeric groups that own this machine's AMD device nodes, in order and once each; none where there are no nodes.
pub(super) fn host_groups() -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let entries = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten().map(|entry| entry.path());
    // Beside the nodes there are folders of links to them.
    let is_node = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("render") || name.starts_with("card")
    };
    let nodes = std::iter::once("/dev/kfd".into()).chain(entries.filter(is_node));
    let mut groups: Vec<u32> =
        nodes.filter_map(|node| std::fs::metadata(node).ok()).map(|meta| meta.gid()).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Time beyond a cell's own deadline in which its container may still have to be collected and removed.
const MARGIN: Duration = Duration::from_secs(600);

/// Labels of what belongs to a run and, for a container, to a cell.
pub(super) fn labels(run: &str, cell: Option<&Cell>) -> HashMap<String, String> {
    let mut labels =
        HashMap::from([(LABEL.to_owned(), run.to_owned()), (LABEL_OWNER.to_owned(), owner::this())]);
    if let Some(cell) = cell {
        let left = i64::try_from((cell.limits.cell_timeout + MARGIN).as_secs()).unwrap_or(i64::MAX);
        let deadline = jiff::Timestamp::now().as_second().saturating_add(left);
        labels.insert(LABEL_CELL.to_owned(), cell.id().to_string());
        labels.insert(LABEL_DEADLINE.to_owned(), deadline.to_string());
    }
    labels
}

/// The checker's arguments for a cell.
pub(in crate::backend) fn checker_arguments(cell: &Cell) -> Vec<String> {
    let mut arguments = match cell.device {
        Device::Cpu => vec!["--device".to_owned(), "cpu".to_owned()],
        Device::Gpu(index) => vec!["--device-index".to_owned(), index.to_string()],
    };
    arguments.extend(["--timeout".to_owned(), cell.checks.timeout_s.to_string()]);
    arguments.extend(["--probe".to_owned(), cell.checks.probe.as_str().to_owned()]);
    if cell.checks.host_check {
        arguments.push("--host-check".to_owned());
    }
    if let Some(python) = &cell.checks.python {
        arguments.extend(["--python".to_owned(), python.clone()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{CellParts, Visibility};
    use crate::testing;

    fn sent(grants: Vec<Grant>) -> Value {
        let parts = CellParts {
            visibility: Visibility { name: "it".into(), grants },
            ..testing::parts("it", "it", &[])
        };
        serde_json::to_value(
            container(&Cell::new(parts), "run", &Delivery::of("run", "volume", "/place"), &[])
                .unwrap()
                .host_config,
        )
        .unwrap()
    }

    /// The expected values are what Docker's own client was seen to send.
    #[test]
    fn exposures_are_sent_as_the_docker_client_sends_them() {
        let request = |driver: &str, count: i64, ids: &[&str], capabilities: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let grant = Grant::DeviceRequest {
                driver: driver.into(),
                count,
                ids: owned(ids),
                capabilities: owned(capabilities),
            };
            sent(vec![grant])["DeviceRequests"][0].clone()
        };
        let all = json!({ "Driver": "", "Count": -1, "Capabilities": [["gpu"]], "Options": {} });
        assert_eq!(request("", -1, &[], &[]), all);
        let two = request("", 0, &["0", "1"], &["compute", "utility"]);
        assert_eq!((&two["Count"], &two["DeviceIDs"]), (&json!(0), &json!(["0", "1"])));
        assert_eq!(two["Capabilities"], json!([["compute", "utility", "gpu"]]));
        let named = |names: &[&str]| names.iter().map(|name| Grant::Cdi((*name).into())).collect();
        let cdi =
            json!([{ "Driver": "cdi", "Count": 0, "DeviceIDs": ["nvidia.com/gpu=0", "amd.com/gpu=1"] }]);
        assert_eq!(sent(named(&["nvidia.com/gpu=0", "amd.com/gpu=1"]))["DeviceRequests"], cdi);
    }

    #[test]
    fn a_profile_is_sent_by_its_content_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("profile.json");
        let option = vec![Grant::Security(format!("seccomp={}", file.display()))];
        std::fs::write(&file, "{ \"a b\\\" \\\\\" :\n\t[ 1 , \"\\\\\" , -2.50 ] }\n").unwrap();
        let sent = sent(option.clone())["SecurityOpt"].clone();
        assert_eq!(sent, json!(["no-new-privileges", "seccomp={\"a b\\\" \\\\\":[1,\"\\\\\",-2.50]}"]));
        let fault = |option: &[Grant]| {
            let visibility = Visibility { name: "it".into(), grants: option.to_vec() };
            let cell = Cell::new(CellParts { visibility, ..testing::parts("it", "it", &[]) });
            container(&cell, "run", &Delivery::of("run", "volume", "/place"), &[]).unwrap_err()
        };
        std::fs::write(&file, "{").unwrap();
        assert!(fault(&option).message.contains("profile.json` is no JSON"), "{:?}", fault(&option));
        std::fs::remove_file(&file).unwrap();
        assert!(fault(&option).message.contains("cannot be read: No such file"), "{:?}", fault(&option));
    }

    /// An engine makes a volume that is not there, and would make it without a label.
    #[test]
    fn a_volume_that_is_made_by_being_mounted_bears_the_runs_label() {
        let volume = &sent(Vec::new())["Mounts"][0];
        assert_eq!(volume["VolumeOptions"]["Labels"][LABEL], "run");
        assert_eq!(volume["VolumeOptions"]["NoCopy"], true);
    }

    #[test]
    fn a_privileged_cell_keeps_its_own_security_options() {
        let options = vec![Grant::Security("label=disable".into()), Grant::Privileged];
        let host = sent(options);
        assert_eq!(host["Privileged"], true);
        assert_eq!(host["SecurityOpt"], json!(["label=disable"]));
        assert_eq!(host["CapDrop"], Value::Null);
        assert_eq!(sent(Vec::new())["CapDrop"], json!(["ALL"]));
    }
}
