//! Whatever the image and its user: the checker arrives, and its report comes back whole.

use serde_json::json;

use super::{CONTRACT, CONTRACT_USER, Engine, PYTHON};

/// Docker's log has a line in pieces of this many bytes, Podman's in shorter ones.
const PIECE: usize = 16 * 1024;

pub(super) fn hold(engine: &Engine) {
    let run = engine.sweep(&format!(
        "images:\n  - {{ name: bare, ref: localhost/gpusweep/bare:1 }}\n  - {{ name: python, ref: \"{PYTHON}\" }}\n  \
         - {{ name: root, ref: \"{CONTRACT}\" }}\n  - {{ name: user, ref: \"{CONTRACT_USER}\" }}\n\
         visibility: [none, {{ name: long, devices: /dev/nvidia-caps }}]\n\
         checks: {{ device: [0, cpu] }}\n\
         exclude: [{{ visibility: long, device: cpu }}, {{ visibility: long, image: [bare, python] }}]\n\
         expect:\n  - {{ when: {{ image: [bare, python] }}, code: TORCH_MISSING }}\n  \
         - {{ when: {{ image: root, device: 0 }}, code: GPU_BACKEND_ABSENT, facts: {{ exposure.uid: 0 }} }}\n  \
         - {{ when: {{ image: user, device: 0 }}, code: GPU_BACKEND_ABSENT, facts: {{ exposure.uid: 1000 }} }}\n  \
         - {{ when: {{ device: cpu }}, code: CPU_CHECK_PASSED, facts: {{ execution.loss: 196 }} }}"
    ));
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.summary["counts"]["expected"], 10, "{:#}", run.summary["counts"]);
    for cell in run.cells() {
        assert_eq!(cell["exit_code"], cell["container_exit_code"], "{cell:#}");
        assert!(cell["digest"].as_str().unwrap().starts_with("sha256:"), "{cell:#}");
        assert_eq!(cell["parted"], json!([]), "{cell:#}");
        let applied = &cell["applied"];
        assert_eq!(applied["network_mode"], "none", "{cell:#}");
        assert_eq!(applied["security_opt"], json!(["no-new-privileges"]), "{cell:#}");
    }
    let long = run.report(run.cell(&[("image", "user"), ("visibility", "long")]));
    assert!(long.to_string().len() > PIECE, "{}", long.to_string().len());
    assert_eq!(long["exposure"]["nodes"].as_array().unwrap().len(), 128);
    let none = run.cell(&[("image", "root"), ("visibility", "none"), ("device", "0")]);
    assert_eq!(none["applied"]["env"], json!({ "NVIDIA_VISIBLE_DEVICES": "void" }));
}
