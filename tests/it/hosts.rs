//! Engines behind TLS, ssh and docker contexts, all real: a second dockerd with certificates of its own, and a real sshd on
//! this machine's loopback that leads to the first.
//!
//! The second engine has a network namespace of its own, since two in one take each other's bridge away; programs that are
//! to reach it are started in that namespace.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine::docker;

const BARE: &str = "localhost/gpusweep/bare:1";

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Waits until it holds.
fn until(what: impl Fn() -> String, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{}", what());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ends a process and waits for it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let id = self.0.id().to_string();
        let _ = Command::new("kill").arg(&id).status();
        let _ = self.0.wait();
    }
}

/// Certificates of one authority: for the engine at 127.0.0.1, for a client, and one for a client of somebody else's.
fn certificates(folder: &Path) {
    let script = r#"
set -e
new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" -keyout "$2.key" -out "$2.crt" "${@:3}"; }
new authority ca -addext basicConstraints=critical,CA:TRUE
new stranger other-ca -addext basicConstraints=critical,CA:TRUE
for who in server client; do
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$who" -keyout $who-key.pem -out $who.csr
  printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=%sAuth\n' $who > $who.ext
  openssl x509 -req -days 1 -in $who.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile $who.ext -out $who-cert.pem
done
openssl x509 -req -days 1 -in client.csr -CA other-ca.crt -CAkey other-ca.key -CAcreateserial -extfile client.ext -out stranger-cert.pem
cp ca.crt ca.pem; cp client-cert.pem cert.pem; cp client-key.pem key.pem
"#;
    run(Command::new("bash").arg("-c").arg(script).current_dir(folder));
}

/// A second engine, reached with TLS at 127.0.0.1:2376 of its own network namespace.
struct Second {
    folder: tempfile::TempDir,
    engine: Ended,
}

impl Second {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let script = r#"
set -e
mount -t tmpfs tmpfs /run
ip link set lo up
echo "{}" > "$1"/daemon.json
exec dockerd --config-file "$1"/daemon.json --storage-driver vfs -H unix://"$1"/d.sock -H tcp://127.0.0.1:2376 --tlsverify --tlscacert "$1"/ca.pem --tlscert "$1"/server-cert.pem \
  --tlskey "$1"/server-key.pem --data-root "$1"/data --exec-root "$1"/exec --pidfile "$1"/pid --iptables=false \
  --ip6tables=false --bridge=none
"#;
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "--propagation", "private", "bash", "-c", script, "engine"]);
        command.arg(folder.path()).stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
        let engine = Ended(command.spawn().unwrap());
        let second = Self { folder, engine };
        let answers = || second.docker(&["version"]).status().is_ok_and(|status| status.success());
        let said = || std::fs::read_to_string(second.path("log")).unwrap_or_default();
        until(|| format!("the second engine does not answer: {}", said()), answers);
        let archive = second.path("bare.tar");
        run(Command::new("docker").args(["save", "--output"]).arg(&archive).arg(BARE));
        run(second.docker(&["load", "--input"]).arg(&archive));
        second
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("-H").arg(format!("unix://{}", self.path("d.sock").display())).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// gpusweep where the engine's address can be reached.
    fn gpusweep(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.engine.0.id()));
        command.arg(env!("CARGO_BIN_EXE_gpusweep")).args(arguments);
        command.current_dir(self.folder.path());
        command
    }

    fn sweep(&self, hosts: &str, name: &str, variables: &[(&str, &str)]) -> (Output, Value) {
        let usual = "visibility: [none, { name: more, shm_size: 65m }]";
        let visibility = if hosts.contains("visibility:") { "" } else { usual };
        let matrix = format!(
            "schema: gpusweep.matrix/1\nname: hosts\nimages: [{{ name: bare, ref: \"{BARE}\" }}]\nhosts: {hosts}\n\
             {visibility}\nexpect: [{{ when: {{}}, code: TORCH_MISSING }}]\n"
        );
        let file = self.path(&format!("{name}.yaml"));
        std::fs::File::create(&file).unwrap().write_all(matrix.as_bytes()).unwrap();
        let out = self.path(name);
        let arguments = ["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let output = self.gpusweep(&arguments).envs(variables.iter().copied()).output().unwrap();
        let text = std::fs::read(out.join("summary.json"));
        let text = text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (output, serde_json::from_slice(&text).unwrap())
    }

    fn left(&self) -> String {
        let list = |what: &[&str]| String::from_utf8_lossy(&run(&mut self.docker(what)).stdout).into_owned();
        list(&["ps", "--all", "--quiet"]) + &list(&["volume", "ls", "--quiet"])
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(self.path("pid")).unwrap_or_default();
        let _ = Command::new("kill").arg(pid.trim()).status();
        let _ = self.engine.0.wait();
        // Its layers are mounts of its namespace, which is gone; a tempdir cannot remove what is not its user's to list.
        let _ = Command::new("rm").arg("-rf").arg(self.path("data")).arg(self.path("exec")).status();
    }
}

/// A real sshd on the loopback, and a client's configuration that knows it as `engine-box`.
struct Sshd {
    folder: tempfile::TempDir,
    _sshd: Ended,
}

impl Sshd {
    /// In the network namespace of that process.
    fn start(namespace: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path());
        std::fs::create_dir_all("/run/sshd").unwrap();
        let inside = |program: &str| {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net=/proc/{namespace}/ns/net")).arg(program);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let mut server = inside("/usr/sbin/sshd");
        let sshd = Ended(server.args(["-D", "-f"]).arg(folder.path().join("sshd_config")).spawn().unwrap());
        let client = folder.path().join("bin/ssh").display().to_string();
        let answers =
            || inside(&client).args(["engine-box", "true"]).status().is_ok_and(|status| status.success());
        until(|| "sshd does not answer".to_owned(), answers);
        Self { folder, _sshd: sshd }
    }

    fn path(&self) -> String {
        format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap())
    }
}

/// Keys and configurations of a server and its client.
fn configure(folder: &Path) {
    let at = |name: &str| folder.join(name).display().to_string();
    for key in ["host", "user"] {
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)));
    }
    let server = format!(
        "Port 2222\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n",
        at("host"),
        at("user.pub")
    );
    std::fs::write(at("sshd_config"), server).unwrap();
    let client = format!(
        "Host engine-box\n HostName 127.0.0.1\n Port 2222\n User root\n IdentityFile {}\n IdentitiesOnly yes\n \
         StrictHostKeyChecking no\n UserKnownHostsFile {}\n",
        at("user"),
        at("known")
    );
    std::fs::write(at("ssh_config"), client).unwrap();
    // The real client, told where its configuration is: its home is that of the user, whatever HOME says.
    let wrapper = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("ssh_config"));
    std::fs::create_dir(at("bin")).unwrap();
    std::fs::write(at("bin/ssh"), wrapper).unwrap();
    run(Command::new("chmod").arg("755").arg(at("bin/ssh")));
}

fn rows<'a>(summary: &'a Value, host: &str) -> Vec<&'a Value> {
    summary["cells"].as_array().unwrap().iter().filter(|cell| cell["host"] == host).collect()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn one_sweep_over_engines_behind_tls_ssh_and_a_context() {
    let second = Second::start();
    let sshd = Sshd::start(second.engine.0.id());
    // A context as docker's own client makes it.
    let config = second.path("config").display().to_string();
    let files = ["ca.pem", "cert.pem", "key.pem"].map(|name| second.path(name).display().to_string());
    let [ca, cert, key] = &files;
    let endpoint = format!("host=tcp://127.0.0.1:2376,ca={ca},cert={cert},key={key}");
    let mut create = Command::new("docker");
    run(create.env("DOCKER_CONFIG", &config).args(["context", "create", "boxed", "--docker", &endpoint]));
    let hosts = format!(
        "[local, boxed, {{ name: tls, endpoint: \"tcp://127.0.0.1:2376\", tls: {{ ca: {ca}, cert: {cert}, key: {key} }} }}, \
         {{ name: ssh, endpoint: \"ssh://engine-box\" }}]"
    );
    let path = sshd.path();
    let variables = [("PATH", path.as_str()), ("DOCKER_CONFIG", config.as_str())];
    let (output, summary) = second.sweep(&hosts, "all", &variables);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for host in ["local", "boxed", "tls", "ssh"] {
        let rows = rows(&summary, host);
        assert_eq!(rows.len(), 2, "{host}");
        assert!(rows.iter().all(|row| row["verdict"] == "expected"), "{host}: {}", said(&output));
    }
    nothing_is_left(&second);
    // The doctor goes the same ways.
    let mut doctor = second.gpusweep(&["doctor", "--host", "ssh://engine-box", "--host", "boxed"]);
    let doctor = doctor.envs(variables).output().unwrap();
    assert_eq!(doctor.status.code(), Some(0), "{}", said(&doctor));
    refused_ways_block_their_hosts_alone(&second, &variables);
    groups_of_another_machine_are_not_guessed(&second, &variables);
    nothing_is_left(&second);
    ctrl_c_at_a_terminal_leaves_nothing_over_ssh(&second, &sshd, &variables);
}

/// A terminal signals a whole group of processes; a login takes longer than the sweep may wait.
fn ctrl_c_at_a_terminal_leaves_nothing_over_ssh(second: &Second, sshd: &Sshd, variables: &[(&str, &str)]) {
    let client = sshd.folder.path().join("bin/ssh");
    let slow = std::fs::read_to_string(&client).unwrap().replace("exec", "sleep 2\nexec");
    std::fs::write(&client, slow).unwrap();
    let (file, out) = (second.path("group.yaml"), second.path("group"));
    let cells: Vec<String> = (65..77).map(|size| format!("{{ name: s{size}, shm_size: {size}m }}")).collect();
    let matrix = format!(
        "schema: gpusweep.matrix/1\nname: group\nimages: [{{ name: bare, ref: \"{BARE}\" }}]\nhosts: [\"ssh://engine-box\"]\n\
         visibility: [{}]\nlimits: {{ jobs: 2 }}\n",
        cells.join(", ")
    );
    std::fs::write(&file, matrix).unwrap();
    let mut command = second.gpusweep(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    command.envs(variables.iter().copied()).process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = || std::fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    until(|| "no cell ever ran".to_owned(), || journal().matches("\"running\"").count() > 1);
    run(Command::new("kill").args(["-INT", "--", &format!("-{}", child.id())]));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let summary: Value = serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
    let counts = &summary["counts"];
    assert!(counts["not-run"].as_u64().unwrap() > 0 && counts["blocked"] == 0, "{counts}");
    let label = format!("label=gpusweep={}", run_of(&journal()));
    let left = docker(&["ps", "--all", "--quiet", "--filter", &label]);
    assert_eq!(left + &docker(&["volume", "ls", "--quiet", "--filter", &label]), "");
}

fn run_of(journal: &str) -> String {
    let started: Value = serde_json::from_str(journal.lines().nth(1).unwrap()).unwrap();
    started["run"].as_str().unwrap().to_owned()
}

fn nothing_is_left(second: &Second) {
    assert_eq!(second.left(), "");
    let journal = std::fs::read_to_string(second.path("all/journal.jsonl")).unwrap();
    let label = format!("label=gpusweep={}", run_of(&journal));
    assert_eq!(docker(&["ps", "--all", "--quiet", "--filter", &label]), "");
    let ssh = Command::new("pgrep").args(["-f", "engine.sock:/var/run/docker.sock"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ssh.stdout), "", "a client of ssh is left");
}

/// The numbers of groups are the other machine's.
fn groups_of_another_machine_are_not_guessed(second: &Second, variables: &[(&str, &str)]) {
    let hosts = "[{ name: ssh, endpoint: \"ssh://engine-box\" }]\nvisibility: [{ name: amd, groups: host }]";
    let (output, summary) = second.sweep(hosts, "groups", variables);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let row = &summary["cells"][0];
    assert_eq!((&row["verdict"], &row["code"]), (&"blocked".into(), &"LAUNCH_REFUSED".into()));
    assert!(row["first_error"]["message"].as_str().unwrap().contains("stat -c %g /dev/kfd"), "{row:#}");
}

/// Ways that fail, by name, and words of the reason that has to be told.
fn refused_ways(second: &Second) -> [(&'static str, String, &'static str); 8] {
    let file = |name: &str| second.path(name).display().to_string();
    let tls = |cert: &str, ca: &str| {
        format!(
            "{{ name: bad, endpoint: \"tcp://127.0.0.1:2376\", tls: {{ ca: {}, cert: {}, key: {} }} }}",
            file(ca),
            file(cert),
            file("key.pem")
        )
    };
    [
        ("stranger", tls("stranger-cert.pem", "ca.pem"), "127.0.0.1:2376: received fatal alert"),
        ("authority", tls("cert.pem", "other-ca.crt"), "certificate"),
        ("nofile", tls("cert.pem", "nothing.pem"), "nothing.pem"),
        ("plain", "{ name: bad, endpoint: \"tcp://127.0.0.1:2376\" }".to_owned(), "wants TLS"),
        (
            "nosocket",
            "{ name: bad, endpoint: \"ssh://engine-box/nowhere.sock\" }".to_owned(),
            "nowhere.sock on engine-box: ",
        ),
        ("closed", "{ name: bad, endpoint: \"tcp://127.0.0.1:9\" }".to_owned(), "refused"),
        (
            "nocontext",
            "{ name: bad, endpoint: nowhere }".to_owned(),
            "there is no docker context `nowhere`; `docker context ls` shows boxed",
        ),
        (
            "nossh",
            "{ name: bad, endpoint: \"ssh://secretuser@engine-box:1\" }".to_owned(),
            "ssh to engine-box: ",
        ),
    ]
}

/// Each way that fails says why, and the other host's rows are as they are to be.
fn refused_ways_block_their_hosts_alone(second: &Second, variables: &[(&str, &str)]) {
    for (name, bad, words) in refused_ways(second) {
        let (output, summary) = second.sweep(&format!("[local, {bad}]"), name, variables);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(rows(&summary, "local").iter().all(|row| row["verdict"] == "expected"), "{name}");
        for row in rows(&summary, "bad") {
            assert_eq!(
                (&row["verdict"], &row["code"]),
                (&"blocked".into(), &"ENGINE_UNREACHABLE".into()),
                "{name}"
            );
            assert!(!row.to_string().contains("secretuser"), "{name}: {row:#}");
            assert!(row["first_error"]["message"].as_str().unwrap().contains(words), "{name}: {row:#}");
        }
    }
}
