//! The matrix as meant: every value valid, every name resolved, defaults filled in.
//!
//! Main type: [`Matrix`], built by [`super::parse()`] alone, which is why its fields cannot be set from outside.

use std::time::Duration;

use gpusweep_report::Probe;

use super::condition::Condition;
use crate::model::{Checks, Code, Device, Fact, Host, ImageRef, Limits, Variant, Visibility};

/// Name of the one variant of a matrix without `variants:`, and of a host's baseline.
pub(crate) const NO_VARIANT: &str = "-";
/// Name of the image, and of the family, of a baseline: a host without a container.
pub(crate) const BASELINE_IMAGE: &str = "(host)";
/// Name of the visibility of a baseline: the host has what it has.
pub(crate) const BASELINE_VISIBILITY: &str = "host";

/// Everything that a matrix asks for.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub(crate) name: String,
    pub(crate) images: Vec<Image>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) visibilities: Vec<Visibility>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) devices: Vec<Device>,
    pub(crate) checks: Checks,
    pub(crate) rules: Vec<Rule>,
    pub(crate) exclude: Vec<Condition>,
    pub(crate) include: Vec<Include>,
    pub(crate) cell_limits: Limits,
    pub(crate) jobs: Option<u32>,
    pub(crate) per_host: Option<u32>,
    pub(crate) pull: Option<u32>,
    pub(crate) share: bool,
}

impl Matrix {
    /// Name of the sweep.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An image and the variants that it exists in.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) builds: Vec<Build>,
}

/// One variant of an image.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    /// Index into [`Matrix::variants`].
    pub(crate) variant: usize,
    /// The image, the placeholders of its reference filled in.
    pub(crate) image: ImageRef,
}

/// What the cells that match must yield.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) when: Condition,
    pub(crate) outcome: Outcome,
}

/// What a rule says, with what it leaves open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// None = the code that such a cell yields by nature.
    pub(crate) codes: Option<Vec<Code>>,
    pub(crate) facts: Vec<Fact>,
}

/// One combination to add or to change; none = every value of that axis.
#[derive(Clone, Debug)]
pub(crate) struct Include {
    /// Index into [`Matrix::images`].
    pub(crate) image: usize,
    /// Index into [`Matrix::variants`].
    pub(crate) variant: Option<usize>,
    pub(crate) visibility: Option<Visibility>,
    /// Index into [`Matrix::hosts`].
    pub(crate) host: Option<usize>,
    pub(crate) devices: Option<Vec<Device>>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) checks: ChecksChange,
}

/// What of the checks a combination changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChecksChange {
    pub(crate) timeout_s: Option<u32>,
    pub(crate) probe: Option<Probe>,
    pub(crate) host_check: Option<bool>,
    pub(crate) python: Option<String>,
}

/// Deadline of one cell where the matrix gives none.
pub(super) const CELL_TIMEOUT: Duration = Duration::from_secs(600);
