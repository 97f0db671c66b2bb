//! The fourth axis: where cells run.

use std::collections::BTreeSet;

use super::at::{At, Place, Texts};
use super::either::NameOr;
use super::error::{Parsed, Problem, nearest};
use super::images::duplicate;
use super::raw::{RawHost, RawTls};
use super::scalars;
use crate::model::{BackendKind, Endpoint, Host, NoEndpoint, Stack, TlsFiles};

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
        (Backend::Docker, Some(text)) => BackendKind::Docker(secured(endpoint(text)?, raw.tls.as_ref())?),
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

/// TLS is for addresses: contexts bring their own, and ssh has no need of it.
fn secured(endpoint: Endpoint, tls: Option<&At<RawTls>>) -> Parsed<Endpoint> {
    let Some(At { value: raw, place }) = tls else { return Ok(endpoint) };
    let path = |text: &Option<At<String>>| text.as_ref().map(|text| text.value.clone());
    let files = TlsFiles {
        ca: path(&raw.ca),
        cert: path(&raw.cert),
        key: path(&raw.key),
        skip_verify: raw.skip_verify,
    };
    match endpoint {
        Endpoint::Tcp { address, .. } if files.cert.is_some() == files.key.is_some() => {
            Ok(Endpoint::Tcp { address, tls: Some(files) })
        }
        Endpoint::Tcp { .. } => Err(Problem::new(
            *place,
            "`tls` has a certificate without its key, or a key without its certificate",
            "give both `cert` and `key`, or neither",
        )),
        Endpoint::Current | Endpoint::Context(_) | Endpoint::Unix(_) | Endpoint::Ssh(_) => Err(Problem::new(
            *place,
            "`tls` is for endpoints of the kind `tcp://host:port`",
            "remove `tls`, or give such an endpoint",
        )),
    }
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

/// A name that is nearly that of a kind of host is mistyped, and no context.
fn endpoint(text: &At<String>) -> Parsed<Endpoint> {
    if let Some(meant) = nearest(&text.value, &["local", "host"]).filter(|meant| *meant != text.value) {
        let message =
            format!("host `{}` cannot be reached: it is neither `local` nor a likely name", text.value);
        return Err(Problem::new(text.place, message, format!("did you mean `{meant}`?")));
    }
    text.value.parse().map_err(|error: NoEndpoint| Problem::new(text.place, error.message, error.hint))
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
