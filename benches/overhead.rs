//! What the checker costs: the same computation run by the image's Python directly and through the checker, in turns,
//! in one container; the most memory that the checker itself had; and, in an image without Python, its time from start to
//! report beside a static program that does nothing.
//!
//! `cargo bench --bench overhead [-- ROUNDS]`; needs an engine, the images that `images/build.sh torch-cpu bare` makes, and
//! busybox-static. Prints medians and ratios; it asserts nothing of time, which other work on the machine changes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpusweep::backend::checker;

const IMAGE: &str = "localhost/gpusweep/torch-cpu:1";
const BARE: &str = "localhost/gpusweep/bare:1";
const ROUNDS: usize = 15;

/// What the checker may cost, of the wall time of the bare computation and in memory of its own.
const MAX_OVERHEAD_PERCENT: f64 = 2.0;
const MAX_MEMORY_KIB: u64 = 10_000_000 / 1024;

/// The computation of DIAGNOSTIC stage 3 as a person would type it.
const DIRECT: &str = "
import torch
a = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
b = torch.tensor([[2., 0.], [1., 2.]])
p = a @ b
loss = (p * p).sum()
loss.backward()
assert p.tolist() == [[4., 4.], [10., 8.]] and loss.item() == 196.
assert a.grad.tolist() == [[16., 24.], [40., 52.]]
";

fn main() {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    let work = tempfile::tempdir().expect("a temporary folder");
    let checker = checker::install(work.path()).expect("the checker can be written");
    beside_python(&checker, rounds);
    without_python(&checker, rounds);
}

fn beside_python(checker: &Path, rounds: usize) {
    let container = Container::start(IMAGE, &[(checker, "/checker")], &["sleep", "infinity"]);
    let (direct, checked, memory_kib) =
        container.in_turns(rounds, (&["python3", "-c", DIRECT], 0), (&["/checker", "--device", "cpu"], 0));
    let overhead = 100.0 * (checked.as_secs_f64() / direct.as_secs_f64() - 1.0);
    println!("python directly:     {direct:.3?} (median of {rounds})");
    println!("through the checker: {checked:.3?}");
    println!("overhead:            {overhead:.1} % (at most {MAX_OVERHEAD_PERCENT} is wanted)");
    println!("checker's own peak memory: {memory_kib} KiB");
    assert!(memory_kib > 0, "no checker was seen");
    assert!(memory_kib <= MAX_MEMORY_KIB, "at most {MAX_MEMORY_KIB} KiB are wanted");
}

/// The engine's way to start a program is in both, so the difference is the checker's.
fn without_python(checker: &Path, rounds: usize) {
    let mounts = [(checker, "/checker"), (Path::new("/bin/busybox"), "/busybox")];
    let container = Container::start(BARE, &mounts, &["/busybox", "sleep", "infinity"]);
    let missing = i32::from(gpusweep_report::Code::TorchMissing.exit_code());
    let (nothing, checked, _) =
        container.in_turns(rounds, (&["/busybox", "true"], 0), (&["/checker"], missing));
    println!("without Python, a program that does nothing: {nothing:.3?} (median of {rounds})");
    println!("without Python, checker start to report:     {checked:.3?}");
    println!("checker / nothing: {:.3}", checked.as_secs_f64() / nothing.as_secs_f64());
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A container that waits, for both to run in.
struct Container(String);

/// A command, and the exit status that it must have.
type Expected<'a> = (&'a [&'a str], i32);

impl Container {
    fn start(image: &str, mounts: &[(&Path, &str)], command: &[&str]) -> Self {
        let mounts = mounts.iter().map(|(file, place)| format!("--volume={}:{place}:ro", file.display()));
        let output = Command::new("docker")
            .args(["run", "--detach", "--network", "none"])
            .args(mounts)
            .arg(image)
            .args(command)
            .output()
            .expect("docker starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Medians of both, and the most memory that a checker had.
    fn in_turns(&self, rounds: usize, one: Expected<'_>, other: Expected<'_>) -> (Duration, Duration, u64) {
        let (mut first, mut second, mut memory_kib) = (Vec::new(), Vec::new(), 0);
        // One of each first, to warm the page cache for both.
        for round in 0..=rounds {
            let (one, _) = self.time(one);
            let (other, kib) = self.time(other);
            if round > 0 {
                first.push(one);
                second.push(other);
            }
            memory_kib = memory_kib.max(kib);
        }
        (median(&mut first), median(&mut second), memory_kib)
    }

    /// Wall time of a command, and the peak memory of a checker among its processes, in KiB.
    fn time(&self, (command, status): Expected<'_>) -> (Duration, u64) {
        let began = Instant::now();
        let mut child = Command::new("docker")
            .arg("exec")
            .arg(&self.0)
            .args(command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker starts");
        let kib = watch(&mut child);
        assert_eq!(child.wait().expect("docker ends").code(), Some(status), "{command:?}");
        (began.elapsed(), kib)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", &self.0]).stdout(Stdio::null()).status();
    }
}

/// Looks at the checker's peak now and then until the command ends.
fn watch(child: &mut Child) -> u64 {
    let mut kib = 0;
    while child.try_wait().expect("docker can be waited for").is_none() {
        kib = kib.max(peak());
        std::thread::sleep(Duration::from_millis(20));
    }
    kib
}

/// `VmHWM` of the process whose program is the checker, as proc(5) gives it.
fn peak() -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let status = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    let checkers = status.filter(|status| status.starts_with("Name:\tchecker\n"));
    let peaks = checkers.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    });
    peaks.max().unwrap_or(0)
}
