//! From the matrix as typed to the matrix as meant.
//!
//! Entry point: [`parse()`]. Each axis has a file of its own; here they are joined, and names are resolved across them.

use std::time::Duration;

use gpusweep_report::Probe;

use super::at::{At, Texts};
use super::condition::{self, Condition, Known};
use super::error::{MatrixError, Parsed, Problem};
use super::meant::{
    BASELINE_IMAGE, BASELINE_VISIBILITY, CELL_TIMEOUT, ChecksChange, Matrix, NO_VARIANT, Rule,
};
use super::raw::{RawChecks, RawLimits, RawMatrix, RawRule, RawWhen};
use super::{hosts, images, include, outcome, scalars, visibility, yaml};
use crate::model::{BackendKind, Checks, Device, Limits};

/// The value of `schema:`.
pub const SCHEMA: &str = "gpusweep.matrix/1";

/// Least memory that an engine gives a container.
const LEAST_MEMORY: u64 = 6 << 20;

/// Longest deadline of a cell: a day.
const MAX_CELL_TIMEOUT_S: u64 = 86_400;

/// Reads a matrix from YAML or JSON.
///
/// # Errors
/// The first thing that is wrong with it, with its place in the file, which is named `file_name` in the message.
pub fn parse(source: &str, file_name: &str) -> Result<Matrix, MatrixError> {
    yaml::read(source)
        .and_then(|raw| matrix(&raw, source))
        .map_err(|problem| MatrixError::new(problem, file_name, source))
}

fn matrix(raw: &RawMatrix, source: &str) -> Parsed<Matrix> {
    if raw.schema.value != SCHEMA {
        return Err(Problem::new(
            raw.schema.place,
            format!("`schema: {}` is not one that this version reads", raw.schema.value),
            format!("write `schema: {SCHEMA}`"),
        ));
    }
    let name = scalars::folder_name(&raw.name, "a matrix")?;
    let (images, variants) = images::parse(&raw.images, raw.variants.as_ref())?;
    let visibilities = visibility::parse(raw.visibility.as_ref(), source)?;
    let hosts = hosts::parse(raw.hosts.as_ref(), raw.backend.as_ref(), raw.placement.as_ref(), source)?;
    let (devices, checks) = checks(raw.checks.as_ref().map(|checks| &checks.value), source)?;
    let limits = raw.limits.as_ref().map(|limits| &limits.value);
    let mut matrix = Matrix {
        name,
        images,
        variants,
        visibilities,
        hosts,
        devices,
        checks,
        rules: Vec::new(),
        exclude: Vec::new(),
        include: Vec::new(),
        cell_limits: cell_limits(limits)?,
        jobs: count(limits.and_then(|limits| limits.jobs.as_ref()), "jobs")?,
        per_host: count(limits.and_then(|limits| limits.per_host.as_ref()), "per_host")?,
        pull: count(limits.and_then(|limits| limits.pull.as_ref()), "pull")?,
        share: limits.is_some_and(|limits| limits.share),
    };
    let includes = raw.include.as_deref().unwrap_or_default();
    matrix.include =
        includes.iter().map(|entry| include::entry(entry, &matrix, source)).collect::<Parsed<_>>()?;
    let known = known(&matrix);
    let rules = raw.expect.as_deref().unwrap_or_default();
    matrix.rules = rules.iter().map(|raw| rule(raw, &known, source)).collect::<Parsed<_>>()?;
    let excludes = raw.exclude.as_deref().unwrap_or_default();
    matrix.exclude = excludes.iter().map(|raw| exclude(raw, &known, source)).collect::<Parsed<_>>()?;
    Ok(matrix)
}

fn count(text: Option<&At<String>>, what: &str) -> Parsed<Option<u32>> {
    text.map(|text| scalars::count(text, what)).transpose()
}

fn checks(raw: Option<&RawChecks>, source: &str) -> Parsed<(Vec<Device>, Checks)> {
    let none = RawChecks::default();
    let raw = raw.unwrap_or(&none);
    let devices = match &raw.device {
        Some(texts) => devices(texts, source)?,
        None => vec![Device::Gpu(0)],
    };
    let change =
        checks_change(raw.timeout.as_ref(), raw.probe.as_ref(), raw.host_check, raw.python.as_ref())?;
    let checks = Checks {
        timeout_s: change.timeout_s.unwrap_or(30),
        probe: change.probe.unwrap_or(Probe::Auto),
        host_check: change.host_check.unwrap_or(false),
        python: change.python,
    };
    Ok((devices, checks))
}

/// The keys that `checks` and an entry of `include` share.
pub(super) fn checks_change(
    timeout: Option<&At<String>>,
    probe: Option<&At<String>>,
    host_check: Option<bool>,
    python: Option<&At<String>>,
) -> Parsed<ChecksChange> {
    let timeout = timeout.map(|text| scalars::seconds_within(text, "timeout", 5, 120)).transpose()?;
    Ok(ChecksChange {
        timeout_s: timeout.map(|seconds| u32::try_from(seconds).unwrap_or(120)),
        probe: probe.map(scalars::probe).transpose()?,
        host_check,
        python: python.map(scalars::python).transpose()?,
    })
}

/// One or several devices, each once.
pub(super) fn devices(texts: &Texts, source: &str) -> Parsed<Vec<Device>> {
    let items = texts.items(source);
    if items.is_empty() {
        return Err(Problem::new(
            texts.place,
            "`device` has an empty list",
            "give a GPU index, `cpu`, or both: `[0, cpu]`",
        ));
    }
    let mut devices = Vec::new();
    for item in &items {
        let device = scalars::device(item)?;
        if devices.contains(&device) {
            let message = format!("device `{device}` is there twice");
            return Err(Problem::new(item.place, message, "remove one of the two"));
        }
        devices.push(device);
    }
    Ok(devices)
}

fn cell_limits(raw: Option<&RawLimits>) -> Parsed<Limits> {
    let timeout = raw.and_then(|raw| raw.cell_timeout.as_ref());
    let timeout = timeout.map(|text| scalars::seconds_within(text, "cell_timeout", 1, MAX_CELL_TIMEOUT_S));
    let memory = raw.and_then(|raw| raw.memory.as_ref());
    Ok(Limits {
        cell_timeout: timeout.transpose()?.map_or(CELL_TIMEOUT, Duration::from_secs),
        memory: memory.map(memory_limit).transpose()?,
    })
}

fn memory_limit(text: &At<String>) -> Parsed<u64> {
    let bytes = scalars::bytes(text)?;
    if bytes < LEAST_MEMORY {
        return Err(Problem::new(
            text.place,
            format!("`memory: {}` is less than an engine gives a container", text.value),
            "give at least `6m`, or remove the key for no limit",
        ));
    }
    Ok(bytes)
}

/// Every value that a condition may name.
fn known(matrix: &Matrix) -> Known {
    let mut known = Known {
        image: matrix.images.iter().map(|image| image.name.clone()).collect(),
        variant: matrix.variants.iter().map(|variant| variant.name.clone()).collect(),
        visibility: matrix.visibilities.iter().map(|visibility| visibility.name.clone()).collect(),
        host: matrix.hosts.iter().map(|host| host.name.clone()).collect(),
        device: matrix.devices.iter().map(ToString::to_string).collect(),
        family: matrix.images.iter().map(|image| image.family.clone()).collect(),
    };
    for include in &matrix.include {
        known.visibility.extend(include.visibility.iter().map(|visibility| visibility.name.clone()));
        known.device.extend(include.devices.iter().flatten().map(ToString::to_string));
    }
    if matrix.hosts.iter().any(|host| host.backend == BackendKind::Host) {
        known.image.push(BASELINE_IMAGE.to_owned());
        known.family.push(BASELINE_IMAGE.to_owned());
        known.variant.push(NO_VARIANT.to_owned());
        known.visibility.push(BASELINE_VISIBILITY.to_owned());
    }
    for values in [&mut known.visibility, &mut known.device, &mut known.family, &mut known.variant] {
        values.sort();
        values.dedup();
    }
    known
}

fn rule(raw: &At<RawRule>, known: &Known, source: &str) -> Parsed<Rule> {
    let when = match &raw.value.when {
        Some(when) => condition::parse(&when.value, known, source)?,
        None => Condition::default(),
    };
    Ok(Rule { when, outcome: outcome::of_rule(raw, source)? })
}

fn exclude(raw: &At<RawWhen>, known: &Known, source: &str) -> Parsed<Condition> {
    let condition = condition::parse(&raw.value, known, source)?;
    if condition.is_empty() {
        return Err(Problem::new(
            raw.place,
            "this entry of `exclude` names nothing, and would leave out every combination",
            "name what to leave out, such as `{ image: …, visibility: … }`",
        ));
    }
    Ok(condition)
}

/// The index of a name on its axis.
pub(super) fn position<'a>(
    text: &At<String>,
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Parsed<usize> {
    names
        .clone()
        .position(|name| name == text.value)
        .ok_or_else(|| Problem::unknown(text.place, what, &text.value, names))
}
