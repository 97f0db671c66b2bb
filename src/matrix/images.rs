//! The first two axes: images and their variants.
//!
//! They are read together, since the placeholders of one name the keys of the other.

use std::collections::BTreeSet;

use super::at::{At, Entries, Place};
use super::error::{Parsed, Problem};
use super::meant::{Build, Image, NO_VARIANT};
use super::placeholder::{Fault, Template};
use super::raw::{RawImage, RawVariant};
use super::{reference, scalars};
use crate::model::{ImageRef, Variant};

/// A variant and the texts that placeholders may ask for.
struct Keyed<'a> {
    variant: Variant,
    keys: &'a [(At<String>, At<String>)],
}

/// Both axes, each image with its builds.
pub(super) fn parse(
    images: &At<Vec<At<RawImage>>>,
    variants: Option<&At<Entries<Option<At<RawVariant>>>>>,
) -> Parsed<(Vec<Image>, Vec<Variant>)> {
    if images.value.is_empty() {
        return Err(Problem::new(
            images.place,
            "`images` is empty",
            "give at least one image: `- { name: …, ref: … }`",
        ));
    }
    let templates = images.value.iter().map(template).collect::<Parsed<Vec<_>>>()?;
    let keyed = variants.map(|variants| parse_variants(variants, &templates)).transpose()?;
    let mut parsed: Vec<Image> = Vec::new();
    let mut names = BTreeSet::new();
    for (image, template) in images.value.iter().zip(&templates) {
        let name = scalars::name(&image.value.name, "an image")?;
        if !names.insert(name.clone()) {
            return Err(duplicate(image.value.name.place, "image", &name));
        }
        let family = match &image.value.family {
            Some(family) => scalars::name(family, "a family")?,
            None => name.clone(),
        };
        let builds = builds(&image.value, template, keyed.as_deref())?
            .into_iter()
            .map(|(variant, reference)| Build {
                variant,
                image: ImageRef { name: name.clone(), reference, family: family.clone() },
            })
            .collect();
        parsed.push(Image { name, family, builds });
    }
    let variants = match keyed {
        Some(keyed) => keyed.into_iter().map(|keyed| keyed.variant).collect(),
        None => vec![Variant { name: NO_VARIANT.to_owned(), stack: None, toolkit: None }],
    };
    Ok((parsed, variants))
}

/// A name that an axis has already.
pub(super) fn duplicate(place: Place, what: &str, name: &str) -> Problem {
    Problem::new(
        place,
        format!("{what} `{name}` is there twice"),
        "remove one of the two, or give it another name",
    )
}

fn template(image: &At<RawImage>) -> Parsed<Template> {
    let reference = &image.value.reference;
    Template::parse(&reference.value).map_err(|fault| match fault {
        Fault::Unpaired(brace) => Problem::new(
            reference.place,
            format!("`{}` has a `{brace}` without its counterpart", reference.value),
            "write placeholders as `{variant}` or `{variant.KEY}`",
        ),
        Fault::Unknown(placeholder) => Problem::new(
            reference.place,
            format!("unknown placeholder `{{{placeholder}}}`"),
            "use `{variant}` for the variant's name, or `{variant.KEY}` for one of its keys",
        ),
    })
}

fn parse_variants<'a>(
    variants: &'a At<Entries<Option<At<RawVariant>>>>,
    templates: &[Template],
) -> Parsed<Vec<Keyed<'a>>> {
    if variants.value.0.is_empty() {
        return Err(Problem::new(
            variants.place,
            "`variants` is empty",
            "give at least one variant, or remove the key",
        ));
    }
    let wanted: BTreeSet<&str> = templates.iter().flat_map(Template::keys).collect();
    variants.value.0.iter().map(|(name, keys)| parse_variant(name, keys.as_ref(), &wanted)).collect()
}

fn parse_variant<'a>(
    name: &At<String>,
    keys: Option<&'a At<RawVariant>>,
    wanted: &BTreeSet<&str>,
) -> Parsed<Keyed<'a>> {
    let mut variant = Variant { name: scalars::name(name, "a variant")?, stack: None, toolkit: None };
    let keys = keys.map_or(&[][..], |keys| &keys.value.0);
    for (key, value) in keys {
        match key.value.as_str() {
            "stack" => variant.stack = Some(scalars::stack(value)?),
            "toolkit" => variant.toolkit = Some(value.value.clone()),
            other if wanted.contains(other) => {}
            other => {
                let known = ["stack", "toolkit"].into_iter().chain(wanted.iter().copied());
                let mut problem = Problem::unknown(key.place, "key", other, known);
                problem.message.push_str(" in a variant, and no image has a placeholder of that name");
                return Err(problem);
            }
        }
    }
    Ok(Keyed { variant, keys })
}

/// The variants that an image exists in, by their indices, and its reference in each.
fn builds(
    image: &RawImage,
    template: &Template,
    variants: Option<&[Keyed<'_>]>,
) -> Parsed<Vec<(usize, String)>> {
    let reference = &image.reference;
    let Some(variants) = variants else {
        if let Some(fixed) = &image.variant {
            return Err(Problem::new(
                fixed.place,
                format!("variant `{}` is named, but the matrix has no `variants`", fixed.value),
                format!("add `variants: {{ {}: {{ stack: … }} }}`, or remove the key", fixed.value),
            ));
        }
        if template.has_placeholder() {
            return Err(Problem::new(
                reference.place,
                format!("`{}` has a placeholder, but the matrix has no `variants`", reference.value),
                "add `variants:`, or write the reference out",
            ));
        }
        checked(reference, reference.value.clone(), None)?;
        return Ok(vec![(0, reference.value.clone())]);
    };
    let fixed = image.variant.as_ref().map(|fixed| index_of(fixed, variants)).transpose()?;
    let indices = fixed.map_or(0..variants.len(), |index| index..index + 1);
    indices.map(|variant| build(reference, template, variant, &variants[variant])).collect()
}

fn index_of(fixed: &At<String>, variants: &[Keyed<'_>]) -> Parsed<usize> {
    let names = || variants.iter().map(|keyed| keyed.variant.name.as_str());
    names()
        .position(|name| name == fixed.value)
        .ok_or_else(|| Problem::unknown(fixed.place, "variant", &fixed.value, names()))
}

fn build(
    reference: &At<String>,
    template: &Template,
    index: usize,
    keyed: &Keyed<'_>,
) -> Parsed<(usize, String)> {
    let name = &keyed.variant.name;
    let value_of = |key: &str| {
        keyed.keys.iter().find(|(known, _)| known.value == key).map(|(_, value)| value.value.as_str())
    };
    let filled = template.fill(name, value_of).map_err(|key| {
        Problem::new(
            reference.place,
            format!("`{{variant.{key}}}` cannot be filled in: variant `{name}` has no `{key}`"),
            format!("add `{key}: …` to variant `{name}`"),
        )
    })?;
    let variant = template.has_placeholder().then_some(name.as_str());
    checked(reference, filled.clone(), variant)?;
    Ok((index, filled))
}

fn checked(place: &At<String>, filled: String, variant: Option<&str>) -> Parsed<()> {
    reference::check(&filled).map_err(|why| {
        let by = variant.map(|name| format!(", filled in for variant `{name}`,")).unwrap_or_default();
        let hint = if why.contains("upper-case") && variant.is_some() {
            "use lower case in the reference and in the variant's name, or fill in a key of it: `{variant.KEY}`".to_owned()
        } else if why.contains("upper-case") {
            format!("write it in lower case: `{}`", filled.to_lowercase())
        } else if why.contains("scheme") {
            "write it without the scheme".to_owned()
        } else {
            "write it as `docker pull` takes it: `[REGISTRY/]NAME[:TAG][@DIGEST]`".to_owned()
        };
        Problem::new(
            place.place,
            format!("`{}`{by} is no image reference: {why}", filled.escape_debug()),
            hint,
        )
    })
}
