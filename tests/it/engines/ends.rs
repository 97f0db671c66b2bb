//! A deadline, too little memory, a kill from outside and a report: each end of a container has its own code.

use super::{CONTRACT, Engine};
use crate::engine::{docker_on, prepare_on, run_id};

/// Memory until the kernel says no, and at once: before an engine may have begun to listen for that.
const HOARD: &str = "hoard = [bytearray(8 << 20) for number in range(1 << 20)]";

pub(super) fn hold(engine: &Engine) {
    let run = engine.sweep(&format!(
        "images: [{{ name: it, ref: \"{CONTRACT}\" }}]\n\
         visibility:\n  - none\n  - {{ name: hang, env: {{ FAKE_TORCH: \"import=hang\" }} }}\n  \
         - {{ name: hoard, env: {{ FAKE_TORCH: \"import=run\", FAKE_CODE: \"{HOARD}\" }} }}\n\
         limits: {{ cell_timeout: 6s, memory: 64m }}\n\
         expect: [{{ when: {{}}, code: GPU_BACKEND_ABSENT }}]"
    ));
    // Engines do not always say that memory was the reason; the checker asks the kernel.
    for (visibility, code) in
        [("none", "GPU_BACKEND_ABSENT"), ("hang", "CELL_TIMEOUT"), ("hoard", "CONTAINER_KILLED")]
    {
        let cell = run.cell(&[("visibility", visibility)]);
        assert_eq!(cell["code"], code, "{cell:#}");
        let verdict = if visibility == "none" { "expected" } else { "unexpected" };
        assert_eq!(cell["verdict"], verdict, "{cell:#}");
    }
    killed_from_outside(engine);
}

fn killed_from_outside(engine: &Engine) {
    let socket = engine.socket();
    let matrix = engine.matrix(&hanging());
    let live = prepare_on(Some(&socket), &matrix).start();
    let container = running(&socket, &live.folder());
    docker_on(Some(&socket), &["kill", "--signal", "KILL", &container]);
    let run = live.ended();
    assert_eq!(run.cells()[0]["code"], "CONTAINER_KILLED", "{:#}", run.cells()[0]);
}

/// One cell that ends only when somebody ends it.
pub(super) fn hanging() -> String {
    format!(
        "images: [{{ name: it, ref: \"{CONTRACT}\" }}]\n\
         visibility: [{{ name: hang, env: {{ FAKE_TORCH: \"import=hang\" }} }}]"
    )
}

/// Waits until the one cell of a sweep runs, and returns its container.
pub(super) fn running(socket: &str, folder: &std::path::Path) -> String {
    for _ in 0..300 {
        let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
        if journal.contains(r#""phase":"running""#) {
            let label = format!("label=gpusweep={}", run_id(folder));
            return docker_on(Some(socket), &["ps", "--quiet", "--filter", &label]);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("no cell came to run");
}
