//! A matrix of GitHub Actions: `{"include": [{…}]}`, one image a row.
//!
//! Entry point: [`github()`], with [`Keys`] where the user knows better which key is what.

use super::choice::Choice;
use super::draft::{self, Draft, Found, Tags};
use super::names::shown;
use super::reference::Parts;
use super::rows::{HINT, Row, rows};
use super::{ImportError, Imported, json, variant};
use crate::matrix::reference::{check, is_exact};

/// Which key of a row is what; none = found by its name and values.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// The image reference.
    pub image: Option<String>,
    /// The variant's name.
    pub variant: Option<String>,
}

/// A matrix of every row that has an image, named `name` as well as that can be.
///
/// # Errors
/// The text is no such matrix; a key is not there, or none was given and none can be found; or no row has an image
/// reference.
pub fn github(text: &str, name: &str, keys: &Keys) -> Result<Imported, ImportError> {
    let document = json(text, HINT)?;
    if document.get("target").is_some_and(serde_json::Value::is_object) {
        return Err(ImportError::new(
            "this has a `target` map, as a bake file has",
            "use `gpusweep import bake` for what `docker buildx bake --print` writes",
        ));
    }
    let rows = rows(&document)?;
    let choice = Choice::of(&rows, keys)?;
    let mut draft = Draft { source: "a GitHub Actions matrix", ..Draft::default() };
    draft.about.push(about(&choice));
    for row in &rows {
        match image(row, &choice) {
            Ok(found) => draft.found.push(found),
            Err(why) => draft.warnings.push(format!("{} is left out: {why}", row.origin)),
        }
    }
    if draft.found.is_empty() {
        let why = draft.warnings.first().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(ImportError::new(
            format!("no row has an image reference under `{}`{why}", shown(&choice.image)),
            "name another key with `--image-key KEY`, and give values with their expressions filled in",
        ));
    }
    draft.finish(name)
}

fn about(choice: &Choice) -> String {
    let variant = choice.variant.as_ref().map_or_else(
        || "variants by what each row says".to_owned(),
        |key| format!("variant by key `{}`", shown(key)),
    );
    format!("Image by key `{}`, {variant}.", shown(&choice.image))
}

fn image(row: &Row, choice: &Choice) -> Result<Found, String> {
    let values = row.get(&choice.image);
    if values.is_empty() {
        return Err(format!("it has no `{}`", shown(&choice.image)));
    }
    let (completed, by) = complete(values, row, choice);
    let tags = Tags::of(&completed);
    let Some((reference, others)) = tags.sound.split_first() else {
        return Err(tags.refused.join("; "));
    };
    let given =
        choice.variant.as_ref().and_then(|key| row.get(key).first()).filter(|name| !name.trim().is_empty());
    let said =
        given.and_then(|text| variant::of_text(text)).map(|signal| ("the variant's name".to_owned(), signal));
    let resolved = draft::resolve(said, &tags.sound, &arguments(row, choice), None);
    let mut comments = Vec::new();
    if let Some(key) = by {
        comments.push(format!("its tag is that of `{}`", shown(key)));
    }
    if !others.is_empty() {
        comments.push(format!("also {}", others.join(", ")));
    }
    comments.extend(tags.refused);
    if let (Some(key), None) = (&choice.variant, given) {
        comments.push(format!("it has no `{}`", shown(key)));
    }
    comments.extend(resolved.comments);
    Ok(Found {
        origin: row.origin.clone(),
        name: row.get("name").first().cloned().unwrap_or_else(|| Parts::of(reference).short()),
        family: resolved.signal.as_ref().and_then(|_| draft::family(None, reference)),
        reference: reference.clone(),
        given: given.cloned(),
        signal: resolved.signal,
        comments,
    })
}

/// The references of a row, and the key that gave those without a tag theirs.
fn complete<'a>(values: &[String], row: &Row, choice: &'a Choice) -> (Vec<String>, Option<&'a String>) {
    let tags = choice.tag.as_ref().map_or(&[][..], |key| row.get(key));
    let (mut completed, mut by) = (Vec::new(), None);
    for value in values.iter().map(|value| value.trim()) {
        let whole = tags.iter().map(|tag| format!("{value}:{tag}")).filter(|whole| check(whole).is_ok());
        let whole: Vec<String> = if is_exact(value) { Vec::new() } else { whole.collect() };
        if whole.is_empty() {
            completed.push(value.to_owned());
        } else {
            completed.extend(whole);
            by = choice.tag.as_ref();
        }
    }
    (completed, by)
}

/// Every other key, for what it says of the variant.
fn arguments(row: &Row, choice: &Choice) -> Vec<(String, String)> {
    let used = |key: &String| *key == choice.image || Some(key) == choice.variant.as_ref();
    let others = row.fields.iter().filter(|(key, _)| !used(key));
    others.flat_map(|(key, values)| values.iter().map(|value| (key.clone(), value.clone()))).collect()
}
