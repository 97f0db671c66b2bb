//! Nodes, groups, variables and limits reach the container, and the engine's inspect says so.

use serde_json::json;

use super::{CONTRACT_USER, Engine, lost, message, opened};

pub(super) fn holds(engine: &Engine) {
    // The limits beside memlock are those that a machine must be able to set for its engine to start anything at all:
    // Podman 4 raises what is left out beyond what a machine may allow.
    let run = engine.sweep(&format!(
        "images: [{{ name: it, ref: \"{CONTRACT_USER}\" }}]\n\
         visibility:\n  - {{ name: nodes, devices: [/dev/kfd, /dev/dri], groups: [992], env: {{ HIP_VISIBLE_DEVICES: \"\" }} }}\n  \
         - {{ name: limits, shm_size: 32m, ipc: private, ulimits: {{ memlock: 1048576, nofile: 1024, nproc: 4096 }} }}\n  \
         - {{ name: strict, security: [\"seccomp={}/seccomp-no-children.json\"] }}\n\
         expect: [{{ when: {{}}, code: GPU_BACKEND_ABSENT }}]",
        engine.folder().display()
    ));
    let strict = run.cell(&[("visibility", "strict")]);
    assert_eq!(strict["code"], "WORKER_FAILED", "{strict:#}");
    assert!(message(strict).contains("cannot be started: EPERM"), "{strict:#}");
    for visibility in ["nodes", "limits"] {
        let cell = run.cell(&[("visibility", visibility)]);
        assert_eq!(
            (&cell["code"], &cell["verdict"]),
            (&"GPU_BACKEND_ABSENT".into(), &"expected".into()),
            "{cell:#}"
        );
        assert_eq!(lost(cell), [], "{cell:#}");
        assert_eq!(cell["leak"], json!(null), "{cell:#}");
    }
    let report = run.report(run.cell(&[("visibility", "nodes")]));
    assert_eq!(opened(&report, "/dev/kfd"), Some("ok"), "{report:#}");
    assert_eq!(opened(&report, "/dev/dri/renderD128"), Some("ok"), "{report:#}");
    assert_eq!(report["exposure"]["groups"], json!([992, 1000]), "{report:#}");
    assert_eq!(report["exposure"]["variables"]["HIP_VISIBLE_DEVICES"], "");
    let report = run.report(run.cell(&[("visibility", "limits")]));
    let found = [&report["exposure"]["shm_bytes"], &report["exposure"]["memlock_bytes"]];
    assert_eq!(json!(found), json!([32 << 20, 1 << 20]), "{report:#}");
}
