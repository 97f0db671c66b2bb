//! What the checker costs: the same computation run by the image's Python directly and through the checker, in turns,
//! in one container; and the most memory that the checker itself had.
//!
//! `cargo bench --bench overhead [-- ROUNDS]`; needs an engine, and the image that `images/build.sh torch-cpu` makes.
//! Prints medians and a ratio; it asserts nothing of time.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpusweep::backend::checker;

const IMAGE: &str = "localhost/gpusweep/torch-cpu:1";
const ROUNDS: usize = 15;

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
    let container = Container::start(&checker);
    let (mut direct, mut checked, mut memory_kib) = (Vec::new(), Vec::new(), 0);
    // One of each first, to warm the page cache for both.
    for round in 0..=rounds {
        let (python, _) = container.time(&["python3", "-c", DIRECT]);
        let (check, kib) = container.time(&["/checker", "--device", "cpu"]);
        if round > 0 {
            direct.push(python);
            checked.push(check);
        }
        memory_kib = memory_kib.max(kib);
    }
    let (direct, checked) = (median(&mut direct), median(&mut checked));
    println!("python directly:     {direct:.3?} (median of {rounds})");
    println!("through the checker: {checked:.3?}");
    println!("checker / directly:  {:.3}", checked.as_secs_f64() / direct.as_secs_f64());
    println!("checker's own peak memory: {memory_kib} KiB");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A container that waits, for both to run in.
struct Container(String);

impl Container {
    fn start(checker: &Path) -> Self {
        let mount = format!("{}:/checker:ro", checker.display());
        let output = Command::new("docker")
            .args(["run", "--detach", "--network", "none", "--volume", &mount, IMAGE, "sleep", "infinity"])
            .output()
            .expect("docker starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Wall time of a command, and the peak memory of a checker among its processes, in KiB.
    fn time(&self, command: &[&str]) -> (Duration, u64) {
        let began = Instant::now();
        let mut child = Command::new("docker")
            .arg("exec")
            .arg(&self.0)
            .args(command)
            .stdout(Stdio::null())
            .spawn()
            .expect("docker starts");
        let kib = watch(&mut child);
        assert!(child.wait().expect("docker ends").success(), "{command:?}");
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
