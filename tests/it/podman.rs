//! On a host of Podman's, the line of a cell is one that Podman's own command line takes.
//!
//! The engine is a real Podman with folders of its own, through its service; scripts/install-deps.sh --for tests installs it.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::engine::{Image, docker, gpusweep, prepare};

/// A Podman service, and a `podman` on the path that uses the same folders.
struct Podman {
    folder: tempfile::TempDir,
    service: Child,
}

impl Podman {
    /// With this image of the Docker Engine.
    fn start(image: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let config =
            "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n";
        std::fs::write(place.join("containers.conf"), config).unwrap();
        let script = format!(
            "#!/bin/sh\nexport CONTAINERS_CONF={0}/containers.conf\n\
             exec {1} --root {0}/root --runroot {0}/run --tmpdir {0}/tmp --storage-driver vfs \"$@\"\n",
            place.display(),
            installed("podman").expect("podman, which scripts/install-deps.sh --for tests installs"),
        );
        std::fs::create_dir(place.join("bin")).unwrap();
        let program = place.join("bin/podman");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let archive = place.join("image.tar");
        docker(&["save", "--output", archive.to_str().unwrap(), image]);
        let loaded =
            Command::new(&program).args(["load", "--quiet", "--input"]).arg(&archive).output().unwrap();
        assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
        let socket = place.join("podman.sock");
        let address = format!("unix://{}", socket.display());
        let service = Command::new(&program)
            .args(["system", "service", "--time", "0", &address])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let podman = Self { folder, service };
        for _ in 0..200 {
            if std::os::unix::net::UnixStream::connect(&socket).is_ok() {
                return podman;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("podman's service does not listen");
    }

    fn endpoint(&self) -> String {
        format!("unix://{}/podman.sock", self.folder.path().display())
    }

    /// What a shell makes of a line, where `podman` is this one and the caller has variables of its own.
    fn shell(&self, line: &str) -> Output {
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_gpusweep")).parent().unwrap();
        let (own, path) = (self.folder.path().join("bin"), std::env::var("PATH").unwrap());
        let path = format!("{}:{}:{path}", own.display(), bin.display());
        let cache = self.folder.path().join("cache");
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("PATH", path).env("XDG_CACHE_HOME", cache);
        command.env("CUDA_VISIBLE_DEVICES", "7").output().unwrap()
    }

    fn inspect(&self, container: &str) -> Value {
        let told = self.shell(&format!("podman inspect {container}"));
        serde_json::from_slice::<Value>(&told.stdout).unwrap()[0].clone()
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.shell("podman rm --force --all");
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn installed(program: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap();
    let found = path.split(':').map(|folder| format!("{folder}/{program}"));
    found.into_iter().find(|file| std::path::Path::new(file).is_file())
}

/// Visibilities with a word of the line, and what Podman says where it takes the line and this machine lacks the device.
const ROWS: [(&str, &str, &str); 17] = [
    ("none", "--env 'NVIDIA_VISIBLE_DEVICES=void'", ""),
    ("nvidia-all", "--device 'nvidia.com/gpu=all'", ""),
    ("nvidia-0", "--device 'nvidia.com/gpu=0'", ""),
    ("nvidia-cdi", "--device 'nvidia.com/gpu=all'", ""),
    ("nvidia-runtime", "--runtime nvidia", "OCI runtime \"nvidia\" not found"),
    ("amd-all", "--device /dev/kfd --device /dev/dri", "stat /dev/kfd: no such file"),
    ("amd-no-group", "--device /dev/kfd --device /dev/dri", "stat /dev/kfd: no such file"),
    ("amd-cdi", "--device 'amd.com/gpu=all'", ""),
    ("amd-runtime", "--runtime amd", "OCI runtime \"amd\" not found"),
    ("{ name: two, gpus: 2 }", "--device 'nvidia.com/gpu=0' --device 'nvidia.com/gpu=1'", ""),
    ("{ name: amd, gpus: 'driver=amd,count=all' }", "--device 'amd.com/gpu=all'", ""),
    ("{ name: nodes, devices: ['/dev/null:rw'], groups: [44, 992] }", "--group-add 44 --group-add 992", ""),
    (
        "{ name: mask, env: { CUDA_VISIBLE_DEVICES: null, HIP_VISIBLE_DEVICES: '' }, \
         ulimits: { nofile: '1024:4096', nproc: 4096 } }",
        "--unsetenv CUDA_VISIBLE_DEVICES",
        "",
    ),
    (
        "{ name: limits, shm_size: 32m, ipc: private, ulimits: { memlock: -1 } }",
        "--ulimit 'memlock=-1:-1'",
        "",
    ),
    (
        "{ name: open, security: [seccomp=unconfined, label=disable, apparmor=unconfined] }",
        "--security-opt",
        "",
    ),
    ("{ name: paths, security: systempaths=unconfined }", "--security-opt 'systempaths=unconfined'", ""),
    ("{ name: all, privileged: true }", "--privileged", ""),
];

#[test]
fn lines_of_a_podman_host_are_podmans() {
    let image = Image::on("bare", "podman", &[], "ENV CUDA_VISIBLE_DEVICES=7\n");
    let podman = Podman::start(&image.reference);
    let visibility: String = ROWS.iter().map(|(keys, ..)| format!("  - {keys}\n")).collect();
    let run = prepare(&format!(
        "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"{}\" }}]\n\
         hosts: [\"{}\"]\nlimits: {{ memory: 256m }}\nvisibility:\n{visibility}",
        image.reference,
        podman.endpoint()
    ))
    .run();
    let mask = run.cell(&[("visibility", "mask")]);
    assert!(mask["applied"]["engine"].as_str().unwrap().starts_with("podman "), "{mask:#}");
    // Its command line can take a variable away, its service for Docker's clients leaves what the image sets, and the row
    // says so.
    let lost = mask["parted"].as_array().unwrap().iter().find(|lost| lost["exposure"] == true).unwrap();
    assert_eq!((&lost["layer"], &lost["requested"]), (&"engine".into(), &"env CUDA_VISIBLE_DEVICES".into()));
    let again = gpusweep().arg("report").arg(&run.folder).args(["--format", "json"]).output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, run.summary, "the run folder knows whose engine it was");
    for (keys, word, lacks) in ROWS {
        let name = keys.trim_start_matches("{ name: ").split([',', ' ']).next().unwrap();
        let line = run.cell(&[("visibility", name)])["command"].as_str().unwrap();
        assert!(line.starts_with("podman run --rm ") && line.contains(word), "{line}");
        let created = podman.shell(&line.replacen("podman run --rm ", "podman create ", 1));
        let (id, error) =
            (String::from_utf8_lossy(&created.stdout), String::from_utf8_lossy(&created.stderr));
        assert_eq!(created.status.success(), lacks.is_empty(), "{line}: {error}");
        assert!(error.contains(lacks), "{line}: {error}");
        if name == "mask" {
            let env = podman.inspect(id.trim())["Config"]["Env"].to_string();
            assert!(env.contains("HIP_VISIBLE_DEVICES=\"") && !env.contains("CUDA_VISIBLE_DEVICES"), "{env}");
        }
    }
}
