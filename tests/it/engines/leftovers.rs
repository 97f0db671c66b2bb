//! What a sweep that was killed left is found by its label, and removed; what others made stays.

use super::Engine;
use super::ends::{hanging, running};
use crate::engine::{docker_on, gpusweep, nothing_is_left, prepare_on, run_id};

pub(super) fn hold(engine: &Engine) {
    let socket = engine.socket();
    let mut live = prepare_on(Some(&socket), &engine.matrix(&hanging())).start();
    let container = running(&socket, &live.folder());
    let bystander = docker_on(Some(&socket), &["create", super::PYTHON, "true"]);
    let clean = || gpusweep().args(["clean", "--host", &socket]).output().unwrap();

    let at_work = clean();
    assert!(String::from_utf8_lossy(&at_work.stderr).contains("still at work"), "{at_work:?}");
    let there =
        |id: &str| docker_on(Some(&socket), &["ps", "--all", "--quiet", "--filter", &format!("id={id}")]);
    assert_ne!(there(&container), "");

    live.kill();
    let cleaned = clean();
    assert_eq!(cleaned.status.code(), Some(0), "{cleaned:?}");
    let removed = String::from_utf8_lossy(&cleaned.stdout).lines().count();
    assert!(removed >= 2, "a container and a volume: {cleaned:?}");
    nothing_is_left(Some(&socket), &run_id(&live.folder()));
    assert_ne!(there(&bystander), "");
    docker_on(Some(&socket), &["rm", &bystander]);
}
