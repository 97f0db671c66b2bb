//! The command line.
//!
//! Main type: [`Options`]. Usage errors go to stderr with exit status 2; there is no report then, as nothing was tried. A
//! small parser: a big one is a fifth of an executable that is carried into every container.

use std::ffi::OsString;
use std::path::PathBuf;

use gpusweep_report::{Probe, Request};
use lexopt::{Arg, Parser, ValueExt as _};

/// What `--help` prints.
const HELP: &str = "\
Shows the first layer that fails between a container image and its GPU, as one line of JSON on stdout.

The exit status is the report's exit_code: 0 passed, 3 torch missing, 4 torch import failed, 5 no GPU backend in
torch, 6 no GPU usable, 7 device index invalid, 8 wrong result, 9 out of memory or other backend error, 10 timeout,
11 worker failed, 12 report not saved; 2 is a usage error.

Usage: gpusweep-checker [OPTIONS]

Options:
      --device-index <N>   Index of the GPU to check, among those that this process sees [default: 0]
      --device <cpu>       Check the CPU instead of a GPU; says nothing of CUDA or ROCm
      --timeout <SECONDS>  Deadline of the computation, 5 to 120; importing torch has an allowance of its own
                           [default: 30]
      --host-check         Add the driver version and total memory that nvidia-smi gives (there is no equivalent for
                           ROCm)
      --output <FILE>      Write the report to this new file too; an existing one is never overwritten
      --probe <PROBE>      How to reach the GPU [default: auto]
                             auto      the first probe that fits the image
                             python    the image's own Python and torch
                             libtorch  the image's libtorch, without Python
                             driver    the vendor's driver, without torch
      --python <PATH>      Use this Python interpreter and no other
  -h, --help               Print help
  -V, --version            Print version
";

/// What is to be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Index of the GPU, or none for the CPU.
    pub device_index: Option<u32>,
    /// Deadline of the computation, in seconds.
    pub timeout: u32,
    /// Whether `nvidia-smi` is asked.
    pub host_check: bool,
    /// A new file for the report.
    pub output: Option<PathBuf>,
    /// How to reach the GPU.
    pub probe: Probe,
    /// The image's own ENTRYPOINT and CMD, which tell its interpreter; for the controller, and not in `--help`.
    pub image_command: Vec<String>,
    /// The only interpreter to use.
    pub python: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_index: Some(0),
            timeout: 30,
            host_check: false,
            output: None,
            probe: Probe::Auto,
            image_command: Vec::new(),
            python: None,
        }
    }
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A check.
    Check(Options),
    /// A text on stdout, and nothing else.
    Print(String),
}

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

/// Values of `--timeout`.
const TIMEOUTS: std::ops::RangeInclusive<u32> = 5..=120;

impl Options {
    /// Reads arguments, without the program's name.
    ///
    /// # Errors
    /// Where an argument is unknown, wrong, or contradicts another.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asks, UsageError> {
        let mut options = Self::default();
        let mut parser = Parser::from_args(arguments);
        let (mut index, mut cpu) = (false, false);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => return Ok(Asks::Print(HELP.to_owned())),
                Arg::Short('V') | Arg::Long("version") => {
                    return Ok(Asks::Print(
                        concat!("gpusweep-checker ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
                    ));
                }
                Arg::Long("device-index") => {
                    options.device_index = Some(number("device-index", &parser.value()?)?);
                    index = true;
                }
                Arg::Long("device") => {
                    only_cpu(&parser.value()?)?;
                    options.device_index = None;
                    cpu = true;
                }
                Arg::Long("timeout") => options.timeout = timeout(&parser.value()?)?,
                Arg::Long("host-check") => options.host_check = true,
                Arg::Long("output") => options.output = Some(parser.value()?.into()),
                Arg::Long("probe") => options.probe = probe(&parser.value()?)?,
                Arg::Long("image-command") => options.image_command.push(parser.value()?.string()?),
                Arg::Long("python") => options.python = Some(parser.value()?.into()),
                Arg::Short(_) | Arg::Long(_) | Arg::Value(_) => return Err(argument.unexpected().into()),
            }
        }
        if index && cpu {
            return Err(UsageError("--device-index and --device exclude each other".to_owned()));
        }
        options.checked().map(Asks::Check)
    }

    fn checked(self) -> Result<Self, UsageError> {
        if self.probe == Probe::Driver && !self.wants_gpu() {
            let message = "the driver probe needs a GPU: leave out --device cpu, or choose another --probe";
            return Err(UsageError(message.to_owned()));
        }
        Ok(self)
    }

    pub(crate) const fn wants_gpu(&self) -> bool {
        self.device_index.is_some()
    }

    /// The request as the report repeats it.
    pub(crate) fn request(&self) -> Request {
        let device = self.device_index.map_or_else(|| "cpu".to_owned(), |index| format!("cuda:{index}"));
        Request { device, timeout_s: self.timeout, probe: self.probe }
    }
}

fn number(option: &str, value: &OsString) -> Result<u32, UsageError> {
    let text = value.to_string_lossy();
    text.parse().map_err(|_| UsageError(format!("--{option} takes a whole number from 0 on, not `{text}`")))
}

fn timeout(value: &OsString) -> Result<u32, UsageError> {
    let (least, most) = (TIMEOUTS.start(), TIMEOUTS.end());
    let wrong = || {
        UsageError(format!("--timeout takes {least} to {most} seconds, not `{}`", value.to_string_lossy()))
    };
    number("timeout", value).ok().filter(|seconds| TIMEOUTS.contains(seconds)).ok_or_else(wrong)
}

fn only_cpu(value: &OsString) -> Result<(), UsageError> {
    let message =
        "the only value of --device is `cpu`; a GPU is the default, and --device-index N chooses which";
    if value == "cpu" { Ok(()) } else { Err(UsageError(message.to_owned())) }
}

fn probe(value: &OsString) -> Result<Probe, UsageError> {
    const ALL: [Probe; 4] = [Probe::Auto, Probe::Python, Probe::Libtorch, Probe::Driver];
    let text = value.to_string_lossy();
    let found = ALL.into_iter().find(|probe| probe.as_str() == text);
    found.ok_or_else(|| UsageError(format!("--probe takes auto, python, libtorch or driver, not `{text}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Asks, UsageError> {
        Options::parse(arguments.iter().map(Into::into))
    }

    #[test]
    fn a_gpu_is_the_default() {
        let Ok(Asks::Check(options)) = parse(&[]) else { panic!("no check") };
        assert!(options.wants_gpu());
        assert_eq!(options.request(), Request { device: "cuda:0".into(), timeout_s: 30, probe: Probe::Auto });
    }

    #[test]
    fn every_option_in_the_help_is_one() {
        let options = HELP.split_whitespace().filter_map(|word| word.strip_prefix("--"));
        for option in options {
            let option = option.trim_end_matches([',', ';']);
            let value = match option {
                "device" => Some("cpu"),
                "probe" => Some("python"),
                "device-index" | "timeout" | "output" | "python" => Some("7"),
                _ => None,
            };
            let option = format!("--{option}");
            let arguments: Vec<&str> = std::iter::once(option.as_str()).chain(value).collect();
            assert!(parse(&arguments).is_ok(), "{option}");
        }
    }

    #[test]
    fn words_of_a_command_may_begin_with_a_dash() {
        let Ok(Asks::Check(options)) = parse(&["--image-command=-c", "--image-command=a b"]) else {
            panic!()
        };
        assert_eq!(options.image_command, ["-c", "a b"]);
    }

    #[test]
    fn a_driver_has_no_cpu() {
        assert!(parse(&["--probe", "driver", "--device", "cpu"]).is_err());
    }
}
