//! What gpusweep asks of an engine is what Docker's own client asks: of the flags that a user would type, and of the line
//! that gpusweep prints. Both are seen by a proxy before the real engine; nothing has to start, and a request that this
//! engine refuses is a request all the same.

mod normal;

use std::process::Command;

use serde_json::{Value, json};

use self::normal::{exposure, normal};
use crate::engine::{Sweep, docker, gpusweep, prepare};
use crate::proxy::Proxy;

const IMAGE: &str = "localhost/gpusweep/bare:1";
const SOCKET: &str = "/var/run/docker.sock";

/// Presets, and what a user would give `docker run`.
const PRESETS: [(&str, &[&str]); 9] = [
    ("none", &["--runtime=runc", "--env=NVIDIA_VISIBLE_DEVICES=void"]),
    ("nvidia-all", &["--gpus=all"]),
    ("nvidia-0", &["--gpus=device=0"]),
    ("nvidia-cdi", &["--device=nvidia.com/gpu=all"]),
    (
        "nvidia-runtime",
        &[
            "--runtime=nvidia",
            "--env=NVIDIA_VISIBLE_DEVICES=all",
            "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        ],
    ),
    // This machine has no AMD node, and so no group that owns one.
    ("amd-all", &["--device=/dev/kfd", "--device=/dev/dri"]),
    ("amd-no-group", &["--device=/dev/kfd", "--device=/dev/dri"]),
    ("amd-cdi", &["--device=amd.com/gpu=all"]),
    ("amd-runtime", &["--runtime=amd", "--env=AMD_VISIBLE_DEVICES=all"]),
];

/// Keys of a visibility, and what a user would give `docker run`. `PROFILE` is the path of a seccomp profile.
const SPELLED_OUT: [(&str, &[&str]); 42] = [
    ("gpus: all", &["--gpus=all"]),
    ("gpus: -1", &["--gpus=-1"]),
    ("gpus: 2", &["--gpus=2"]),
    ("gpus: count=2", &["--gpus=count=2"]),
    ("gpus: device=1", &["--gpus=device=1"]),
    ("gpus: 'device=0,1'", &["--gpus=\"device=0,1\""]),
    ("gpus: '\"device=0,1\"'", &["--gpus=\"device=0,1\""]),
    (
        "gpus: device=GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a",
        &["--gpus=device=GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a"],
    ),
    (
        "gpus: 'device=MIG-41b2c3d4-0000-5000-8000-000000000001,GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a'",
        &[
            "--gpus=\"device=MIG-41b2c3d4-0000-5000-8000-000000000001,GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a\"",
        ],
    ),
    ("gpus: 'device=0:1'", &["--gpus=device=0:1"]),
    ("gpus: 'capabilities=compute,utility'", &["--gpus=\"capabilities=compute,utility\""]),
    ("gpus: 'all,capabilities=compute,utility'", &["--gpus=all,\"capabilities=compute,utility\""]),
    ("gpus: 'all,capabilities=gpu,compute'", &["--gpus=all,\"capabilities=gpu,compute\""]),
    ("gpus: 'device=0,2,driver=nvidia'", &["--gpus=\"device=0,2\",driver=nvidia"]),
    ("gpus: 'driver=amd,count=all'", &["--gpus=driver=amd,count=all"]),
    (
        "gpus: 'driver=cdi,\"device=nvidia.com/gpu=0,nvidia.com/gpu=1\"'",
        &["--gpus=driver=cdi,\"device=nvidia.com/gpu=0,nvidia.com/gpu=1\""],
    ),
    ("cdi: nvidia.com/gpu=all", &["--device=nvidia.com/gpu=all"]),
    ("cdi: [nvidia.com/gpu=0, amd.com/gpu=1]", &["--device=nvidia.com/gpu=0", "--device=amd.com/gpu=1"]),
    (
        "gpus: all, cdi: nvidia.com/gpu=0, devices: [/dev/null, amd.com/gpu=0]",
        &["--device=nvidia.com/gpu=0", "--gpus=all", "--device=/dev/null", "--device=amd.com/gpu=0"],
    ),
    ("runtime: nvidia", &["--runtime=nvidia"]),
    ("runtime: runc", &["--runtime", "runc"]),
    ("devices: /dev/kfd", &["--device=/dev/kfd"]),
    (
        "devices: [/dev/kfd, '/dev/dri/renderD128:rw', '/dev/dri/renderD129:/dev/dri/renderD129:r']",
        &[
            "--device=/dev/kfd",
            "--device=/dev/dri/renderD128:rw",
            "--device=/dev/dri/renderD129:/dev/dri/renderD129:r",
        ],
    ),
    ("groups: 44", &["--group-add=44"]),
    ("groups: [44, 992, host]", &["--group-add=44", "--group-add=992"]),
    ("env: { CUDA_VISIBLE_DEVICES: '' }", &["--env=CUDA_VISIBLE_DEVICES="]),
    ("env: { CUDA_VISIBLE_DEVICES: null }", &["--env=CUDA_VISIBLE_DEVICES"]),
    (
        "env: { HIP_VISIBLE_DEVICES: 0, ROCR_VISIBLE_DEVICES: '0,1', OTHER: \"it's a 'b' \\\" $HOME\\n\" }",
        &[
            "--env=HIP_VISIBLE_DEVICES=0",
            "--env=ROCR_VISIBLE_DEVICES=0,1",
            "--env=OTHER=it's a 'b' \" $HOME\n",
        ],
    ),
    ("shm_size: 1g", &["--shm-size=1g"]),
    ("shm_size: 64m", &["--shm-size=64m"]),
    ("shm_size: 67108864", &["--shm-size=67108864"]),
    ("ipc: host", &["--ipc=host"]),
    ("ipc: private", &["--ipc=private"]),
    ("ipc: none", &["--ipc=none"]),
    ("ulimits: { memlock: -1 }", &["--ulimit=memlock=-1"]),
    (
        "ulimits: { stack: 67108864, nofile: '1024:4096', memlock: '-1:-1' }",
        &["--ulimit=memlock=-1:-1", "--ulimit=stack=67108864", "--ulimit=nofile=1024:4096"],
    ),
    ("security: seccomp=unconfined", &["--security-opt=seccomp=unconfined"]),
    (
        "security: [label=disable, apparmor=unconfined]",
        &["--security-opt=label=disable", "--security-opt=apparmor=unconfined"],
    ),
    ("security: 'seccomp=PROFILE'", &["--security-opt=seccomp=PROFILE"]),
    ("security: systempaths=unconfined", &["--security-opt=systempaths=unconfined"]),
    ("privileged: true", &["--privileged"]),
    ("privileged: false", &[]),
];

/// A sweep, and everything that it asked of the engine.
struct Asked {
    sweep: Sweep,
    requests: Vec<Value>,
    proxy: Proxy,
    /// What every command is run under.
    under: &'static [&'static str],
}

fn profile() -> String {
    format!("{}/tests/fixtures/seccomp-narrow.json", env!("CARGO_MANIFEST_DIR"))
}

/// Both tables as the lines of a matrix.
fn matrix_lines() -> String {
    let presets = PRESETS.iter().map(|(name, _)| format!("  - {name}\n"));
    let spelled = SPELLED_OUT.iter().enumerate().map(|(number, (keys, _))| {
        format!("  - {{ name: row{number}, {} }}\n", keys.replace("PROFILE", &profile()))
    });
    presets.chain(spelled).collect()
}

fn ask(visibility: &str, under: &'static [&'static str]) -> Asked {
    let proxy = Proxy::before(SOCKET);
    let mut prepared = prepare(&format!(
        "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"{IMAGE}\" }}]\n\
         hosts: [\"{}\"]\nlimits: {{ memory: 256m }}\nvisibility:\n{visibility}",
        proxy.endpoint()
    ));
    prepared.command = below(under, &prepared.command);
    let sweep = prepared.run();
    let requests = proxy.take();
    Asked { sweep, requests, proxy, under }
}

/// The command with these words before it.
fn below(under: &[&str], command: &Command) -> Command {
    let words = under.iter().map(AsRef::as_ref).chain([command.get_program()]).chain(command.get_args());
    let words: Vec<_> = words.collect();
    let mut out = Command::new(words[0]);
    out.args(&words[1..]).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    out
}

impl Asked {
    /// The request of the cell with this visibility.
    fn request(&self, visibility: &str) -> Value {
        let id = self.sweep.cell(&[("visibility", visibility)])["id"].as_str().unwrap();
        // The container that fills the volume with the checker bears the label of a cell too, and is given no command.
        let is_cell = |body: &&Value| body["Labels"]["gpusweep.cell"] == id && body["Cmd"].is_array();
        let of_cell: Vec<&Value> = self.requests.iter().filter(is_cell).collect();
        assert_eq!(of_cell.len(), 1, "{visibility}");
        normal(of_cell[0])
    }

    /// What the client asks when it is run with these words after `docker create`.
    fn client(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new("docker");
        command.env("DOCKER_HOST", self.proxy.endpoint()).env_remove("CUDA_VISIBLE_DEVICES");
        self.one(command.arg("create").args(arguments).args([IMAGE, "/none"]))
    }

    /// Why the client asks nothing when it is run with these words.
    fn refusal(arguments: &[&str]) -> String {
        let output =
            Command::new("docker").arg("create").args(arguments).args([IMAGE, "/none"]).output().unwrap();
        assert_eq!((output.status.success(), output.stdout.as_slice()), (false, &b""[..]));
        String::from_utf8(output.stderr).unwrap()
    }

    /// What the client asks when a shell runs this line, but for starting the container.
    fn line(&self, line: &str) -> Value {
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_gpusweep")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let cache = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .env("DOCKER_HOST", self.proxy.endpoint())
            .env("PATH", path)
            .env("XDG_CACHE_HOME", cache.path());
        // Whatever the caller of a line has in its own environment must not reach the container.
        command.env("CUDA_VISIBLE_DEVICES", "7");
        command.arg("-c").arg(line.replacen("docker run --rm ", "docker create ", 1));
        self.one(&mut below(self.under, &command))
    }

    /// The one request that this command makes. A container that came of it is removed.
    fn one(&self, command: &mut Command) -> Value {
        let output = command.output().unwrap();
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !id.is_empty() {
            docker(&["rm", &id]);
        }
        let mut requests = self.proxy.take();
        assert_eq!(requests.len(), 1, "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        normal(&requests.remove(0))
    }
}

/// Each visibility with the flags that a user would type.
fn rows() -> Vec<(String, Vec<String>)> {
    let owned = |flags: &[&str]| flags.iter().map(|flag| flag.replace("PROFILE", &profile())).collect();
    let presets = PRESETS.iter().map(|(name, flags)| ((*name).to_owned(), owned(flags)));
    let spelled = SPELLED_OUT.iter().enumerate();
    presets.chain(spelled.map(|(number, (_, flags))| (format!("row{number}"), owned(flags)))).collect()
}

#[test]
fn a_cell_asks_for_what_the_docker_client_asks_for() {
    let asked = ask(&matrix_lines(), &[]);
    assert!(asked.sweep.stdout.contains("(privileged)"), "{}", asked.sweep.stdout);
    let version = docker(&["version", "--format", "{{.Client.Version}}"]);
    let before_cdi = version.split('.').next().unwrap().parse::<u32>().unwrap() < 25;
    let mut differ = Vec::new();
    for (visibility, flags) in rows() {
        let request = asked.request(&visibility);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        // Before version 25 the client takes a CDI device for a path: what it is sent is held in a unit test of `lower`.
        if before_cdi && flags.iter().any(|flag| flag.starts_with("--device=") && flag.contains("/gpu=")) {
            let refusal = Asked::refusal(&flags);
            assert!(refusal.contains("is not an absolute path"), "{flags:?}: {refusal}");
            continue;
        }
        let (ours, client) = (exposure(&request), exposure(&asked.client(&flags)));
        if ours != client {
            differ.push(format!("{visibility}: {ours}\n  {flags:?}: {client}"));
        }
        let line = asked.sweep.cell(&[("visibility", &visibility)])["command"].as_str().unwrap();
        let client = asked.line(line);
        if request != client {
            differ.push(format!("{visibility}: {request}\n  {line}: {client}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn every_preset_and_every_key_is_among_them() {
    let source = format!("{}images: [{{ name: a, ref: a }}]\nvisibility: [no-such]\n", crate::matrix::HEAD);
    let error = gpusweep::matrix::parse(&source, "m.yaml").unwrap_err();
    let listed: Vec<&str> = error.hint().split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, PRESETS.map(|(name, _)| name));
    let schema = gpusweep::matrix::schema().to_value();
    let keys = schema["$defs"]["Visibility"]["properties"].as_object().unwrap().keys();
    for key in keys.filter(|key| *key != "name") {
        let rows = SPELLED_OUT.iter().filter(|(keys, _)| keys.contains(&format!("{key}: ")));
        assert!(rows.count() > 0, "{key}");
    }
}

/// A mount namespace in which /dev has AMD's nodes, as a host has them: doubles, of which only the owners matter here. The
/// engine stands outside of it, has no such nodes, and is asked for them all the same.
const WITH_NODES: [&str; 5] = [
    "unshare",
    "--mount",
    "sh",
    "-ec",
    "mount -t tmpfs none /dev
     for node in null:3 random:8 urandom:9; do mknod -m 666 /dev/${node%:*} c 1 ${node#*:}; done
     mkdir -p /dev/dri/by-path
     for node in kfd:44993 dri/renderD128:44992 dri/renderD129:44992 dri/card0:44 dri/other:7; do
         mknod -m 660 /dev/${node%:*} c 1 3
         chgrp ${node#*:} /dev/${node%:*}
     done
     chgrp 7 /dev/dri/by-path
     exec \"$0\" \"$@\"",
];

#[test]
fn the_numbers_of_the_groups_that_own_this_hosts_nodes_are_sent() {
    let asked = ask("  - amd-all\n  - amd-no-group\n  - { name: more, groups: [10, host] }\n", &WITH_NODES);
    let groups = ["44", "44992", "44993"];
    for (visibility, groups) in [
        ("amd-all", json!(groups)),
        ("amd-no-group", Value::Null),
        ("more", json!(["10", "44", "44992", "44993"])),
    ] {
        let request = asked.request(visibility);
        assert_eq!(request["GroupAdd"], groups, "{visibility}");
        let line = asked.sweep.cell(&[("visibility", visibility)])["command"].as_str().unwrap();
        assert_eq!(request, asked.line(line), "{line}");
    }
}

/// Before anything is asked of the engine, as the client does.
#[test]
fn a_profile_that_cannot_be_sent_blocks_its_cell_and_names_the_file() {
    let asked = ask("  - { name: gone, security: seccomp=/no/such/profile.json }\n", &[]);
    let cell = &asked.sweep.cells()[0];
    assert_eq!((&cell["code"], &cell["verdict"]), (&"LAUNCH_REFUSED".into(), &"blocked".into()), "{cell:#}");
    let words = cell["first_error"]["message"].as_str().unwrap();
    assert!(words.starts_with("the seccomp profile `profile.json` cannot be read: No such file"), "{words}");
    assert!(!asked.requests.iter().any(|body| body["Cmd"].is_array()), "{:?}", asked.requests);
}

#[test]
fn a_plan_marks_what_is_privileged() {
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("matrix.yaml");
    let images = "images: [{ name: a, ref: a }]\nvisibility: [none, { name: all, privileged: true }]\n";
    std::fs::write(&file, format!("{}{images}", crate::matrix::HEAD)).unwrap();
    let plan = |format| {
        let output = gpusweep().arg("plan").arg(&file).args(["--format", format]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let marked = plan("table").lines().filter(|line| line.contains("(privileged)")).count();
    assert_eq!(marked, 1, "{}", plan("table"));
    assert_eq!(plan("docker").matches(" --privileged ").count(), 1, "{}", plan("docker"));
}
