//! Combinations to add or to change.

use super::at::At;
use super::error::{Parsed, Problem};
use super::meant::{BASELINE_IMAGE, Image, Include, Matrix};
use super::raw::RawInclude;
use super::{outcome, parse, presets};
use crate::model::{BackendKind, Visibility};

/// One entry; the axes of `matrix` are complete.
pub(super) fn entry(raw: &At<RawInclude>, matrix: &Matrix, source: &str) -> Parsed<Include> {
    let raw = &raw.value;
    if raw.image.value == BASELINE_IMAGE {
        return Err(Problem::new(
            raw.image.place,
            format!("`{BASELINE_IMAGE}` is no image: a host without containers has its cells by itself"),
            format!(
                "say what they must yield with a rule of `expect`: `when: {{ image: \"{BASELINE_IMAGE}\" }}`"
            ),
        ));
    }
    let image = parse::position(&raw.image, "image", matrix.images.iter().map(|image| image.name.as_str()))?;
    let variant =
        raw.variant.as_ref().map(|text| variant(text, &matrix.images[image], matrix)).transpose()?;
    Ok(Include {
        image,
        variant,
        visibility: raw.visibility.as_ref().map(|text| visibility(text, matrix)).transpose()?,
        host: raw.host.as_ref().map(|text| host(text, matrix)).transpose()?,
        devices: raw.device.as_ref().map(|texts| parse::devices(texts, source)).transpose()?,
        outcome: raw.expect.as_ref().map(|expect| outcome::of_include(expect, source)).transpose()?,
        checks: parse::checks_change(
            raw.timeout.as_ref(),
            raw.probe.as_ref(),
            raw.host_check,
            raw.python.as_ref(),
        )?,
    })
}

fn variant(text: &At<String>, image: &Image, matrix: &Matrix) -> Parsed<usize> {
    let names = matrix.variants.iter().map(|variant| variant.name.as_str());
    let index = parse::position(text, "variant", names)?;
    if image.builds.iter().any(|build| build.variant == index) {
        return Ok(index);
    }
    let built: Vec<&str> =
        image.builds.iter().map(|build| matrix.variants[build.variant].name.as_str()).collect();
    Err(Problem::new(
        text.place,
        format!("image `{}` is not built in variant `{}`", image.name, text.value),
        format!("use `{}`, or give the image a `{{variant}}` in its `ref`", built.join("`, `")),
    ))
}

/// One of the axis, or a preset beside it.
fn visibility(text: &At<String>, matrix: &Matrix) -> Parsed<Visibility> {
    let on_axis = matrix.visibilities.iter().find(|visibility| visibility.name == text.value).cloned();
    let preset = || presets::find(&text.value).map(presets::Preset::visibility);
    on_axis.or_else(preset).ok_or_else(|| {
        let axis = matrix.visibilities.iter().map(|visibility| visibility.name.as_str());
        let presets = presets::PRESETS.iter().map(|preset| preset.name);
        let mut known: Vec<&str> = axis.chain(presets).collect();
        known.sort_unstable();
        known.dedup();
        Problem::unknown(text.place, "visibility", &text.value, known)
    })
}

fn host(text: &At<String>, matrix: &Matrix) -> Parsed<usize> {
    let index = parse::position(text, "host", matrix.hosts.iter().map(|host| host.name.as_str()))?;
    match matrix.hosts[index].backend {
        BackendKind::Docker(_) => Ok(index),
        BackendKind::Host => Err(Problem::new(
            text.place,
            format!("host `{}` runs no containers", text.value),
            "name a host with `backend: docker`",
        )),
    }
}
