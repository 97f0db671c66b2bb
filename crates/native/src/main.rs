//! The worker's entry: a task in, messages out. Everything else is in the library.
//!
//! Where a worker that was built for exactly the image's libtorch lies beside this one, the task is that one's.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use gpusweep_native::{run, version_in};
use gpusweep_report::wire::{Target, Task};

/// The worker built with `tch`, and the libtorch that it was built for: it must never run with another.
const TCH: (&str, &str) = ("gpusweep-native-tch", "2.13");

fn main() -> ExitCode {
    let mut line = String::new();
    let task =
        std::io::stdin().read_line(&mut line).ok().and_then(|_| serde_json::from_str::<Task>(&line).ok());
    let Some(task) = task else {
        eprintln!("gpusweep-native is started by gpusweep-checker, which tells it what to check");
        return ExitCode::from(2);
    };
    if let Target::Libtorch(folder) = &task.target {
        become_tch(folder, &line);
    }
    run(&task)
}

/// Returns where there is no such worker, or where it cannot be started: the operators serve that libtorch too.
fn become_tch(folder: &Path, line: &str) {
    let (name, version) = TCH;
    let Ok(own) = std::env::current_exe() else { return };
    let program = own.with_file_name(name);
    if !program.is_file() || !version_in(folder).is_some_and(|found| is_minor(&found, version)) {
        return;
    }
    // It is linked to libtorch by name.
    let mut path = folder.as_os_str().to_owned();
    if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        path.push(":");
        path.push(more);
    }
    let _ = Command::new(program).arg(line).env("LD_LIBRARY_PATH", path).exec();
}

/// `2.13.0+cu130` is of 2.13, and `2.1` and `2.130` are not.
fn is_minor(found: &str, version: &str) -> bool {
    found.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '+']))
}

#[cfg(test)]
mod tests {
    use super::is_minor;

    #[test]
    fn only_the_exact_minor_version_is_taken() {
        for found in ["2.13", "2.13.0", "2.13.1+cu130", "2.13+cpu"] {
            assert!(is_minor(found, "2.13"), "{found}");
        }
        for found in ["2.1", "2.1.3", "2.130", "2.14.0", "12.13", "2.13rc1", ""] {
            assert!(!is_minor(found, "2.13"), "{found}");
        }
    }
}
