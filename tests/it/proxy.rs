//! A proxy before a real engine's socket that keeps the requests by which containers are created.
//!
//! Main type: [`Proxy`]. It changes nothing: every byte reaches the engine, and every answer comes back.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A listening proxy. Its socket goes with it; its threads end with the connections.
pub(crate) struct Proxy {
    folder: tempfile::TempDir,
    created: Arc<Mutex<Vec<Value>>>,
}

impl Proxy {
    /// Listens before the engine of this socket.
    pub(crate) fn before(engine: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("engine.sock")).unwrap();
        let created = Arc::new(Mutex::new(Vec::new()));
        let (engine, kept) = (PathBuf::from(engine), Arc::clone(&created));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (engine, kept) = (UnixStream::connect(&engine).unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || pass(&client, &engine, &kept));
            }
        });
        Self { folder, created }
    }

    /// Where it listens.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}/engine.sock", self.folder.path().display())
    }

    /// The bodies of all requests to create a container since this was last asked.
    pub(crate) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.created.lock().unwrap())
    }
}

fn pass(client: &UnixStream, engine: &UnixStream, kept: &Mutex<Vec<Value>>) {
    std::thread::scope(|scope| {
        scope.spawn(|| copy(engine, client, |_| ()));
        let mut heard = Vec::new();
        copy(client, engine, |bytes| {
            heard.extend_from_slice(bytes);
            while let Some((length, created)) = request(&heard) {
                heard.drain(..length);
                kept.lock().unwrap().extend(created);
            }
        });
    });
}

/// Until either side goes away, which is how clients end a connection.
fn copy(mut from: &UnixStream, mut to: &UnixStream, mut hear: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        // Before it is passed on: whoever has the answer finds the request.
        hear(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The length of the first request, once it is there as a whole, and its body where it creates a container.
fn request(heard: &[u8]) -> Option<(usize, Option<Value>)> {
    let head = find(heard, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&heard[..head]).expect("a head is text").to_ascii_lowercase();
    let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let (end, body) = if header("transfer-encoding:") == Some("chunked") {
        chunked(heard, head)?
    } else {
        let length: usize = header("content-length:").map_or(0, |length| length.parse().unwrap());
        (head + length, heard.get(head..head + length)?.to_vec())
    };
    let creates = text.starts_with("post ") && text.lines().next()?.contains("/containers/create");
    Some((end, creates.then(|| serde_json::from_slice(&body).expect("a body of JSON"))))
}

fn chunked(heard: &[u8], mut at: usize) -> Option<(usize, Vec<u8>)> {
    let mut body = Vec::new();
    loop {
        let line = find(heard.get(at..)?, b"\r\n")?;
        let size = std::str::from_utf8(&heard[at..at + line]).unwrap();
        let size = usize::from_str_radix(size, 16).expect("a chunk has its size");
        at += line + 2;
        body.extend_from_slice(heard.get(at..at + size)?);
        at += size + 2;
        if size == 0 {
            return (at <= heard.len()).then_some((at, body));
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
