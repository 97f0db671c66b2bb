//! The command line.
//!
//! Main type: [`Options`]. Usage errors go to stderr with exit status 2; there is no report then, as nothing was tried.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use gpusweep_report::{Probe, Request};

/// Shows the first layer that fails between a container image and its GPU, as one line of JSON on stdout.
///
/// The exit status is the report's exit_code: 0 passed, 3 torch missing, 4 torch import failed, 5 no GPU backend in
/// torch, 6 no GPU usable, 7 device index invalid, 8 wrong result, 9 out of memory or other backend error, 10 timeout,
/// 11 worker failed, 12 report not saved; 2 is a usage error.
#[derive(Clone, Debug, Parser)]
#[command(name = "gpusweep-checker", bin_name = "gpusweep-checker", version)]
pub struct Options {
    /// Index of the GPU to check, among those that this process sees
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "device")]
    pub device_index: u32,

    /// Check the CPU instead of a GPU; says nothing of CUDA or ROCm
    #[arg(long, value_name = "cpu", value_parser = cpu_only)]
    pub device: Option<Cpu>,

    /// Deadline of the computation in seconds; importing torch has an allowance of its own
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..=120))]
    pub timeout: u32,

    /// Add the driver version and total memory that nvidia-smi gives (there is no equivalent for ROCm)
    #[arg(long)]
    pub host_check: bool,

    /// Write the report to this new file too; an existing one is never overwritten
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// How to reach the GPU
    #[arg(long, value_enum, default_value_t = ProbeOption::Auto)]
    pub probe: ProbeOption,

    /// One word of the image's own ENTRYPOINT and CMD, which tell its interpreter; repeat it for each word
    #[arg(long, value_name = "WORD", hide = true, allow_hyphen_values = true)]
    pub image_command: Vec<String>,

    /// Use this Python interpreter and no other
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
}

/// The only value of `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu;

/// The values of `--probe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProbeOption {
    /// The first probe that fits the image
    Auto,
    /// The image's own Python and torch
    Python,
    /// The image's libtorch, without Python
    Libtorch,
    /// The vendor's driver, without torch
    Driver,
}

fn cpu_only(value: &str) -> Result<Cpu, String> {
    if value == "cpu" {
        return Ok(Cpu);
    }
    Err("the only value is `cpu`; a GPU is the default, and `--device-index N` chooses which".to_owned())
}

impl Options {
    pub(crate) const fn wants_gpu(&self) -> bool {
        self.device.is_none()
    }

    /// Reads the command line of this process; a usage error ends it with status 2.
    #[must_use]
    pub fn of_this_process() -> Self {
        let options = Self::parse();
        if options.probe == ProbeOption::Driver && !options.wants_gpu() {
            let message =
                "the driver probe needs a GPU: leave out `--device cpu`, or choose another `--probe`";
            <Self as clap::CommandFactory>::command()
                .error(clap::error::ErrorKind::ArgumentConflict, message)
                .exit();
        }
        options
    }

    /// The request as the report repeats it.
    pub(crate) fn request(&self) -> Request {
        let device = match self.device {
            Some(Cpu) => "cpu".to_owned(),
            None => format!("cuda:{}", self.device_index),
        };
        Request { device, timeout_s: self.timeout, probe: self.probe.into() }
    }
}

impl From<ProbeOption> for Probe {
    fn from(option: ProbeOption) -> Self {
        match option {
            ProbeOption::Auto => Self::Auto,
            ProbeOption::Python => Self::Python,
            ProbeOption::Libtorch => Self::Libtorch,
            ProbeOption::Driver => Self::Driver,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_gpu_is_the_default() {
        let options = Options::parse_from(["gpusweep-checker"]);
        assert!(options.wants_gpu());
        assert_eq!(options.request(), Request { device: "cuda:0".into(), timeout_s: 30, probe: Probe::Auto });
    }
}
