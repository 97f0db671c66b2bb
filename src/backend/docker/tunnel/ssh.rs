//! Another machine's socket through the OpenSSH client, so that its configuration, agent and jump hosts work.
//!
//! Main function: [`forward`].

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;

/// How long the client may take to log in.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often the socket is looked for.
const LOOK: Duration = Duration::from_millis(25);

/// What is kept of the client's words.
const WORDS: u64 = 4096;

/// How long to wait before a client that ended is started again.
const AGAIN: Duration = Duration::from_millis(500);

/// Keeps a client at work: one that ends is started again. It ends when this is dropped.
pub(super) struct Forwarding(JoinHandle<()>);

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is forwarded.
struct Wanted {
    destination: String,
    port: Option<u16>,
    socket: String,
    own: PathBuf,
}

/// A client that has logged in. The command that it runs over there reads what it is sent until that ends: so it leaves
/// when this process does, however that ends.
struct Client {
    child: Child,
    _stdin: Option<ChildStdin>,
}

/// Forwards `own`, a socket of this machine that is not there yet, to `socket` over there.
pub(super) async fn forward(
    destination: &str,
    port: Option<u16>,
    socket: &str,
    own: &Path,
) -> Result<Forwarding, String> {
    let wanted =
        Wanted { destination: destination.to_owned(), port, socket: socket.to_owned(), own: own.to_owned() };
    let mut client = wanted.log_in().await?;
    Ok(Forwarding(tokio::spawn(async move {
        loop {
            let _ = client.child.wait().await;
            client = loop {
                tokio::time::sleep(AGAIN).await;
                let _ = std::fs::remove_file(&wanted.own);
                if let Ok(client) = wanted.log_in().await {
                    break client;
                }
            };
        }
    })))
}

impl Wanted {
    async fn log_in(&self) -> Result<Client, String> {
        let mut child = self.command().spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                "there is no `ssh` on PATH: install the OpenSSH client".to_owned()
            }
            _ => format!("ssh cannot be started: {error}"),
        })?;
        let stdin = child.stdin.take();
        let opened = async {
            while UnixStream::connect(&self.own).await.is_err() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let why = tokio::select! {
            () = opened => return Ok(Client { child, _stdin: stdin }),
            words = last_words(&mut child) => words,
            () = tokio::time::sleep(PATIENCE) => format!("no connection within {} s", PATIENCE.as_secs()),
        };
        // Who logs in is nobody else's business, and what ssh says may name them.
        let (user, host) = self.destination.rsplit_once('@').unwrap_or(("", &self.destination));
        let why = if user.is_empty() { why } else { why.replace(&format!("{user}@"), "") };
        Err(format!("ssh to {host}: {why}"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("ssh");
        // No questions, as nobody is there to answer them; and a connection of its own, whatever the configuration shares.
        let options = [
            "BatchMode=yes",
            "ExitOnForwardFailure=yes",
            "ControlMaster=no",
            "ControlPath=none",
            "ConnectTimeout=15",
            "ServerAliveInterval=15",
        ];
        for option in options {
            command.args(["-o", option]);
        }
        command.arg("-T").arg("-L").arg(format!("{}:{}", self.own.display(), self.socket));
        if let Some(port) = self.port {
            command.arg("-p").arg(port.to_string());
        }
        command.arg("--").arg(&self.destination).arg("cat");
        // Ctrl-C at a terminal goes to a whole group: the way has to outlast it, or nothing could be removed any more.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}

/// What the client said when it gave up: its last line names the reason.
async fn last_words(child: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(WORDS).read_to_end(&mut said).await;
    }
    let _ = child.wait().await;
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.map_or_else(|| "it ended without a word".to_owned(), |line| gpusweep_report::one_line(line, &[]))
}
