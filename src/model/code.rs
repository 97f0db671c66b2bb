//! Every code that a row can have: the checker's, and those of a cell that gave no usable report.
//!
//! Main type: [`Code`].

use std::str::FromStr;

use gpusweep_report::Code as CheckCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Code {
    /// The checker's own word.
    Check(CheckCode),
    /// The controller's, where there is no usable report.
    Cell(CellCode),
}

/// The controller's codes, for cells without a usable report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CellCode {
    /// No answer from the host's engine.
    EngineUnreachable,
    /// The image is not there, or the pull failed.
    ImageUnavailable,
    /// The image is of another architecture.
    PlatformMismatch,
    /// The engine refused to create or start the container.
    LaunchRefused,
    /// The container started, the checker did not.
    CheckerNotRun,
    /// It ended without a report, or with one that is not valid.
    ReportMissing,
    /// The controller's own deadline passed, and the container was killed.
    CellTimeout,
    /// Killed for memory, or by a signal from outside.
    ContainerKilled,
    /// The application of stage 4 failed.
    ApplicationFailed,
    /// The application of stage 4 ended, but not as its contract says.
    ApplicationContractBroken,
    /// The application of stage 4 did not end in time.
    ApplicationTimeout,
    /// The user stopped the sweep.
    Cancelled,
}

impl CellCode {
    /// Every code, in the order of its exit status.
    pub const ALL: [Self; 12] = [
        Self::EngineUnreachable,
        Self::ImageUnavailable,
        Self::PlatformMismatch,
        Self::LaunchRefused,
        Self::CheckerNotRun,
        Self::ReportMissing,
        Self::CellTimeout,
        Self::ContainerKilled,
        Self::ApplicationFailed,
        Self::ApplicationContractBroken,
        Self::ApplicationTimeout,
        Self::Cancelled,
    ];

    /// The name as it stands in tables and matrices.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EngineUnreachable => "ENGINE_UNREACHABLE",
            Self::ImageUnavailable => "IMAGE_UNAVAILABLE",
            Self::PlatformMismatch => "PLATFORM_MISMATCH",
            Self::LaunchRefused => "LAUNCH_REFUSED",
            Self::CheckerNotRun => "CHECKER_NOT_RUN",
            Self::ReportMissing => "REPORT_MISSING",
            Self::CellTimeout => "CELL_TIMEOUT",
            Self::ContainerKilled => "CONTAINER_KILLED",
            Self::ApplicationFailed => "APPLICATION_FAILED",
            Self::ApplicationContractBroken => "APPLICATION_CONTRACT_BROKEN",
            Self::ApplicationTimeout => "APPLICATION_TIMEOUT",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The exit status that stands for this code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::EngineUnreachable => 20,
            Self::ImageUnavailable => 21,
            Self::PlatformMismatch => 22,
            Self::LaunchRefused => 23,
            Self::CheckerNotRun => 24,
            Self::ReportMissing => 25,
            Self::CellTimeout => 26,
            Self::ContainerKilled => 27,
            Self::ApplicationFailed => 30,
            Self::ApplicationContractBroken => 31,
            Self::ApplicationTimeout => 32,
            Self::Cancelled => 40,
        }
    }

    /// What to do after this code when no cause is known.
    #[must_use]
    pub const fn next_action(self) -> &'static str {
        match self {
            Self::EngineUnreachable => {
                "start the Docker engine, or point `hosts:` or DOCKER_HOST at one that answers"
            }
            Self::ImageUnavailable => "build or pull the image on that host, or correct its `ref:`",
            Self::PlatformMismatch => "use an image built for the host's architecture",
            Self::LaunchRefused => "correct what the engine's refusal names, on that host or in the matrix",
            Self::CheckerNotRun => {
                "check that the image allows executing a mounted static file (noexec, seccomp, architecture)"
            }
            Self::ReportMissing => {
                "read the cell's private log in the run folder to see what ended the checker"
            }
            Self::CellTimeout => "find out what hangs in this cell, or raise `limits.cell_timeout`",
            Self::ContainerKilled => "raise the memory limit, or find out who sent the signal",
            Self::ApplicationFailed => "read the application's first error",
            Self::ApplicationContractBroken => "compare the application's outputs with its contract",
            Self::ApplicationTimeout => "find the last phase that the application finished",
            Self::Cancelled => "run the sweep again",
        }
    }
}

impl Code {
    /// Every code that a row can have.
    pub fn all() -> impl Iterator<Item = Self> {
        CheckCode::ALL.into_iter().map(Self::Check).chain(CellCode::ALL.into_iter().map(Self::Cell))
    }

    /// The name as it stands in tables and matrices.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check(code) => code.as_str(),
            Self::Cell(code) => code.as_str(),
        }
    }

    /// The exit status that stands for this code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Check(code) => code.exit_code(),
            Self::Cell(code) => code.exit_code(),
        }
    }

    /// What to do after this code when no cause is known.
    #[must_use]
    pub const fn next_action(self) -> &'static str {
        match self {
            Self::Check(code) => code.next_action(),
            Self::Cell(code) => code.next_action(),
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no code.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a code")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::all().find(|code| code.as_str() == name).ok_or_else(|| UnknownCode(name.to_owned()))
    }
}

impl From<CheckCode> for Code {
    fn from(code: CheckCode) -> Self {
        Self::Check(code)
    }
}

impl From<CellCode> for Code {
    fn from(code: CellCode) -> Self {
        Self::Cell(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_agree_with_serde() {
        let mut names: Vec<&str> = Code::all().map(Code::as_str).collect();
        for code in Code::all() {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert_eq!(code.as_str().parse::<Code>().unwrap(), code);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::all().count());
    }
}
