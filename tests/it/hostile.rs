//! Images that print, forge, replay or fork, in real containers: each ends in a code, in time, with no process left.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gpusweep_report::frame::{KEY_BYTES, Key};
use gpusweep_report::{Code, Report};

use crate::engine::{Image, docker, gpusweep, one_cell, prepare, sweep};

/// What a whole run may take on a busy machine: no deadline of the checker's own is needed to end any of these.
const SOON: Duration = Duration::from_secs(40);

/// Tries every way to the supervisor's output, memory and key that a process of the same user has.
const DOORS: &str = r#"
import ctypes, os
print('{"schema":"gpusweep.report/1","code":"GPU_CHECK_PASSED"}', flush=True)
os.write(2, b'{"schema":"gpusweep.report/1","code":"GPU_CHECK_PASSED"}\n')
doors = [] if 'GPUSWEEP_FRAME' not in os.environ else ['environment']
for who in ('1', str(os.getppid())):
    for name, mode in (('environ', os.O_RDONLY), ('mem', os.O_RDWR), ('fd/1', os.O_WRONLY), ('fd/2', os.O_WRONLY)):
        try:
            fd = os.open('/proc/%s/%s' % (who, name), mode)
            if name != 'environ' or b'GPUSWEEP_FRAME' in os.read(fd, 1 << 16):
                doors.append(name.replace('/', '-'))
        except OSError:
            pass
    with open('/proc/%s/cmdline' % who, 'rb') as line:
        if b'GPUSWEEP_FRAME' in line.read():
            doors.append('cmdline')
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, 1, 0, 0) == 0:
    doors.append('ptrace')
raise ValueError('open doors: %s' % sorted(set(doors)))
"#;

#[test]
fn no_user_of_an_image_reaches_output_or_key() {
    for (name, user) in [("doors-root", "USER 0\n"), ("doors-1000", "USER 1000:1000\n")] {
        // Images with a layer in common, made and removed at once, break each other's builds.
        let doors = format!("# {name}\n{DOORS}");
        let file = [("/usr/lib/python3/dist-packages/torch/__init__.py", doors.as_str())];
        let image = Image::with_recipe(name, &file, user);
        let run = sweep(&one_cell(&image.reference, "expect: [{ when: {}, code: TORCH_IMPORT_FAILED }]"));
        assert_eq!(run.status, Some(0), "{}", run.stdout);
        assert_eq!(run.report(&run.cells()[0])["first_error"]["message"], "open doors: []", "{name}");
    }
}

/// The same doors where one capability is given back, as a privileged cell has it: they are there to be found, and the docs
/// say so.
#[test]
fn the_capability_to_trace_opens_every_door() {
    let key = Key::from_random(&[5; KEY_BYTES]);
    let handed = format!("GPUSWEEP_FRAME={}", key.to_variable());
    let alone = Alone { flags: &["--cap-add", "SYS_PTRACE", "--env", &handed], arguments: &[] };
    let (stdout, _) = alone.output(DOORS);
    let report = Report::parse(key.unwrap(&stdout).unwrap()).unwrap();
    let message = report.first_error.unwrap().message;
    for door in ["environ", "fd-1", "fd-2", "mem", "ptrace"] {
        assert!(message.contains(door), "{message}");
    }
    // The worker itself was not handed the key, and no command line holds it.
    assert!(!message.contains("environment") && !message.contains("cmdline"), "{message}");
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/trust.md")).unwrap();
    assert!(docs.contains("CAP_SYS_PTRACE"));
}

/// What is put on a container's standard output, by the name of its cell's visibility, and what its row must say.
const KINDS: [(&str, &str); 8] = [
    ("none", "ValueError"),
    ("noise", "not its report"),
    ("plain", "report without a frame"),
    ("other", "a replay"),
    ("alike", "its length or tag is wrong"),
    ("again", "a second report"),
    ("newer", "no frame of this version"),
    ("flood", "more than"),
];

fn forged(kind: &str, variable: &str) -> String {
    const REPORT: &str = r#"{"schema":"gpusweep.report/1","code":"GPU_CHECK_PASSED"}"#;
    let (id, _) = variable.split_once(':').unwrap();
    let guessed = Key::from_variable(&format!("{id}:{}", "0".repeat(64))).unwrap();
    match kind {
        "none" => String::new(),
        "noise" => "hello\n".into(),
        "plain" => format!("{REPORT}\n"),
        "other" => Key::from_random(&[3; KEY_BYTES]).wrap(REPORT),
        "alike" => guessed.wrap(REPORT),
        "again" => Key::from_variable(variable).unwrap().wrap(REPORT),
        "newer" => format!("gpusweep-frame/2 {id}\n"),
        "flood" => "x".repeat(1 << 20),
        other => panic!("no such kind: {other}"),
    }
}

/// Writes to the standard output of every container of a run that was not written to. An image cannot do this; root on the
/// engine's machine can, and so can a privileged image.
fn write_to_new_containers(run: &str, done: &mut Vec<String>) {
    let label = format!("label=gpusweep={run}");
    for container in docker(&["ps", "--quiet", "--filter", &label]).lines() {
        if done.iter().any(|known| known == container) {
            continue;
        }
        let format = "{{.State.Pid}}{{println}}{{range .Config.Env}}{{println .}}{{end}}";
        let told = docker(&["inspect", "--format", format, container]);
        let variable = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let Some(kind) = variable("KIND") else { continue };
        let path = format!("/proc/{}/fd/1", told.lines().next().unwrap());
        let mut stdout = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        stdout.write_all(forged(kind, variable("GPUSWEEP_FRAME").unwrap()).as_bytes()).unwrap();
        done.push(container.to_owned());
    }
}

#[test]
fn whatever_is_printed_beside_the_report_is_named() {
    let image = Image::with_torch("forged", "import time\ntime.sleep(5)\nraise ValueError('genuine')\n");
    let ways = KINDS.map(|(kind, _)| format!("{{ name: w-{kind}, env: {{ KIND: {kind} }} }}")).join(", ");
    let live =
        prepare(&one_cell(&image.reference, &format!("visibility: [{ways}]\nlimits: {{ jobs: 4 }}"))).start();
    crate::faults::running_container(&live.folder());
    let run = crate::engine::run_id(&live.folder());
    let (start, mut done) = (Instant::now(), Vec::new());
    while done.len() < KINDS.len() {
        assert!(start.elapsed() < 2 * SOON, "only {done:?} came to run");
        write_to_new_containers(&run, &mut done);
        std::thread::sleep(Duration::from_millis(100));
    }
    let run = live.ended();
    assert_eq!(run.status, Some(1));
    for (kind, text) in KINDS {
        let cell = run.cell(&[("visibility", &format!("w-{kind}"))]);
        let code = if kind == "none" { "TORCH_IMPORT_FAILED" } else { "REPORT_MISSING" };
        assert_eq!(cell["code"], code, "{cell:#}");
        assert!(cell["first_error"].to_string().contains(text), "{kind}: {:#}", cell["first_error"]);
    }
}

/// A key is in no file of the run folder, private ones included, and in no line for people.
#[test]
fn the_key_is_in_no_file_of_a_run() {
    let image = Image::with_torch("key", "import time\ntime.sleep(6)\n");
    let live = prepare(&one_cell(&image.reference, "")).start();
    let container = crate::faults::running_container(&live.folder());
    let environment =
        docker(&["inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", &container]);
    let key = environment.lines().find_map(|pair| pair.strip_prefix("GPUSWEEP_FRAME="));
    let secret = key.expect("the key is where the docs say").split_once(':').unwrap().1.to_owned();
    let run = live.ended();
    let mut folders = vec![run.folder.clone()];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(&secret), "{}", path.display());
            read += 1;
        }
    }
    assert!(read >= 5, "only {read} files were looked at");
    assert!(!run.stdout.contains(&secret) && !run.stdout.contains("GPUSWEEP_FRAME"));
}

/// The checker in a container by itself, as the printed `docker run` lines start it.
struct Alone<'a> {
    flags: &'a [&'a str],
    arguments: &'a [&'a str],
}

impl Alone<'_> {
    fn run(&self, torch: &str) -> (Report, i32) {
        let (stdout, exit) = self.output(torch);
        let text = String::from_utf8(stdout).unwrap();
        (Report::parse(text.trim_end()).unwrap_or_else(|error| panic!("{error}: {text}")), exit)
    }

    fn output(&self, torch: &str) -> (Vec<u8>, i32) {
        let file = [("/usr/lib/python3/dist-packages/torch/__init__.py", torch)];
        let name =
            format!("alone-{}", std::thread::current().name().unwrap_or("x").rsplit(':').next().unwrap());
        let image = Image::with_files(&name, &file);
        let checker = String::from_utf8(gpusweep().arg("checker").output().unwrap().stdout).unwrap();
        let volume = format!("{}:/.c/gpusweep-checker:ro", checker.trim());
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--network", "none", "--cap-drop", "ALL"]);
        command.args(["--security-opt", "no-new-privileges", "--volume", &volume]).args(self.flags);
        command.args(["--entrypoint", "/.c/gpusweep-checker", &image.reference, "--device", "cpu"]);
        let start = Instant::now();
        let output = command.args(self.arguments).output().unwrap();
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.stdout, output.status.code().unwrap())
    }
}

/// Without a row in a table, the walls of a process space end whatever is in it: what is tested is that it ends at all.
#[track_caller]
fn ends(torch: &str, flags: &[&str], code: Code, text: &str) {
    let (report, exit) = Alone { flags, arguments: &[] }.run(torch);
    assert_eq!(report.code, code, "{report:?}");
    assert_eq!(exit, i32::from(report.exit_code));
    let error = report.first_error.expect("a first error");
    assert!(error.message.contains(text), "{error:?}");
}

#[test]
fn a_fork_bomb_runs_into_its_limit_and_is_put_out() {
    let bomb = "
import os, time
worker, until = os.getpid(), time.time() + 8
while time.time() < until:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
# Copies that went on as the worker would be further reports.
while os.getpid() != worker:
    time.sleep(600)
raise ValueError('over')
";
    ends(bomb, &["--pids-limit", "64"], Code::TorchImportFailed, "over");
}

#[test]
fn an_image_cannot_end_or_stop_its_supervisor() {
    let code = "
import os, signal, time
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE):
    os.kill(1, number)
if os.fork() == 0:
    time.sleep(600)
os.kill(-1, signal.SIGKILL)
raise ValueError('still here')
";
    ends(code, &[], Code::TorchImportFailed, "still here");
}

#[test]
fn an_image_that_asks_its_supervisor_to_stop_gets_a_report() {
    let code = "import os, signal, time\nos.kill(1, signal.SIGTERM)\ntime.sleep(600)\n";
    ends(code, &[], Code::WorkerFailed, "stopped by SIGTERM");
}

#[test]
fn daemons_and_zombies_do_not_hold_a_container() {
    let code = "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in range(40):
    if os.fork() == 0:
        if number % 2:
            os._exit(0)
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(600)
raise ValueError('left them')
";
    ends(code, &[], Code::TorchImportFailed, "left them");
}

#[test]
fn a_full_disk_is_told_and_leaves_no_half_a_report() {
    let fill = "
import os
with open('/out/fill', 'wb', buffering=0) as file:
    try:
        while True:
            file.write(b'x' * 4096)
    except OSError:
        pass
raise ValueError('full')
";
    let flags = ["--tmpfs", "/out:size=1m"];
    let (report, exit) = Alone { flags: &flags, arguments: &["--output", "/out/report.json"] }.run(fill);
    assert_eq!((report.code, exit), (Code::OutputWriteFailed, 12));
    assert_eq!(report.first_error.unwrap().kind, "ENOSPC");
}

#[test]
fn a_disk_that_is_read_only_is_told() {
    let flags = ["--read-only"];
    let (report, exit) =
        Alone { flags: &flags, arguments: &["--output", "/report.json"] }.run("raise ValueError('x')");
    assert_eq!((report.code, exit), (Code::OutputWriteFailed, 12));
    assert_eq!(report.first_error.unwrap().kind, "EROFS");
}

/// A sweep of this machine without a container, whose Python has a torch that does this.
fn on_this_machine(torch: &str, more: &str) -> crate::engine::Sweep {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("torch")).unwrap();
    std::fs::write(folder.path().join("torch/__init__.py"), torch).unwrap();
    let mut prepared = prepare(&format!(
        "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: unused }}]\nhosts: [{{ name: it, backend: host }}]\nchecks: {{ device: cpu }}\n{more}\n"
    ));
    // As it stands in the environment of every process below, so that they can be found.
    let mark = folder.path().to_str().unwrap().to_owned();
    prepared.command.env("PYTHONPATH", &mark);
    let start = Instant::now();
    let run = prepared.run();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let left = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let left = left.filter(|text| String::from_utf8_lossy(text).contains(&mark)).count();
    assert_eq!(left, 0, "processes are left");
    run
}

const BESIDE: &str = "
import os, signal, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
    os._exit(0)
";

#[test]
fn a_worker_of_this_machine_that_kills_its_supervisor_leaves_nothing() {
    let torch = format!("{BESIDE}\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)\n");
    let run = on_this_machine(&torch, "");
    let cell = &run.cells()[0];
    assert_eq!(cell["code"], "CONTAINER_KILLED", "{cell:#}");
}

#[test]
fn a_worker_of_this_machine_that_stops_its_supervisor_ends_with_its_cell() {
    let torch = format!("{BESIDE}\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(600)\n");
    let run = on_this_machine(&torch, "limits: { cell_timeout: 6s }");
    let cell = &run.cells()[0];
    assert_eq!(cell["code"], "CELL_TIMEOUT", "{cell:#}");
}
