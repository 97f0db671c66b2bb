//! Finds the engine that `docker` itself would talk to.
//!
//! Main function: [`route`]. Contexts are described in docker's documentation under "Docker contexts"; each lies in a
//! folder that is named by the SHA-256 of its name, and its files for TLS in another. Nothing is connected to.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::model::{Endpoint, NoEndpoint, TlsFiles, hex};

/// Where the engine listens unless something says otherwise.
const DEFAULT: &str = "/var/run/docker.sock";

/// The way to an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A unix socket.
    Unix(String),
    /// A TCP address, with the files for TLS where it speaks that.
    Tcp {
        /// Host and port.
        address: String,
        /// Files.
        tls: Option<TlsFiles>,
    },
    /// Another machine's unix socket, through the OpenSSH client.
    Ssh {
        /// As ssh takes it: `user@host`.
        destination: String,
        /// Port; none = as ssh is configured.
        port: Option<u16>,
        /// The socket there.
        socket: String,
    },
}

/// The engine's place as it may be told: without who logs in there.
impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => f.write_str(path),
            Self::Tcp { address, .. } => f.write_str(address),
            Self::Ssh { destination, socket, .. } => {
                write!(f, "{socket} on {}", destination.rsplit('@').next().unwrap_or_default())
            }
        }
    }
}

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// What names the engine cannot be understood.
    #[error("{origin}: {error}; {}", .error.hint)]
    Text {
        /// What said so.
        origin: String,
        /// What is wrong with it.
        error: NoEndpoint,
    },
    /// There is no such context.
    #[error("there is no docker context `{name}`; `docker context ls` shows {}", shown(.known))]
    NoContext {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The context cannot be read.
    #[error("the docker context `{0}` names no engine")]
    Context(String),
}

fn shown(known: &[String]) -> String {
    if known.is_empty() { "none but the default one".to_owned() } else { known.join(", ") }
}

/// The way to the engine behind an endpoint.
///
/// # Errors
/// Where the environment or the docker configuration names something that is no engine.
pub fn route(endpoint: &Endpoint) -> Result<Route, EndpointError> {
    Docker::of_this_process().route(endpoint)
}

/// What docker's client would look at.
struct Docker<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Docker<'static> {
    fn of_this_process() -> Self {
        Self { variable: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()) }
    }
}

impl Docker<'_> {
    fn route(&self, endpoint: &Endpoint) -> Result<Route, EndpointError> {
        Ok(match endpoint {
            Endpoint::Current => return self.current(),
            Endpoint::Context(name) => return self.context(name),
            Endpoint::Unix(path) => Route::Unix(path.clone()),
            Endpoint::Tcp { address, tls: Some(tls) } => {
                Route::Tcp { address: address.clone(), tls: Some(tls.clone()) }
            }
            Endpoint::Tcp { address, tls: None } => {
                Route::Tcp { address: address.clone(), tls: self.usual_tls() }
            }
            Endpoint::Ssh(url) => ssh(url),
        })
    }

    fn current(&self) -> Result<Route, EndpointError> {
        if (self.variable)("DOCKER_HOST").is_some() {
            return self.default();
        }
        let configured = || {
            let config = read_json(&self.config()?.join("config.json"))?;
            config.get("currentContext")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
        };
        match (self.variable)("DOCKER_CONTEXT").or_else(configured) {
            None => self.default(),
            Some(name) => self.context(&name),
        }
    }

    /// The context that is always there.
    fn default(&self) -> Result<Route, EndpointError> {
        match (self.variable)("DOCKER_HOST") {
            Some(host) => self.named("DOCKER_HOST", &host, self.usual_tls()),
            None => Ok(Route::Unix(DEFAULT.to_owned())),
        }
    }

    fn context(&self, name: &str) -> Result<Route, EndpointError> {
        if name == "default" {
            return self.default();
        }
        let unknown = || EndpointError::NoContext { name: name.to_owned(), known: self.contexts() };
        let folder = self.config().ok_or_else(unknown)?.join("contexts");
        let digest = hex(&Sha256::digest(name));
        let meta = read_json(&folder.join("meta").join(&digest).join("meta.json")).ok_or_else(unknown)?;
        let engine = meta.pointer("/Endpoints/docker");
        let host = engine.and_then(|engine| engine.get("Host")).and_then(Value::as_str);
        let skip_verify = engine.and_then(|engine| engine.get("SkipTLSVerify")).and_then(Value::as_bool);
        let skip_verify = skip_verify.unwrap_or(false);
        let files = folder.join("tls").join(&digest).join("docker");
        // Whoever wants a certificate left unchecked wants one.
        let tls = (files.exists() || skip_verify).then(|| tls_in(&files, skip_verify));
        match host {
            Some(host) => self.named(&format!("the docker context `{name}`"), host, tls),
            None => Err(EndpointError::Context(name.to_owned())),
        }
    }

    /// Names of the contexts that there are.
    fn contexts(&self) -> Vec<String> {
        let folder = self.config().map(|config| config.join("contexts/meta"));
        let entries =
            folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let name =
            |path: PathBuf| read_json(&path.join("meta.json"))?.get("Name")?.as_str().map(str::to_owned);
        let mut names: Vec<String> = entries.filter_map(|entry| name(entry.path())).collect();
        names.sort_unstable();
        names
    }

    /// What an address in docker's own configuration means.
    fn named(&self, origin: &str, text: &str, tls: Option<TlsFiles>) -> Result<Route, EndpointError> {
        let wrong = |error| EndpointError::Text { origin: origin.to_owned(), error };
        match text.parse().map_err(wrong)? {
            Endpoint::Tcp { address, .. } => Ok(Route::Tcp { address, tls }),
            Endpoint::Current | Endpoint::Context(_) => Err(wrong(NoEndpoint {
                message: format!("`{text}` is no endpoint"),
                hint: "give it as `unix:///path`, `tcp://host:port` or `ssh://host`",
            })),
            endpoint @ (Endpoint::Unix(_) | Endpoint::Ssh(_)) => self.route(&endpoint),
        }
    }

    /// As docker has it: TLS where `DOCKER_TLS_VERIFY` is set, with the files of `DOCKER_CERT_PATH`.
    fn usual_tls(&self) -> Option<TlsFiles> {
        (self.variable)("DOCKER_TLS_VERIFY")?;
        let folder = (self.variable)("DOCKER_CERT_PATH").map(PathBuf::from).or_else(|| self.config())?;
        Some(tls_in(&folder, false))
    }

    fn config(&self) -> Option<PathBuf> {
        let own = (self.variable)("DOCKER_CONFIG").map(PathBuf::from);
        own.or_else(|| (self.variable)("HOME").map(|home| Path::new(&home).join(".docker")))
    }
}

/// The files of a folder that docker fills.
fn tls_in(folder: &Path, skip_verify: bool) -> TlsFiles {
    let file = |name: &str| {
        Some(folder.join(name)).filter(|path| path.exists()).map(|path| path.display().to_string())
    };
    TlsFiles { ca: file("ca.pem"), cert: file("cert.pem"), key: file("key.pem"), skip_verify }
}

fn ssh(url: &str) -> Route {
    let (authority, path) = url.split_once('/').unwrap_or((url, ""));
    let port = authority.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (destination, port) = port.map_or((authority, None), |(host, port)| (host, Some(port)));
    let socket = if path.is_empty() { DEFAULT.to_owned() } else { format!("/{path}") };
    Route::Ssh { destination: destination.to_owned(), port, socket }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(endpoint: &Endpoint, variables: &[(&str, &str)]) -> Result<Route, EndpointError> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Docker { variable: &variable }.route(endpoint)
    }

    fn current(variables: &[(&str, &str)]) -> Result<Route, EndpointError> {
        resolve(&Endpoint::Current, variables)
    }

    fn unix(path: &str) -> Route {
        Route::Unix(path.into())
    }

    /// A docker configuration with the context `ci`, and files for TLS where `tls` says so.
    fn configured(host: &str, tls: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let digest = hex(&Sha256::digest("ci"));
        let meta = folder.path().join("contexts/meta").join(&digest);
        std::fs::create_dir_all(&meta).unwrap();
        let text =
            format!(r#"{{"Name":"ci","Endpoints":{{"docker":{{"Host":"{host}","SkipTLSVerify":false}}}}}}"#);
        std::fs::write(meta.join("meta.json"), text).unwrap();
        if tls {
            let files = folder.path().join("contexts/tls").join(digest).join("docker");
            std::fs::create_dir_all(&files).unwrap();
            std::fs::write(files.join("ca.pem"), "").unwrap();
        }
        folder
    }

    #[test]
    fn docker_host_comes_first() {
        let folder = configured("unix:///ci.sock", false);
        let config = folder.path().to_str().unwrap();
        assert_eq!(
            current(&[("DOCKER_HOST", "unix:///x.sock"), ("DOCKER_CONFIG", config)]).unwrap(),
            unix("/x.sock")
        );
        let plain = Route::Tcp { address: "h:2375".into(), tls: None };
        assert_eq!(current(&[("DOCKER_HOST", "tcp://h:2375")]).unwrap(), plain);
        let variables =
            [("DOCKER_HOST", "tcp://h:1"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/certs")];
        assert!(matches!(current(&variables).unwrap(), Route::Tcp { tls: Some(_), .. }));
        let error = current(&[("DOCKER_HOST", "fd://x")]).unwrap_err().to_string();
        assert!(error.starts_with("DOCKER_HOST: `fd://x` is no endpoint; give "), "{error}");
    }

    #[test]
    fn the_current_context_is_followed() {
        let folder = configured("unix:///ci.sock", false);
        let config = folder.path().to_str().unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"currentContext":"ci"}"#).unwrap();
        assert_eq!(current(&[("DOCKER_CONFIG", config)]).unwrap(), unix("/ci.sock"));
        assert_eq!(
            current(&[("DOCKER_CONFIG", config), ("DOCKER_CONTEXT", "default")]).unwrap(),
            unix(DEFAULT)
        );
        assert_eq!(current(&[]).unwrap(), unix(DEFAULT));
    }

    #[test]
    fn a_named_context_brings_its_files_and_an_unknown_one_is_told_with_those_that_there_are() {
        let folder = configured("tcp://gpu-7:2376", true);
        let variables = [("DOCKER_CONFIG", folder.path().to_str().unwrap())];
        let found = resolve(&Endpoint::Context("ci".into()), &variables).unwrap();
        let Route::Tcp { address, tls: Some(tls) } = found else { panic!("{found:?}") };
        assert_eq!((address.as_str(), tls.cert), ("gpu-7:2376", None));
        assert!(tls.ca.unwrap().ends_with("/docker/ca.pem"));
        let error = resolve(&Endpoint::Context("cd".into()), &variables).unwrap_err().to_string();
        assert_eq!(error, "there is no docker context `cd`; `docker context ls` shows ci");
    }

    #[test]
    fn a_context_that_leaves_certificates_unchecked_speaks_tls() {
        let folder = configured("tcp://gpu-7:2376", false);
        let config = folder.path().to_str().unwrap();
        let meta = folder.path().join("contexts/meta").join(hex(&Sha256::digest("ci"))).join("meta.json");
        let context = || resolve(&Endpoint::Context("ci".into()), &[("DOCKER_CONFIG", config)]).unwrap();
        assert!(matches!(context(), Route::Tcp { tls: None, .. }));
        let unchecked = std::fs::read_to_string(&meta).unwrap().replace("false", "true");
        std::fs::write(&meta, unchecked).unwrap();
        assert!(matches!(context(), Route::Tcp { tls: Some(TlsFiles { skip_verify: true, .. }), .. }));
    }

    #[test]
    fn the_default_context_is_what_docker_host_says() {
        let default = Endpoint::Context("default".into());
        assert_eq!(resolve(&default, &[]).unwrap(), unix(DEFAULT));
        assert_eq!(resolve(&default, &[("DOCKER_HOST", "unix:///x.sock")]).unwrap(), unix("/x.sock"));
    }

    #[test]
    fn an_ssh_url_is_taken_apart() {
        let to = |destination: &str, port, socket: &str| Route::Ssh {
            destination: destination.into(),
            port,
            socket: socket.into(),
        };
        assert_eq!(ssh("gpu-7"), to("gpu-7", None, DEFAULT));
        assert_eq!(
            ssh("u@gpu-7:2222/run/user/1000/d.sock"),
            to("u@gpu-7", Some(2222), "/run/user/1000/d.sock")
        );
    }
}
