//! The host's own word on its NVIDIA driver, where `nvidia-smi` was brought into the container.
//!
//! Main function: [`host_check`]. It never changes the code: a tool that sees a card says nothing of torch. There is no
//! equivalent for ROCm.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpusweep_report::HostCheck;

use crate::Limits;
use crate::process::{End, Job, Listener, Supervisor};

/// More than the answer for the largest machine.
const MAX_ANSWER: usize = 16 * 1024;

/// What `nvidia-smi` says; nulls where there is none, or where it does not answer in time.
pub(crate) fn host_check(supervisor: &Supervisor, limits: &Limits) -> HostCheck {
    let nothing = HostCheck { nvidia_driver: None, memory_total_mib: None };
    let Some(program) = on_path("nvidia-smi") else { return nothing };
    let arguments = ["--query-gpu=driver_version,memory.total", "--format=csv,noheader,nounits"];
    let job = Job {
        program,
        arguments: arguments.map(Into::into).to_vec(),
        input: &|_| String::new(),
        without: &[],
    };
    let mut answer = Answer::within(limits.host_check);
    match supervisor.supervise(&job, &mut answer, limits.settle) {
        Ok(ended) if ended.end == End::Exited(0) => parse(&answer.text()),
        Ok(_) | Err(_) => nothing,
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// One line for each GPU: `580.159, 143771`.
fn parse(text: &str) -> HostCheck {
    let mut fields = text.lines().next().unwrap_or_default().split(',').map(str::trim);
    let is_version = |text: &&str| {
        (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let nvidia_driver = fields.next().filter(is_version).map(str::to_owned);
    HostCheck { nvidia_driver, memory_total_mib: fields.next().and_then(|field| field.parse().ok()) }
}

/// A bounded answer.
struct Answer {
    deadline: Instant,
    bytes: Vec<u8>,
}

impl Answer {
    fn within(limit: Duration) -> Self {
        Self { deadline: Instant::now() + limit, bytes: Vec::new() }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Listener for Answer {
    fn report(&mut self, _bytes: &[u8]) {}

    fn printed(&mut self, bytes: &[u8]) {
        let room = MAX_ANSWER - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_finished(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_and_a_number_are_taken() {
        let told = |text| {
            let check = parse(text);
            (check.nvidia_driver, check.memory_total_mib)
        };
        assert_eq!(told("580.159, 143771\n580.159, 1\n"), (Some("580.159".to_owned()), Some(143_771)));
        assert_eq!(told("580.159, [N/A]"), (Some("580.159".to_owned()), None));
        assert_eq!(told("No devices were found"), (None, None));
        assert_eq!(told(""), (None, None));
    }
}
