//! What an engine cannot give is a finding: it says no, or what it left out is found.

use super::{Answer, Engine, PYTHON, lost, message};

/// Visibilities that need a toolkit, what an engine says that has none, and what an engine drops that says nothing.
const ASKED: [(&str, &str, &str); 3] = [
    ("nvidia-all", "could not select device driver", "gpus"),
    ("nvidia-runtime", "nvidia", "runtime nvidia"),
    ("amd-runtime", "amd", "runtime amd"),
];

pub(super) fn hold(engine: &Engine) {
    let run = engine.sweep(&format!(
        "images: [{{ name: it, ref: \"{PYTHON}\" }}, {{ name: gone, ref: localhost/gpusweep-test/no-such-image:1 }}]\n\
         visibility: [nvidia-all, nvidia-runtime, amd-runtime, {{ name: no-node, devices: [/dev/no-such-node] }}, none]\n\
         exclude: [{{ image: gone, visibility: [nvidia-all, nvidia-runtime, amd-runtime, no-node] }}]\n\
         expect: [{{ when: {{ visibility: none }}, code: TORCH_MISSING }}]\n"
    ));
    assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.cells().len(), 6);
    assert_eq!(run.cell(&[("image", "it"), ("visibility", "none")])["verdict"], "expected");
    let gone = run.cell(&[("image", "gone")]);
    assert_eq!(
        (&gone["code"], &gone["verdict"]),
        (&"IMAGE_UNAVAILABLE".into(), &"blocked".into()),
        "{gone:#}"
    );

    let cell = run.cell(&[("visibility", "no-node")]);
    assert_eq!(
        (&cell["code"], &cell["verdict"]),
        (&"LAUNCH_REFUSED".into(), &"unexpected".into()),
        "{cell:#}"
    );
    assert!(message(cell).contains("no-such-node"), "{cell:#}");

    for (visibility, words, requested) in ASKED {
        let cell = run.cell(&[("visibility", visibility)]);
        assert_eq!(cell["verdict"], "unexpected", "{cell:#}");
        match engine.unknown {
            Answer::Refuses => {
                assert_eq!(cell["code"], "LAUNCH_REFUSED", "{cell:#}");
                assert!(message(cell).contains(words), "{cell:#}");
            }
            Answer::Drops => {
                assert_eq!(cell["code"], "TORCH_MISSING", "{cell:#}");
                assert_eq!(lost(cell), [("engine", requested)], "{cell:#}");
            }
            Answer::Does => panic!("no engine has what it does not know"),
        }
    }
}
