//! Workers that turn on their supervisor, or will not go: each run ends in a code, in time, with no process left.
//!
//! What they do is Python, run inside the double of torch. What needs a container's walls is in the root package's tests.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpusweep_report::{Code, Stage};

use crate::harness::{Checker, Outcome, nothing_is_left, read};

/// Time beyond a deadline in which a run must be over on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

/// A run whose worker does this where it computes the product.
fn doing(code: &str) -> Checker {
    Checker::with_gpus(1).fault("product=run").env("FAKE_CODE", code)
}

/// The same, as an ordinary user's process: without the capabilities that root has.
fn without_capabilities(checker: Checker) -> Outcome {
    let (command, _folder, mark) = checker.into_command();
    let mut plain = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        plain.args(["--bounding-set=-all", "--inh-caps=-all"]);
    }
    plain.arg(command.get_program()).args(command.get_args()).env_clear();
    plain.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    plain.current_dir(command.get_current_dir().unwrap());
    let start = std::time::Instant::now();
    let output = plain.output().expect("setpriv is part of util-linux");
    nothing_is_left(&mark);
    read(&String::from_utf8(output.stdout).unwrap(), output.status.code(), start.elapsed())
}

#[test]
fn a_worker_that_closes_everything_ends_at_the_deadline() {
    let code = "import os, time\nos.closerange(0, 4096)\ntime.sleep(600)";
    let outcome = doing(code).args(["--timeout", "5"]).run();
    outcome.expect(Code::Timeout, Stage::Product);
    assert!(outcome.elapsed < Duration::from_secs(5) + SLACK, "{:?}", outcome.elapsed);
    let outcome = doing("import os\nos.closerange(0, 4096)\nos._exit(0)").run();
    outcome.expect(Code::WorkerFailed, Stage::Product).expect_error("Exit", "status 0");
}

#[test]
fn a_worker_that_stops_itself_ends_at_the_deadline() {
    let code = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)";
    let outcome = doing(code).args(["--timeout", "5"]).run();
    outcome.expect(Code::Timeout, Stage::Product);
    assert!(outcome.elapsed < Duration::from_secs(5) + SLACK, "{:?}", outcome.elapsed);
}

#[test]
fn zombies_and_orphans_are_reaped() {
    let code = "
import os
for number in range(200):
    if os.fork() == 0:
        if number % 2 and os.fork() == 0:
            os._exit(0)
        os._exit(0)
";
    doing(code).run().expect(Code::GpuCheckPassed, Stage::Complete);
}

/// Finds the descriptor that is for reports, as a hostile module would.
const REPORT_FD: &str = "
import os, json
def report_fds():
    for fd in range(3, 256):
        try:
            if os.readlink('/proc/self/fd/%d' % fd).startswith('pipe:'):
                yield fd
        except OSError:
            pass
";

#[test]
fn a_second_report_is_found_out() {
    // The last line is written twice at once, then by a process that inherited the descriptor, before the worker's own.
    let at_once = format!(
        "{REPORT_FD}
last = json.dumps({{'result': {{'failed': {{'reason': 'missing', 'error': None}}}}}}) + '\\n'
for fd in report_fds():
    os.write(fd, (last + last).encode())
"
    );
    let outcome = doing(&at_once).run();
    outcome.expect(Code::WorkerFailed, Stage::Product).expect_error("GarbledReport", "second report");
    let beside = format!(
        "{REPORT_FD}
child = os.fork()
if child == 0:
    for fd in report_fds():
        try:
            os.write(fd, b'{{\"result\":{{\"failed\":{{\"reason\":\"missing\",\"error\":null}}}}}}\\n')
        except OSError:
            pass
    os._exit(0)
os.waitpid(child, 0)
"
    );
    doing(&beside).run().expect(Code::WorkerFailed, Stage::Product);
}

#[test]
fn limits_that_a_worker_sets_for_its_parent_do_not_keep_a_report_back() {
    let folder = tempfile::tempdir().unwrap();
    for limit in ["NOFILE", "FSIZE", "NPROC", "CORE", "STACK"] {
        let code = format!(
            "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_{limit}, (0, 0))\nos.fork() or __import__('time').sleep(600)"
        );
        let saved = folder.path().join(limit);
        let checker = || doing(&code).args(["--output".into(), saved.clone().into_os_string()]);
        let outcome = without_capabilities(checker());
        assert!(outcome.elapsed < SLACK, "{limit}: {:?}", outcome.elapsed);
        // What cannot be had back is missed only where the report is saved.
        let expected = match limit {
            "NOFILE" | "FSIZE" => Code::OutputWriteFailed,
            _ => Code::GpuCheckPassed,
        };
        assert_eq!(outcome.report.code, expected, "{limit}: {}", outcome.line);
        assert_eq!(saved.exists(), expected == Code::GpuCheckPassed, "{limit}");
    }
}

#[test]
fn a_soft_limit_that_a_worker_sets_for_its_parent_is_taken_back() {
    let code = "
import os, resource
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    resource.prlimit(os.getppid(), limit, (0, resource.getrlimit(limit)[1]))
";
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("report.json");
    let checker = doing(code).args(["--output".into(), saved.clone().into_os_string()]);
    without_capabilities(checker).expect(Code::GpuCheckPassed, Stage::Complete);
    assert!(saved.exists());
}

#[test]
fn a_clock_that_jumps_changes_no_deadline() {
    let code = "
import time
now = time.time()
time.time = time.monotonic = time.perf_counter = lambda: now + 1e9
";
    doing(code).args(["--timeout", "5"]).run().expect(Code::GpuCheckPassed, Stage::Complete);
}

/// The machine's own clock is not for a test to set, so it is shown that nothing asks for it.
#[test]
fn no_source_of_the_checker_asks_for_the_wall_clock() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = std::fs::read_to_string(&entry).unwrap();
            for clock in ["SystemTime", "UNIX_EPOCH", "ClockId::Realtime", "time.time("] {
                assert!(!text.contains(clock), "{clock} in {}", entry.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} files were looked at");
}

/// The key's variable reaches neither the worker nor any report, and the report is in its frame.
#[test]
fn the_key_is_the_supervisors_alone() {
    let key = gpusweep_report::frame::Frame::from_random(&[9; 40]);
    let name = gpusweep_report::frame::VARIABLE;
    let code = format!(
        "import os\nfound = [k for k in os.environ if k == '{name}']\nraise RuntimeError('found: %s' % found)"
    );
    let (mut command, _folder, mark) = doing(&code).env(name, key.to_variable()).into_command();
    let output = command.output().unwrap();
    nothing_is_left(&mark);
    let report = key
        .unwrap(std::str::from_utf8(&output.stdout).unwrap())
        .unwrap_or_else(|refused| panic!("{refused}"));
    let outcome = read(&format!("{report}\n"), output.status.code(), Duration::ZERO);
    outcome.expect(Code::RuntimeError, Stage::Product).expect_error("RuntimeError", "found: []");
    let secret = key.to_variable();
    let secret = secret.split_once(':').unwrap().1;
    for text in [&output.stdout, &output.stderr] {
        assert!(!String::from_utf8_lossy(text).contains(secret));
    }
}

/// What an image set it to is no key, and a person still gets a line.
#[test]
fn a_variable_that_is_no_key_changes_nothing() {
    for value in ["", "x", "0:0"] {
        let checker = Checker::on_cpu().env(gpusweep_report::frame::VARIABLE, value);
        checker.run().expect(Code::CpuCheckPassed, Stage::Complete);
    }
}
