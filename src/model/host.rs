//! Where cells run.
//!
//! Main type: [`Host`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Stack;

/// One place where cells run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Name in the matrix and in every table.
    pub name: String,
    /// What launches cells there.
    pub backend: BackendKind,
    /// The stacks that it has; none = not said, so nothing is pruned for it.
    pub stacks: Option<BTreeSet<Stack>>,
    /// Cells at a time there; none = the back end's own default.
    pub slots: Option<u32>,
}

/// What launches cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// A Docker engine.
    Docker(Endpoint),
    /// This machine itself, without a container: the baseline.
    Host,
}

/// How a Docker engine is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    /// Whatever `docker` itself would talk to: `DOCKER_HOST`, else the current context, else the default socket.
    Current,
    /// A docker context, by its name.
    Context(String),
    /// A unix socket, by its path.
    Unix(String),
    /// A TCP address.
    Tcp {
        /// Host and port.
        address: String,
        /// Files for TLS; none = as `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` say.
        tls: Option<TlsFiles>,
    },
    /// A machine that the OpenSSH client reaches, as a URL without its scheme.
    Ssh(String),
}

/// The files of a TLS connection, by their paths on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFiles {
    /// Certificates of the authorities that the engine's certificate is checked against.
    pub ca: Option<String>,
    /// This client's certificate.
    pub cert: Option<String>,
    /// The key of that certificate.
    pub key: Option<String>,
    /// Whether the engine's certificate is left unchecked.
    pub skip_verify: bool,
}

/// The port of an engine that is reached with TLS, and of one that is reached without.
const PORTS: [u16; 2] = [2376, 2375];

/// Why a text names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoEndpoint {
    /// What is wrong.
    pub message: String,
    /// The way out, beginning with a verb.
    pub hint: &'static str,
}

impl std::str::FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Self, NoEndpoint> {
        let wrong = |message: String, hint| Err(NoEndpoint { message, hint });
        if text == "local" {
            return Ok(Self::Current);
        }
        match text.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') && path.len() > 1 => {
                Ok(Self::Unix(path.to_owned()))
            }
            Some(("unix", _)) => wrong(
                format!("`{text}` names no absolute path"),
                "give the socket's full path, with three slashes: `unix:///var/run/docker.sock`",
            ),
            Some(("tcp", address)) if is_address(address) => {
                Ok(Self::Tcp { address: with_port(address), tls: None })
            }
            Some(("tcp", _)) => {
                wrong(format!("`{text}` names no host and port"), "give both: `tcp://gpu-7.example:2376`")
            }
            Some(("ssh", url)) if has_password(url) => Err(NoEndpoint {
                // Not told back: it would end up in a log.
                message: "an `ssh://` endpoint holds a password".to_owned(),
                hint: "give a key or an agent to ssh, and the endpoint as `ssh://user@host`",
            }),
            Some(("ssh", url)) if is_ssh(url) => Ok(Self::Ssh(url.to_owned())),
            Some(("ssh", _)) => wrong(
                format!("`{text}` names no machine"),
                "give it as `ssh://user@host:port`, or `ssh://host` where the ssh configuration says the rest",
            ),
            None if is_context(text) => Ok(Self::Context(text.to_owned())),
            Some(_) | None => wrong(
                format!("`{text}` is no endpoint"),
                "give `local`, the name of a docker context, `unix:///path`, `tcp://host:port` or `ssh://host`",
            ),
        }
    }
}

/// What docker takes for the name of a context.
fn is_context(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-');
    text.len() > 1 && text.as_bytes()[0].is_ascii_alphanumeric() && text.bytes().all(fits)
}

fn is_address(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "1"));
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    !host.is_empty() && host.bytes().all(fits) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// As docker adds it: the port for TLS, since without TLS nobody should offer an engine.
fn with_port(address: &str) -> String {
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { address.to_owned() } else { format!("{address}:{}", PORTS[0]) }
}

fn has_password(url: &str) -> bool {
    let authority = url.split('/').next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Nothing that ssh could take for an option, or a shell for anything.
fn is_ssh(url: &str) -> bool {
    let (authority, path) = url.split_once('/').unwrap_or((url, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@[]%+".contains(&byte);
    !host.is_empty()
        && !host.starts_with('-')
        && !authority.starts_with('-')
        && authority.bytes().all(fits)
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_endpoint_is_read() {
        let tcp = |address: &str| Endpoint::Tcp { address: address.into(), tls: None };
        let kinds = [
            ("local", Endpoint::Current),
            ("gpu-box", Endpoint::Context("gpu-box".into())),
            ("unix:///run/d.sock", Endpoint::Unix("/run/d.sock".into())),
            ("tcp://gpu-7:2375", tcp("gpu-7:2375")),
            ("tcp://10.0.0.7", tcp("10.0.0.7:2376")),
            ("tcp://[fd00::7]:2376", tcp("[fd00::7]:2376")),
            ("ssh://root@gpu-7:2222", Endpoint::Ssh("root@gpu-7:2222".into())),
            (
                "ssh://gpu-7/run/user/1000/docker.sock",
                Endpoint::Ssh("gpu-7/run/user/1000/docker.sock".into()),
            ),
        ];
        for (text, endpoint) in kinds {
            assert_eq!(text.parse(), Ok(endpoint), "{text}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_told_back() {
        let error = "ssh://root:hunter2@gpu-7".parse::<Endpoint>().unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        assert!("ssh://root@gpu-7:22".parse::<Endpoint>().is_ok());
    }

    #[test]
    fn what_is_none_is_told_with_the_way_out() {
        let none = [
            "",
            "x",
            "unix://",
            "unix://run/d.sock",
            "tcp://",
            "tcp://:2376",
            "tcp://h:0",
            "tcp://h:99999",
            "tcp://h/x",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://u@-h",
            "ssh://h;x",
            "ssh://h/a b",
            "http://h",
            "a b",
        ];
        for text in none {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(
                error.message.contains(&format!("`{text}`")) && error.hint.starts_with("give "),
                "{error:?}"
            );
        }
    }
}
