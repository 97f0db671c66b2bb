//! One planned combination.
//!
//! Main type: [`Cell`], built by the planner alone, from [`CellParts`]; its [`CellId`] follows from its coordinates, so
//! the same combination has the same id in every run.

use std::time::Duration;

use gpusweep_report::Probe;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Code, Fact, Visibility, hex};

/// A GPU software stack.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// NVIDIA's.
    Cuda,
    /// AMD's.
    Rocm,
    /// None.
    Cpu,
}

impl Stack {
    /// The name as it stands in matrices and tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Cpu => "cpu",
        }
    }
}

/// An image under test, its placeholders filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRef {
    /// Name in the matrix.
    pub name: String,
    /// Reference as an engine takes it.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Family under which variants are compared side by side.
    pub family: String,
}

/// A build variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Name in the matrix; `-` where the matrix has no variants.
    pub name: String,
    /// Stack; none where the matrix does not say.
    pub stack: Option<Stack>,
    /// Version of the toolkit, as typed.
    pub toolkit: Option<String>,
}

/// What a cell asks to compute on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// A GPU, by its index inside the container.
    Gpu(u32),
    /// The CPU.
    Cpu,
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gpu(index) => f.pad(&index.to_string()),
            Self::Cpu => f.pad("cpu"),
        }
    }
}

impl Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "cpu" {
            return Ok(Self::Cpu);
        }
        text.parse().map(Self::Gpu).map_err(|_| format!("`{text}` is no device: give a GPU index, or `cpu`"))
    }
}

/// What the checker is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// Deadline of the computation, in seconds; 5 to 120.
    pub timeout_s: u32,
    /// Probe.
    pub probe: Probe,
    /// Whether `nvidia-smi` is asked too.
    pub host_check: bool,
    /// Interpreter to check, as a path in the image; none = the checker finds it.
    pub python: Option<String>,
}

/// What a cell must yield.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Any of these codes.
    pub codes: Vec<Code>,
    /// All of these facts.
    pub facts: Vec<Fact>,
}

/// Bounds of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The controller's own deadline, from the start of the container to its end.
    #[serde(rename = "cell_timeout_s", with = "seconds")]
    pub cell_timeout: Duration,
    /// Memory of the container, in bytes; none = no limit.
    pub memory: Option<u64>,
}

/// Whole seconds, as every other time of a plan.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

/// Stable identity of a cell: fit for file and container names, at most 72 characters of `[a-z0-9_.-]`.
///
/// Its last 12 characters are a digest of the exact coordinates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(String);

impl CellId {
    /// The identity of the combination with these coordinates.
    #[must_use]
    pub fn of_coordinates(image: &str, variant: &str, visibility: &str, host: &str, device: Device) -> Self {
        let device = match device {
            Device::Gpu(index) => format!("gpu{index}"),
            Device::Cpu => device.to_string(),
        };
        Self::of([image, variant, visibility, host, &device])
    }

    /// Readable coordinates, then a digest of the exact ones, since cutting and lowering can make two alike.
    fn of(coordinates: [&str; 5]) -> Self {
        let mut digest = Sha256::new();
        for part in coordinates {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let readable: Vec<String> =
            coordinates.iter().filter(|part| **part != "-").map(|part| slug(part)).collect();
        let mut id: String = readable.join(".").chars().take(59).collect();
        id.push('-');
        id.push_str(&hex(&digest.finalize()[..6]));
        Self(id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

fn slug(part: &str) -> String {
    let lower = part.to_lowercase();
    let safe: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(24).collect();
    if safe.is_empty() { "_".to_owned() } else { safe }
}

/// Everything that a cell is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellParts {
    /// Image.
    pub image: ImageRef,
    /// Variant.
    pub variant: Variant,
    /// Exposure.
    pub visibility: Visibility,
    /// Host, by its name.
    pub host: String,
    /// Device asked for.
    pub device: Device,
    /// What the checker is asked.
    pub checks: Checks,
    /// What it must yield.
    pub expect: Expectation,
    /// Its bounds.
    pub limits: Limits,
}

/// One planned combination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    id: CellId,
    #[serde(flatten)]
    parts: CellParts,
}

impl Cell {
    /// Gives a combination its identity.
    #[must_use]
    pub fn new(parts: CellParts) -> Self {
        let id = CellId::of_coordinates(
            &parts.image.name,
            &parts.variant.name,
            &parts.visibility.name,
            &parts.host,
            parts.device,
        );
        Self { id, parts }
    }

    /// Identity.
    #[must_use]
    pub const fn id(&self) -> &CellId {
        &self.id
    }
}

impl std::ops::Deref for Cell {
    type Target = CellParts;

    fn deref(&self) -> &CellParts {
        &self.parts
    }
}
