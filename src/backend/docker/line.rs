//! The `docker run` line that makes the same container as [`super::lower`], or the `podman run` line for a host of Podman's.
//!
//! Main function: [`command`]. It names no file of this machine: the checker's place is asked for when the line is run.

mod podman;

use super::MOUNT;
use super::applied::ENGINE;
use super::engine::Kind;
use super::lower::{PIDS, checker_arguments, host_groups};
use crate::backend::checker;
use crate::model::{Applied, Cell, Grant};

/// What stands for the checker's path in a line for people.
pub(in crate::backend) const CHECKER: &str = "\"$(gpusweep checker)\"";

/// The line for one cell, for the client of the engine that set this; Docker's where no engine was asked.
#[must_use]
pub fn command(cell: &Cell, applied: Option<&Applied>) -> String {
    let engine = applied.and_then(|applied| applied.settings.get(ENGINE)?.as_str());
    let kind = engine.map_or(Kind::Docker, Kind::of_name);
    let mut words: Vec<String> = match kind {
        Kind::Docker => without(cell).into_iter().collect(),
        Kind::Podman => Vec::new(),
    };
    words.push(format!("{} run --rm --network none", kind.as_str()));
    if !cell.visibility.privileged() {
        words.push("--cap-drop ALL --security-opt no-new-privileges".to_owned());
    }
    words.push(format!("--pids-limit {PIDS} --no-healthcheck"));
    if let Some(bytes) = cell.limits.memory {
        words.push(format!("--memory {bytes} --memory-swap {bytes}"));
    }
    words.extend(cell.visibility.grants.iter().flat_map(|grant| match kind {
        Kind::Docker => flags(grant),
        Kind::Podman => podman::flags(grant).unwrap_or_else(|| flags(grant)),
    }));
    let place = format!("{MOUNT}/{}", checker::CHECKER.name);
    words.push(format!("--volume \"$(dirname {CHECKER})\":{MOUNT}:ro --entrypoint {place}"));
    words.push(match kind {
        Kind::Docker => quoted(&cell.image.reference),
        Kind::Podman => quoted(&podman::qualified(&cell.image.reference)),
    });
    words.extend(checker_arguments(cell).iter().map(|argument| quoted(argument)));
    words.join(" ")
}

/// Docker takes a variable without a value from its caller, and out of the container where its caller has none.
fn without(cell: &Cell) -> Option<String> {
    let unset = |grant: &Grant| {
        if let Grant::Unset(name) = grant { Some(format!("-u {}", quoted(name))) } else { None }
    };
    let names: Vec<String> = cell.visibility.grants.iter().filter_map(unset).collect();
    (!names.is_empty()).then(|| format!("env {}", names.join(" ")))
}

fn flag(name: &str, value: &str) -> Vec<String> {
    vec![format!("--{name} {}", quoted(value))]
}

fn flags(grant: &Grant) -> Vec<String> {
    match grant {
        Grant::DeviceRequest { driver, count, ids, capabilities } => {
            flag("gpus", &gpus(driver, *count, ids, capabilities))
        }
        Grant::Cdi(name) => flag("device", name),
        Grant::DeviceNode { path, permissions } if permissions == "rwm" => flag("device", path),
        Grant::DeviceNode { path, permissions } => flag("device", &format!("{path}:{path}:{permissions}")),
        Grant::Runtime(name) => flag("runtime", name),
        // Lines are shown and exported. Without a value docker takes the caller's own, so the line still works there.
        Grant::Env { name, .. } if grant.is_secret() => flag("env", name),
        Grant::Env { name, value } => flag("env", &format!("{name}={value}")),
        Grant::Unset(name) => flag("env", name),
        Grant::Group(gid) => flag("group-add", &gid.to_string()),
        Grant::HostGroups => {
            host_groups().iter().flat_map(|gid| flag("group-add", &gid.to_string())).collect()
        }
        Grant::ShmSize(bytes) => flag("shm-size", &bytes.to_string()),
        Grant::Ipc(mode) => flag("ipc", mode),
        Grant::Ulimit { name, soft, hard } => flag("ulimit", &format!("{name}={soft}:{hard}")),
        Grant::Security(option) => flag("security-opt", option),
        Grant::Privileged => vec!["--privileged".to_owned()],
    }
}

/// The value of `--gpus`, which is one line of CSV: a field with a comma stands in quotes.
fn gpus(driver: &str, count: i64, ids: &[String], capabilities: &[String]) -> String {
    let all = |count: i64| if count < 0 { "all".to_owned() } else { count.to_string() };
    if driver.is_empty() && ids.is_empty() && capabilities.is_empty() {
        return all(count);
    }
    let mut fields = Vec::new();
    if !driver.is_empty() {
        fields.push(format!("driver={driver}"));
    }
    fields.push(if ids.is_empty() {
        format!("count={}", all(count))
    } else {
        format!("device={}", ids.join(","))
    });
    if !capabilities.is_empty() {
        fields.push(format!("capabilities={}", capabilities.join(",")));
    }
    let quote = |field: String| if field.contains(',') { format!("\"{field}\"") } else { field };
    fields.into_iter().map(quote).collect::<Vec<_>>().join(",")
}

/// One word for a POSIX shell. A zero byte cannot be passed at all, and no matrix with one is accepted.
pub(in crate::backend) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| String::new(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn gpus_is_written_as_the_docker_client_reads_it() {
        assert_eq!(gpus("", -1, &[], &[]), "all");
        assert_eq!(gpus("", 2, &[], &[]), "2");
        assert_eq!(gpus("", 0, &owned(&["0"]), &[]), "device=0");
        assert_eq!(gpus("", 0, &owned(&["0", "1"]), &[]), "\"device=0,1\"");
        assert_eq!(gpus("amd", -1, &[], &[]), "driver=amd,count=all");
        assert_eq!(
            gpus("", -1, &[], &owned(&["compute", "utility"])),
            "count=all,\"capabilities=compute,utility\""
        );
    }

    #[test]
    fn a_secret_is_named_and_not_shown() {
        let env = |name: &str| flags(&Grant::Env { name: name.into(), value: "x1".into() });
        assert_eq!(env("HF_TOKEN"), ["--env HF_TOKEN"]);
        let link = Grant::Env { name: "MIRROR".into(), value: "https://u:p@host/x".into() };
        assert_eq!(flags(&link), ["--env MIRROR"]);
        assert_eq!(env("CUDA_VISIBLE_DEVICES"), ["--env 'CUDA_VISIBLE_DEVICES=x1'"]);
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("CUDA_VISIBLE_DEVICES="), "'CUDA_VISIBLE_DEVICES='");
        assert_eq!(quoted("A=b c"), "'A=b c'");
        assert_eq!(quoted("\"device=0,1\""), "'\"device=0,1\"'");
    }
}
