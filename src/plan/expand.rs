//! The product of the axes, less what is excluded, plus what is included.
//!
//! Entry point: [`plan()`].

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Plan, PlannedCell, RunLimits, SCHEMA, Source, expect, prune};
use crate::matrix::{BASELINE_IMAGE, BASELINE_VISIBILITY, Coordinates, Include, Matrix, NO_VARIANT};
use crate::model::{BackendKind, Cell, CellId, CellParts, Device, Host, ImageRef, Variant, Visibility};

/// Why a matrix cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Ids end in a digest, so that this takes bad luck; running would mix two cells up.
    #[error("two combinations have the same id `{0}`")]
    SameId(CellId),
}

impl PlanError {
    /// The way out.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::SameId(_) => "rename an image, variant, visibility or host of these combinations",
        }
    }
}

/// Every combination of the matrix, in the order of the axes, each with what it must yield.
///
/// # Errors
/// Two combinations that cannot be told apart by their ids.
pub fn plan(matrix: &Matrix) -> Result<Plan, PlanError> {
    let mut cells = Cells::default();
    for combination in product(matrix).chain(baselines(matrix)) {
        if !matrix.exclude.iter().any(|condition| condition.matches(&combination.coordinates())) {
            cells.add(&combination, matrix)?;
        }
    }
    for include in &matrix.include {
        for combination in included(include, matrix) {
            cells.include(&combination, include, matrix)?;
        }
    }
    Ok(Plan {
        schema: SCHEMA.to_owned(),
        name: matrix.name.clone(),
        source: Source::default(),
        hosts: matrix.hosts.clone(),
        limits: RunLimits {
            jobs: matrix.jobs,
            per_host: matrix.per_host,
            pull: matrix.pull,
            share: matrix.share,
        },
        cells: cells.list,
    })
}

/// One point of the product.
pub(super) struct Combination<'a> {
    pub(super) image: &'a ImageRef,
    pub(super) variant: &'a Variant,
    pub(super) visibility: &'a Visibility,
    pub(super) host: &'a Host,
    pub(super) device: Device,
    device_text: String,
}

impl<'a> Combination<'a> {
    fn new(
        image: &'a ImageRef,
        variant: &'a Variant,
        visibility: &'a Visibility,
        host: &'a Host,
        device: Device,
    ) -> Self {
        Self { image, variant, visibility, host, device, device_text: device.to_string() }
    }

    /// What conditions are held against.
    pub(super) fn coordinates(&self) -> Coordinates<'_> {
        Coordinates {
            image: &self.image.name,
            variant: &self.variant.name,
            visibility: &self.visibility.name,
            host: &self.host.name,
            device: &self.device_text,
            stack: self.variant.stack.map_or("", crate::model::Stack::as_str),
            family: &self.image.family,
        }
    }
}

#[derive(Default)]
struct Cells {
    list: Vec<PlannedCell>,
    by_id: HashMap<CellId, usize>,
}

impl Cells {
    fn add(&mut self, combination: &Combination<'_>, matrix: &Matrix) -> Result<usize, PlanError> {
        let cell = Cell::new(CellParts {
            image: combination.image.clone(),
            variant: combination.variant.clone(),
            visibility: combination.visibility.clone(),
            host: combination.host.name.clone(),
            device: combination.device,
            checks: matrix.checks.clone(),
            expect: expect::expectation(combination, matrix),
            limits: matrix.cell_limits.clone(),
        });
        let pruned = prune::reason(combination, cell.checks.probe);
        let index = self.list.len();
        if self.by_id.insert(cell.id().clone(), index).is_some() {
            return Err(PlanError::SameId(cell.id().clone()));
        }
        self.list.push(PlannedCell { cell, pruned });
        Ok(index)
    }

    /// Adds the combination, or changes it where it is there; what a user asked for by name is not pruned.
    fn include(
        &mut self,
        combination: &Combination<'_>,
        include: &Include,
        matrix: &Matrix,
    ) -> Result<(), PlanError> {
        let index = match self.find(combination) {
            Some(index) => index,
            None => self.add(combination, matrix)?,
        };
        let mut parts = CellParts::clone(&self.list[index].cell);
        if let Some(outcome) = &include.outcome {
            parts.expect = expect::of_outcome(outcome, combination);
        }
        let change = &include.checks;
        parts.checks.timeout_s = change.timeout_s.unwrap_or(parts.checks.timeout_s);
        parts.checks.probe = change.probe.unwrap_or(parts.checks.probe);
        parts.checks.host_check = change.host_check.unwrap_or(parts.checks.host_check);
        parts.checks.python = change.python.clone().or(parts.checks.python);
        self.list[index] = PlannedCell { cell: Cell::new(parts), pruned: None };
        Ok(())
    }

    fn find(&self, combination: &Combination<'_>) -> Option<usize> {
        let at = combination.coordinates();
        let id = CellId::of_coordinates(at.image, at.variant, at.visibility, at.host, combination.device);
        let index = *self.by_id.get(&id)?;
        let cell = &self.list[index].cell;
        let same = (cell.image.name.as_str(), cell.variant.name.as_str(), cell.visibility.name.as_str())
            == (at.image, at.variant, at.visibility)
            && cell.host == at.host
            && cell.device == combination.device;
        same.then_some(index)
    }
}

fn docker_hosts(matrix: &Matrix) -> impl Iterator<Item = &Host> + Clone {
    matrix.hosts.iter().filter(|host| match host.backend {
        BackendKind::Docker(_) => true,
        BackendKind::Host => false,
    })
}

fn product(matrix: &Matrix) -> impl Iterator<Item = Combination<'_>> {
    matrix.images.iter().flat_map(|image| &image.builds).flat_map(|build| {
        let variant = &matrix.variants[build.variant];
        across(&build.image, variant, &matrix.visibilities, docker_hosts(matrix), &matrix.devices)
    })
}

/// Visibility × host × device of one image in one variant.
fn across<'a>(
    image: &'a ImageRef,
    variant: &'a Variant,
    visibilities: &'a [Visibility],
    hosts: impl Iterator<Item = &'a Host> + Clone + 'a,
    devices: &'a [Device],
) -> impl Iterator<Item = Combination<'a>> {
    let places =
        visibilities.iter().flat_map(move |visibility| hosts.clone().map(move |host| (visibility, host)));
    places.flat_map(move |(visibility, host)| {
        devices.iter().map(|device| Combination::new(image, variant, visibility, host, *device))
    })
}

static BASELINE_REF: LazyLock<ImageRef> = LazyLock::new(|| ImageRef {
    name: BASELINE_IMAGE.to_owned(),
    reference: String::new(),
    family: BASELINE_IMAGE.to_owned(),
});
static BASELINE_VARIANT: LazyLock<Variant> =
    LazyLock::new(|| Variant { name: NO_VARIANT.to_owned(), stack: None, toolkit: None });
static BASELINE_EXPOSURE: LazyLock<Visibility> =
    LazyLock::new(|| Visibility { name: BASELINE_VISIBILITY.to_owned(), grants: Vec::new() });

/// The cells of hosts without containers, which have neither images nor ways of exposure: one for each device.
fn baselines(matrix: &Matrix) -> impl Iterator<Item = Combination<'_>> {
    let hosts = matrix.hosts.iter().filter(|host| host.backend == BackendKind::Host);
    hosts.flat_map(move |host| {
        let devices = matrix.devices.iter();
        devices.map(move |device| {
            Combination::new(&BASELINE_REF, &BASELINE_VARIANT, &BASELINE_EXPOSURE, host, *device)
        })
    })
}

/// The combinations that one entry of `include` stands for.
fn included<'a>(include: &'a Include, matrix: &'a Matrix) -> impl Iterator<Item = Combination<'a>> {
    let image = &matrix.images[include.image];
    let builds = image.builds.iter().filter(|build| include.variant.is_none_or(|one| one == build.variant));
    let visibilities = include.visibility.as_ref().map_or(&matrix.visibilities[..], std::slice::from_ref);
    let devices = include.devices.as_ref().unwrap_or(&matrix.devices);
    let only = include.host.map(|index| &matrix.hosts[index]);
    builds.flat_map(move |build| {
        let hosts = docker_hosts(matrix).filter(move |host| only.is_none_or(|only| only.name == host.name));
        across(&build.image, &matrix.variants[build.variant], visibilities, hosts, devices)
    })
}
