//! Which interpreter of a real image is checked, and what is said where another one has torch.
//!
//! The torch in these images is Debian's real one; what differs is where it lies and what points to it. Doubles: an
//! environment of Debian's own venv, moved, stands for one that uv made (the layout is the same) and for a conda prefix
//! (which has no pyvenv.cfg, and a Python of its own).

use serde_json::Value;

use crate::engine::{Image, Sweep, sweep};

/// Sweeps these images on the CPU.
fn checked(images: &[(&str, Image)]) -> Sweep {
    let mut matrix =
        String::from("schema: gpusweep.matrix/1\nname: test\nchecks: { device: cpu }\nimages:\n");
    for (name, image) in images {
        matrix.push_str(&format!("  - {{ name: {name}, ref: \"{}\" }}\n", image.reference));
    }
    sweep(&matrix)
}

/// Code, how the interpreter was found, and the place of another one with torch.
fn told(run: &Sweep, image: &str) -> (String, Value, Value) {
    let cell = run.cell(&[("image", image)]);
    let report = run.report(cell);
    let code = cell["code"].as_str().unwrap().to_owned();
    (code, report["runtime"]["interpreter"].clone(), report["runtime"]["torch_elsewhere"].clone())
}

const PASSED: &str = "CPU_CHECK_PASSED";
const MISSING: &str = "TORCH_MISSING";

/// An image of a test, by its name in the matrix.
fn on(base: &str, name: &'static str, files: &[(&str, &str)], lines: &str) -> (&'static str, Image) {
    (name, Image::on(base, name, files, lines))
}

/// Moves the environment to another prefix. Its library stays and is linked to, as copying it takes long.
fn moved(prefix: &str) -> String {
    let files = "/opt/venv/bin /opt/venv/pyvenv.cfg";
    format!("RUN mkdir -p {prefix} && mv {files} {prefix} && ln -s /opt/venv/lib {prefix}/lib\n")
}

/// Torch lies in a virtual environment; what leads there differs.
fn environments() -> Vec<(&'static str, Image)> {
    let script = "#!/opt/venv/bin/python\nprint('application')\n";
    let conda =
        format!("CMD [\"true\"]\nENV CONDA_PREFIX=/opt/conda/envs/app\n{}", moved("/opt/conda/envs/app"));
    let serve = "RUN chmod 755 /usr/bin/serve\nCMD [\"serve\"]\n";
    let venv = |name, lines| on("torch-venv", name, &[], lines);
    vec![
        venv("plain", ""),
        venv("entrypoint", "ENTRYPOINT [\"/opt/venv/bin/python\", \"app.py\"]\n"),
        venv("shell", "CMD exec /opt/venv/bin/python app.py\n"),
        on("torch-venv", "script", &[("/usr/bin/serve", script)], serve),
        venv("variable", "CMD [\"true\"]\nENV VIRTUAL_ENV=/opt/venv\n"),
        venv("path", "CMD [\"true\"]\nENV PATH=/opt/venv/bin:$PATH\nUSER 1000\n"),
        venv("dotvenv", &moved("/opt/app/.venv")),
        venv("conda", &conda),
    ]
}

#[test]
fn the_image_s_own_command_decides_and_another_interpreter_with_torch_is_the_finding() {
    let run = checked(&environments());
    let here = |how: &str| (PASSED.to_owned(), Value::from(how), Value::Null);
    for image in ["entrypoint", "shell", "script"] {
        assert_eq!(told(&run, image), here("entrypoint"), "{image}");
    }
    assert_eq!(told(&run, "variable"), here("venv"));
    assert_eq!(told(&run, "path"), here("path"));
    assert_eq!(told(&run, "conda"), here("conda"));
    for (image, place) in [("plain", "/opt/venv/bin/python"), ("dotvenv", "/opt/app/.venv/bin/python")] {
        assert_eq!(told(&run, image), (MISSING.to_owned(), Value::from("entrypoint"), Value::from(place)));
        let cell = run.cell(&[("image", image)]);
        assert_eq!(cell["cause"]["id"], "other-interpreter", "{cell:#}");
        assert!(cell["next_action"].as_str().unwrap().contains(place), "{cell:#}");
    }
}

/// A torch.py that an application in that folder would import.
const SHADOW: (&str, &str) = ("/work/torch.py", "raise SystemExit('shadowed')\n");

/// Torch is where Debian puts it; what is around the interpreter differs.
fn surroundings() -> Vec<(&'static str, Image)> {
    let noise = "import sys\nsys.stdout.write('x' * 5000000)\nsys.stderr.write('y' * 5000000)\n\
                 print('{\"code\":\"GPU_CHECK_PASSED\"}')\n";
    let site = ("/usr/lib/python3/dist-packages/sitecustomize.py", noise);
    let startup = ("/s.py", "print('startup')\n");
    let other = ("/usr/local/bin/python", "#!/bin/sh\nexec /usr/bin/python3 -I -S \"$@\"\n");
    vec![
        on("torch-cpu", "noisy", &[site], "ENV PYTHONWARNINGS=always\n"),
        on("torch-cpu", "startup", &[startup], "ENV PYTHONSTARTUP=/s.py\n"),
        on("torch-venv", "pythonpath", &[], "ENV PYTHONPATH=/opt/venv/lib/python3.11/site-packages\n"),
        on("torch-cpu", "shadowed", &[SHADOW], "WORKDIR /work\nUSER 1000\n"),
        on("torch-cpu", "minor", &[], "RUN rm /usr/bin/python3\nCMD [\"true\"]\n"),
        on("torch-cpu", "differ", &[other], "RUN chmod 755 /usr/local/bin/python\nCMD [\"true\"]\n"),
        on("python", "missing", &[SHADOW], "WORKDIR /work\n"),
    ]
}

#[test]
fn surroundings_of_the_interpreter_do_not_change_what_is_found() {
    let run = checked(&surroundings());
    let found = |how: &str| Value::from(how);
    for image in ["noisy", "startup", "pythonpath", "shadowed"] {
        assert_eq!(told(&run, image), (PASSED.to_owned(), found("entrypoint"), Value::Null), "{image}");
    }
    assert_eq!(told(&run, "minor"), (PASSED.to_owned(), found("search"), Value::Null));
    assert_eq!(told(&run, "differ"), (MISSING.to_owned(), found("path"), found("/usr/bin/python3")));
    let shadowed =
        |image: &str| run.report(run.cell(&[("image", image)]))["runtime"]["torch_shadowed"].clone();
    assert_eq!((shadowed("shadowed"), shadowed("noisy")), (Value::from(true), Value::from(false)));
    assert_eq!(run.cell(&[("image", "missing")])["cause"]["id"], "torch-shadowed");
}
