//! A relay before the real engine's socket, which can be cut and mended: the engine itself is never touched.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ENGINE: &str = "/var/run/docker.sock";

/// Passes everything on until it is cut.
pub(crate) struct Relay {
    socket: PathBuf,
    streams: Arc<Mutex<Vec<UnixStream>>>,
    open: Arc<AtomicBool>,
    _folder: tempfile::TempDir,
}

impl Relay {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("relay.sock");
        let relay =
            Self { socket, streams: Arc::default(), open: Arc::new(AtomicBool::new(false)), _folder: folder };
        relay.mend();
        relay
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// As if the engine died: every connection breaks, and there is no socket.
    pub(crate) fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        std::fs::remove_file(&self.socket).unwrap();
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn mend(&self) {
        let listener = UnixListener::bind(&self.socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.open.store(true, Ordering::SeqCst);
        let (streams, alive) = (Arc::clone(&self.streams), Arc::clone(&self.open));
        std::thread::spawn(move || {
            while alive.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((client, _)) => pass_on(&client, &streams),
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if self.open.load(Ordering::SeqCst) {
            self.cut();
        }
    }
}

fn pass_on(client: &UnixStream, streams: &Mutex<Vec<UnixStream>>) {
    client.set_nonblocking(false).unwrap();
    let engine = UnixStream::connect(ENGINE).unwrap();
    let both = |stream: &UnixStream| stream.try_clone().unwrap();
    streams.lock().unwrap().extend([both(client), both(&engine)]);
    for (from, to) in [(both(client), both(&engine)), (engine, both(client))] {
        std::thread::spawn(move || copy(from, to));
    }
}

fn copy(mut from: UnixStream, mut to: UnixStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
