//! CDI devices: those that are known reach the container, others are refused, and an engine that knows nothing of CDI
//! says so or is found out.

use super::{Answer, CONTRACT, Engine, lost, message, opened};

pub(super) fn holds(engine: &Engine) {
    let run = engine.sweep(&format!(
        "images: [{{ name: it, ref: \"{CONTRACT}\" }}]\n\
         visibility:\n  - nvidia-cdi\n  - {{ name: amd-0, cdi: \"amd.com/gpu=0\" }}\n  \
         - {{ name: unknown, cdi: \"nvidia.com/gpu=9\" }}\n  - {{ name: stale, cdi: \"nvidia.com/gpu=stale\" }}\n\
         expect: [{{ when: {{}}, code: GPU_BACKEND_ABSENT }}]"
    ));
    let names = [
        ("nvidia-cdi", "cdi nvidia.com/gpu=all"),
        ("amd-0", "cdi amd.com/gpu=0"),
        ("unknown", "cdi nvidia.com/gpu=9"),
        ("stale", "cdi nvidia.com/gpu=stale"),
    ];
    for (visibility, requested) in names {
        let cell = run.cell(&[("visibility", visibility)]);
        match engine.cdi {
            Answer::Does if visibility == "unknown" => refused(cell, "nvidia.com/gpu=9"),
            Answer::Does if visibility == "stale" => refused(cell, "gone-since-then"),
            Answer::Does => {
                assert_eq!(cell["verdict"], "expected", "{cell:#}");
                assert_eq!(lost(cell), [], "{cell:#}");
            }
            Answer::Refuses => refused(cell, "could not select device driver"),
            Answer::Drops => {
                assert_eq!(cell["code"], "GPU_BACKEND_ABSENT", "{cell:#}");
                assert_eq!(lost(cell), [("engine", requested)], "{cell:#}");
                assert_eq!(opened(&run.report(cell), "/dev/nvidia0"), None);
            }
        }
    }
    if engine.cdi == Answer::Does {
        let nvidia = run.report(run.cell(&[("visibility", "nvidia-cdi")]));
        assert_eq!(opened(&nvidia, "/dev/nvidia0"), Some("ok"), "{nvidia:#}");
        assert_eq!(nvidia["exposure"]["variables"]["NVIDIA_VISIBLE_DEVICES"], "void", "the spec sets it");
        let amd = run.report(run.cell(&[("visibility", "amd-0")]));
        assert_eq!(opened(&amd, "/dev/kfd"), Some("ok"), "{amd:#}");
        assert_eq!(opened(&amd, "/dev/dri/renderD128"), Some("ok"), "{amd:#}");
        assert_eq!(opened(&amd, "/dev/nvidia0"), None, "{amd:#}");
    }
}

fn refused(cell: &serde_json::Value, words: &str) {
    assert_eq!(
        (&cell["code"], &cell["verdict"]),
        (&"LAUNCH_REFUSED".into(), &"unexpected".into()),
        "{cell:#}"
    );
    assert!(message(cell).contains(words), "{cell:#}");
}
