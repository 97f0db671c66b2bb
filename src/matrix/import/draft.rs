//! What a source holds, before it is written down.
//!
//! Main types: [`Found`], one image; [`Draft`], all of them, with what was left out.

use std::collections::BTreeMap;

use super::names::shown;
use super::variant::{self, Resolved, Said, Signal};
use super::{ImportError, Imported, reference, write};
use crate::matrix::reference::{check, is_exact};

/// One image that the source names.
#[derive(Debug)]
pub(super) struct Found {
    /// What the source calls it, for comments; shown text.
    pub(super) origin: String,
    /// Name that it should have.
    pub(super) name: String,
    pub(super) family: Option<String>,
    pub(super) reference: String,
    /// Name of its variant, where the source gives one.
    pub(super) given: Option<String>,
    pub(super) signal: Option<Signal>,
    /// Lines of shown text.
    pub(super) comments: Vec<String>,
}

/// Everything that a source holds.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Where it is from, for the first line.
    pub(super) source: &'static str,
    pub(super) about: Vec<String>,
    pub(super) found: Vec<Found>,
    pub(super) warnings: Vec<String>,
}

/// The tags of an image that are references, the one that names the variant first, and why others are none.
#[derive(Debug, Default)]
pub(super) struct Tags {
    pub(super) sound: Vec<String>,
    pub(super) refused: Vec<String>,
}

impl Tags {
    pub(super) fn of(tags: &[String]) -> Self {
        let mut sorted = Self::default();
        for tag in tags {
            match check(tag) {
                Ok(()) => sorted.sound.push(tag.clone()),
                Err(why) => {
                    sorted.refused.push(format!("`{}` is no image reference: {}", shown(tag), shown(&why)));
                }
            }
        }
        // Stable: among equals the source's order stays.
        sorted.sound.sort_by_key(|tag| rank(tag));
        sorted
    }
}

/// Less is better: an exact variant, any variant, an exact tag, the rest.
fn rank(tag: &str) -> u8 {
    match variant::of_reference(tag) {
        Some(Signal { toolkit: Some(_), .. }) => 0,
        Some(_) => 1,
        None if is_exact(tag) && !tag.ends_with(":latest") => 2,
        None => 3,
    }
}

/// What the tags, then the arguments, then the name say of the variant.
pub(super) fn resolve(
    given: Option<Said>,
    tags: &[String],
    arguments: &[(String, String)],
    name: Option<Said>,
) -> Resolved {
    let label = |at: usize| if at == 0 { "the tag".to_owned() } else { "another tag".to_owned() };
    let tags = tags.iter().enumerate().filter_map(|(at, tag)| Some((label(at), variant::of_reference(tag)?)));
    let arguments =
        arguments.iter().filter_map(|(key, value)| Some((shown(key), variant::of_argument(key, value)?)));
    variant::resolve(given.into_iter().chain(tags).collect(), arguments.collect(), name)
}

/// The family: what the name, else the reference, has beside the variant.
pub(super) fn family(name: Option<&str>, tag: &str) -> Option<String> {
    name.filter(|name| variant::of_name(name).is_some())
        .and_then(variant::without)
        .or_else(|| variant::without(&reference::Parts::of(tag).short()))
}

impl Draft {
    /// The matrix, if anything was found.
    pub(super) fn finish(mut self, name: &str) -> Result<Imported, ImportError> {
        self.merge();
        self.warnings.extend(self.untold());
        let warnings = std::mem::take(&mut self.warnings);
        let images = self.found.len();
        let matrix = write::matrix(name, &self, &warnings);
        crate::matrix::parse(&matrix, "the matrix").map_err(|error| {
            let message = format!("{images} images make a matrix that cannot be read: {}", error.message());
            ImportError::new(
                shown(&message),
                "import a part of them, such as one group or one workflow's rows",
            )
        })?;
        Ok(Imported { matrix, images, warnings })
    }

    /// The images of no known stack.
    fn untold(&self) -> Option<String> {
        const NAMED: usize = 5;
        let untold: Vec<&str> = self
            .found
            .iter()
            .filter(|found| found.signal.is_none())
            .map(|found| found.origin.as_str())
            .collect();
        let more = untold.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = untold[..untold.len().min(NAMED)].join(", ");
        (!untold.is_empty())
            .then(|| format!("nothing tells the stack of {named}{more}: say it under `variants`"))
    }

    /// Each reference once.
    fn merge(&mut self) {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        let (mut kept, mut warnings) = (Vec::new(), Vec::new());
        for found in std::mem::take(&mut self.found) {
            if let Some(origin) = first.get(&found.reference) {
                warnings.push(format!(
                    "{} names the same image as {origin}: `{}` is there once",
                    found.origin,
                    shown(&found.reference)
                ));
            } else {
                first.insert(found.reference.clone(), found.origin.clone());
                kept.push(found);
            }
        }
        self.found = kept;
        self.warnings.extend(warnings);
    }
}
