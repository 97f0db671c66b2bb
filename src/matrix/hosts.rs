//! The fourth axis: where cells run.

use std::collections::BTreeSet;

use super::at::{At, Place, Texts};
use super::either::NameOr;
use super::error::{Parsed, Problem, nearest};
use super::images::duplicate;
use super::raw::RawHost;
use super::scalars;
use crate::model::{BackendKind, Endpoint, Host, Stack};

/// What launches cells, as a matrix names it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backend {
    Docker,
    Host,
}

/// The axis; where the matrix has none, the local engine, or this machine where `backend: host` says so.
pub(super) fn parse(
    axis: Option<&At<Vec<At<NameOr<RawHost>>>>>,
    backend: Option<&At<String>>,
    placement: Option<&At<String>>,
    source: &str,
) -> Parsed<Vec<Host>> {
    let backend = backend.map_or(Ok(Backend::Docker), parse_backend)?;
    let hosts = match axis {
        Some(axis) => parse_axis(axis, backend, source)?,
        None => vec![match backend {
            Backend::Docker => plain("local", BackendKind::Docker(Endpoint::Current)),
            Backend::Host => plain("host", BackendKind::Host),
        }],
    };
    if let Some(placement) = placement {
        check_placement(placement, &hosts)?;
    }
    Ok(hosts)
}

fn parse_axis(axis: &At<Vec<At<NameOr<RawHost>>>>, backend: Backend, source: &str) -> Parsed<Vec<Host>> {
    if axis.value.is_empty() {
        return Err(Problem::new(
            axis.place,
            "`hosts` is empty",
            "give at least one host, such as `local`, or remove the key",
        ));
    }
    let mut hosts: Vec<Host> = Vec::new();
    for item in &axis.value {
        let (place, host) = match &item.value {
            NameOr::Name(name) => (item.place, short(name, item.place)?),
            NameOr::Spelled(raw) => (raw.name.place, spelled_out(raw, backend, source)?),
        };
        if hosts.iter().any(|known| known.name == host.name) {
            return Err(duplicate(place, "host", &host.name));
        }
        hosts.push(host);
    }
    Ok(hosts)
}

fn plain(name: &str, backend: BackendKind) -> Host {
    Host { name: name.to_owned(), backend, stacks: None, slots: None }
}

fn short(text: &str, place: Place) -> Parsed<Host> {
    if text == "host" {
        return Ok(plain(text, BackendKind::Host));
    }
    let text = At { value: text.to_owned(), place };
    let endpoint = endpoint(&text)?;
    let name = scalars::name(&text, "a host")?;
    Ok(plain(&name, BackendKind::Docker(endpoint)))
}

fn spelled_out(raw: &RawHost, default: Backend, source: &str) -> Parsed<Host> {
    let backend = raw.backend.as_ref().map_or(Ok(default), parse_backend)?;
    let backend = match (backend, &raw.endpoint) {
        (Backend::Docker, None) => BackendKind::Docker(Endpoint::Current),
        (Backend::Docker, Some(text)) => BackendKind::Docker(endpoint(text)?),
        (Backend::Host, None) => BackendKind::Host,
        (Backend::Host, Some(text)) => {
            return Err(Problem::new(
                text.place,
                "a host without containers has no endpoint",
                "remove `endpoint`, or `backend: host`",
            ));
        }
    };
    Ok(Host {
        name: scalars::name(&raw.name, "a host")?,
        backend,
        stacks: raw.stacks.as_ref().map(|stacks| parse_stacks(stacks, source)).transpose()?,
        slots: raw.slots.as_ref().map(|slots| scalars::count(slots, "slots")).transpose()?,
    })
}

fn parse_stacks(stacks: &Texts, source: &str) -> Parsed<BTreeSet<Stack>> {
    stacks.items(source).iter().map(scalars::stack).collect()
}

fn parse_backend(text: &At<String>) -> Parsed<Backend> {
    match text.value.as_str() {
        "docker" => Ok(Backend::Docker),
        "host" => Ok(Backend::Host),
        other => Err(Problem::unknown(text.place, "back end", other, ["docker", "host"])),
    }
}

fn endpoint(text: &At<String>) -> Parsed<Endpoint> {
    if text.value == "local" {
        return Ok(Endpoint::Current);
    }
    if let Some(path) = text.value.strip_prefix("unix://") {
        return match path {
            path if path.starts_with('/') && path.len() > 1 => Ok(Endpoint::Unix(path.to_owned())),
            _ => Err(Problem::new(
                text.place,
                format!("`{}` names no absolute path", text.value),
                "give the socket's full path, with three slashes: `unix:///var/run/docker.sock`",
            )),
        };
    }
    let message = format!(
        "host `{}` cannot be reached: this version reaches only the local engine and unix sockets",
        text.value
    );
    let remote = text.value.starts_with("ssh://") || text.value.starts_with("tcp://");
    let hint = match nearest(&text.value, &["local", "host"]) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if remote => "forward its socket with `ssh -N -L /tmp/engine.sock:/var/run/docker.sock HOST`, and give \
                           `unix:///tmp/engine.sock`"
            .to_owned(),
        None => "give `local` or `unix:///path/to.sock`; for a docker context, run `docker context use NAME` and give \
                 `local`"
            .to_owned(),
    };
    Err(Problem::new(text.place, message, hint))
}

fn check_placement(placement: &At<String>, hosts: &[Host]) -> Parsed<()> {
    match placement.value.as_str() {
        "each" => Ok(()),
        "any" if hosts.len() == 1 => Ok(()),
        "any" => Err(Problem::new(
            placement.place,
            format!("`placement: any` cannot choose among {} hosts in this version", hosts.len()),
            "use `placement: each`, which runs every cell on each of them, or name one host",
        )),
        other => Err(Problem::unknown(placement.place, "placement", other, ["each", "any"])),
    }
}
