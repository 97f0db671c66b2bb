//! An engine's TCP address, with TLS or without.
//!
//! Main function: [`pass_on`].

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::unverified::AnyCertificate;
use crate::model::TlsFiles;

/// How long connecting, and the greeting of TLS, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait after a connection could not be taken.
const AGAIN: Duration = Duration::from_millis(50);

/// The part of an answer that tells its status.
const STATUS: &[u8] = b"HTTP/1.0 200";

/// What a port for TLS answers to those who do not speak it.
const REFUSED: &[u8] = b"400";

/// The task that passes bytes on; it ends when this is dropped.
pub(super) struct Passing(JoinHandle<()>);

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An engine's address, and how it is spoken to.
struct Remote {
    address: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Listens on `own` and passes each connection on to `address`. One is tried first, up to an answer: an engine that takes
/// no stranger's certificate says so only then.
pub(super) async fn pass_on(address: &str, tls: Option<&TlsFiles>, own: &Path) -> Result<Passing, String> {
    let tls = tls.map(|files| connector(files, address)).transpose()?;
    let remote = Arc::new(Remote { address: address.to_owned(), tls });
    remote.greet().await?;
    let listener = UnixListener::bind(own).map_err(|error| format!("{}: {error}", own.display()))?;
    Ok(Passing(tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(join(client, Arc::clone(&remote)))),
                // Such as too many open files: the next one may have better luck.
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    })))
}

/// A connection that cannot be made breaks off, as it would without anybody in between.
async fn join(mut client: UnixStream, remote: Arc<Remote>) {
    if let Ok(mut engine) = remote.connect().await {
        let _ = copy_bidirectional(&mut client, &mut engine).await;
    }
}

impl Remote {
    /// The shortest exchange that an engine has an answer to.
    async fn greet(&self) -> Result<(), String> {
        let mut stream = self.connect().await?;
        let exchange = async {
            stream.write_all(b"GET /_ping HTTP/1.0\r\n\r\n").await?;
            let mut answer = [0; STATUS.len()];
            stream.read_exact(&mut answer).await.map(|_| answer)
        };
        let why = match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(Ok(answer)) if answer.starts_with(b"HTTP/") && !answer.ends_with(REFUSED) => return Ok(()),
            Ok(Ok(_)) => "what listens there is no engine, or one that wants TLS".to_owned(),
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                "it ends the connection without an answer: it may want TLS, or a client certificate"
                    .to_owned()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        Err(format!("{}: {why}", self.address))
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, String> {
        match tokio::time::timeout(PATIENCE, self.connect_now()).await {
            Ok(connected) => connected.map_err(|error| format!("{}: {error}", self.address)),
            Err(_) => Err(format!("{}: no connection within {} s", self.address, PATIENCE.as_secs())),
        }
    }

    async fn connect_now(&self) -> std::io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(&self.address).await?;
        // Requests are small and wait for each other.
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), stream).await?),
        })
    }
}

fn connector(files: &TlsFiles, address: &str) -> Result<(TlsConnector, ServerName<'static>), String> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("`{host}`: {error}"))?;
    let builder = ClientConfig::builder();
    let builder = if files.skip_verify {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate::default()))
    } else {
        let ca = files.ca.as_ref().ok_or("TLS needs `ca`, the certificates of the authorities to trust")?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca)? {
            roots.add(certificate).map_err(|error| format!("`{ca}`: {error}"))?;
        }
        builder.with_root_certificates(roots)
    };
    let config = match (&files.cert, &files.key) {
        (Some(cert), Some(key)) => {
            let private = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("`{key}`: {error}"))?;
            let own = certificates(cert)?;
            builder
                .with_client_auth_cert(own, private)
                .map_err(|error| format!("`{cert}` with `{key}`: {error}"))?
        }
        (_, _) => builder.with_no_client_auth(),
    };
    Ok((TlsConnector::from(Arc::new(config)), name))
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("`{file}`: {error}");
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))?;
    let found: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
    if found.is_empty() { Err(wrong(&"there is no certificate in it")) } else { Ok(found) }
}
