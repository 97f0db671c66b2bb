//! Which key of a row is the image, which one its tag, and which one its variant.
//!
//! Main type: [`Choice`]. A key that the user gives is taken as it is; else the table of names decides, then the values.

use std::collections::BTreeSet;

use super::github::Keys;
use super::names::shown;
use super::rows::Row;
use super::{ImportError, variant};
use crate::matrix::reference::{check, is_exact};

/// Keys that hold an image by their name, the best first.
const IMAGE: [&str; 18] = [
    "IMAGE",
    "IMAGE_REF",
    "IMAGE_REFERENCE",
    "DOCKER_IMAGE",
    "CONTAINER_IMAGE",
    "FULL_IMAGE",
    "CONTAINER",
    "REF",
    "REFERENCE",
    "IMAGE_NAME",
    "IMAGE_TAGS",
    "IMAGE_TAG",
    "TAGS",
    "DOCKER_TAG",
    "TAG",
    "REPOSITORY",
    "REPO",
    "PACKAGE",
];

/// The same, where a row names no image of its own but the one that it builds upon.
const BASE: [&str; 5] = ["BASE_IMAGE", "BASEIMAGE", "FROM_IMAGE", "BASE", "FROM"];

/// Keys that hold the tag of an image that has none.
const TAG: [&str; 5] = ["TAG", "IMAGE_TAG", "DOCKER_TAG", "TAGS", "IMAGE_TAGS"];

/// Keys that hold whole references, and say more than a repository without a tag.
const TAGS: [&str; 2] = ["TAGS", "IMAGE_TAGS"];

/// Keys that hold the variant where their values name one.
const VARIANT: [&str; 3] = ["VARIANT", "FLAVOR", "FLAVOUR"];

/// Most keys that an error lists.
const LISTED: usize = 40;

/// What the keys are.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) image: String,
    /// Whose value completes an image without a tag.
    pub(super) tag: Option<String>,
    pub(super) variant: Option<String>,
}

impl Choice {
    pub(super) fn of(rows: &[Row], keys: &Keys) -> Result<Self, ImportError> {
        let all = all(rows);
        let image = match &keys.image {
            Some(key) => given(key, "--image-key", &all)?,
            None => image(rows, &all)?,
        };
        let variant = match &keys.variant {
            Some(key) => Some(given(key, "--variant-key", &all)?),
            None => named(&all, &VARIANT).find(|key| tells(rows, key)),
        };
        let tag = named(&all, &TAG).find(|key| *key != image);
        Ok(Self { image, tag, variant })
    }
}

/// Every key, in the order of the rows.
fn all(rows: &[Row]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let keys = rows.iter().flat_map(|row| row.fields.iter().map(|(key, _)| key.as_str()));
    keys.filter(|key| seen.insert(*key)).collect()
}

fn listing(keys: &[&str]) -> String {
    let more =
        if keys.len() > LISTED { format!(", and {} more", keys.len() - LISTED) } else { String::new() };
    let shown: Vec<String> = keys.iter().take(LISTED).map(|key| format!("`{}`", shown(key))).collect();
    format!("{}{more}", shown.join(", "))
}

fn given(key: &str, flag: &str, all: &[&str]) -> Result<String, ImportError> {
    if all.contains(&key) {
        return Ok(key.to_owned());
    }
    let message = format!("no row has the key `{}` of {flag}", shown(key));
    if all.is_empty() {
        return Err(ImportError::new(message, "give rows that have keys"));
    }
    Err(ImportError::new(message, format!("give one of the keys that there are: {}", listing(all))))
}

/// The keys that have one of these names, in the order of the names.
fn named<'a>(all: &'a [&str], names: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    names
        .iter()
        .flat_map(|name| all.iter().filter(move |key| variant::normal(key) == **name))
        .map(|key| (*key).to_owned())
}

fn values<'a>(rows: &'a [Row], key: &'a str) -> impl Iterator<Item = &'a String> {
    rows.iter().flat_map(move |row| row.get(key))
}

fn image(rows: &[Row], all: &[&str]) -> Result<String, ImportError> {
    // A repository or a tag: whether it is a sound reference is told for each row.
    let looks = |text: &String| text.contains(['/', ':']);
    if let Some(key) = named(all, &IMAGE).find(|key| values(rows, key).any(looks)) {
        let exact = |key: &String| values(rows, key).any(|text| text.contains('/') && is_exact(text));
        let better = if exact(&key) { None } else { named(all, &TAGS).find(exact) };
        return Ok(better.unwrap_or(key));
    }
    // `image: ubuntu` names an image; `ref: main` and `tag: cu128` do not.
    if let Some(key) = named(all, &IMAGE[..7]).find(|key| values(rows, key).any(|text| check(text).is_ok())) {
        return Ok(key);
    }
    let sound = |text: &String| check(text).is_ok() && text.contains('/') && is_exact(text);
    let others: Vec<&str> = all
        .iter()
        .copied()
        .filter(|key| !BASE.contains(&variant::normal(key).as_str()))
        .filter(|key| values(rows, key).count() > 0 && values(rows, key).all(sound))
        .collect();
    match others[..] {
        [one] => return Ok(one.to_owned()),
        [] => {}
        [_, _, ..] => {
            return Err(ImportError::new(
                format!("several keys hold image references: {}", listing(&others)),
                format!("give the one that is under test: `--image-key {}`", shown(others[0])),
            ));
        }
    }
    named(all, &BASE).find(|key| values(rows, key).any(looks)).ok_or_else(|| nothing(all))
}

fn nothing(all: &[&str]) -> ImportError {
    let keys = if all.is_empty() {
        "the rows have no keys".to_owned()
    } else {
        format!("the keys are {}", listing(all))
    };
    ImportError::new(
        format!("no key holds an image reference: {keys}"),
        "name the one that does with `--image-key KEY`, or add a key `image` with REGISTRY/NAME:TAG to each row",
    )
}

/// Whether the values of a key name variants.
fn tells(rows: &[Row], key: &str) -> bool {
    values(rows, key).next().is_some() && values(rows, key).all(|text| variant::of_text(text).is_some())
}
