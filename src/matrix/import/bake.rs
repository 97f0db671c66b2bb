//! What `docker buildx bake --print` writes: `group` and `target`, each a map by name.
//!
//! Entry point: [`bake()`]. Only what names images and variants is read; the rest may have any form, as it changes with
//! buildx. Format: <https://github.com/docker/buildx/blob/master/docs/bake-reference.md>.

use serde_json::{Map, Value};

use super::draft::{self, Draft, Found, Tags};
use super::names::shown;
use super::{ImportError, Imported, json, variant};

const HINT: &str = "give what `docker buildx bake --print` writes to standard output";

/// A matrix of every target that has a tag, named `name` as well as that can be.
///
/// # Errors
/// The text is no such document, or no target has a tag that is an image reference.
pub fn bake(text: &str, name: &str) -> Result<Imported, ImportError> {
    let document = json(text, HINT)?;
    let Some(targets) = document.get("target").and_then(Value::as_object) else {
        return Err(no_targets(&document));
    };
    let mut draft = Draft { source: "`docker buildx bake --print`", ..Draft::default() };
    groups(&document, targets, &mut draft);
    for (name, target) in targets {
        match image(name, target) {
            Ok(found) => draft.found.push(found),
            Err(why) => draft.warnings.push(format!("target `{}` is left out: {why}", shown(name))),
        }
    }
    if draft.found.is_empty() {
        let why = draft.warnings.first().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(ImportError::new(
            format!("none of the {} targets has a tag that is an image reference{why}", targets.len()),
            "give each target `tags`, and print it with its variables filled in: `docker buildx bake --print`",
        ));
    }
    draft.finish(name)
}

fn no_targets(document: &Value) -> ImportError {
    let rows = document.is_array()
        || ["include", "matrix", "strategy"].iter().any(|key| document.get(key).is_some());
    let hint = if rows { "use `gpusweep import github` for a matrix of GitHub Actions" } else { HINT };
    ImportError::new("there is no `target` map in it", hint)
}

/// Comments on the groups, and on members that are not there.
fn groups(document: &Value, targets: &Map<String, Value>, draft: &mut Draft) {
    let Some(groups) = document.get("group").and_then(Value::as_object) else { return };
    for (name, group) in groups {
        let members = texts(group.get("targets"));
        let told: Vec<String> = members.iter().map(|member| shown(member)).collect();
        let told = if told.is_empty() { "empty".to_owned() } else { told.join(", ") };
        draft.about.push(format!("group {}: {told}", shown(name)));
        for member in
            members.iter().filter(|member| !targets.contains_key(*member) && !groups.contains_key(*member))
        {
            draft.warnings.push(format!(
                "target `{}` of group `{}` is left out: there is no such target",
                shown(member),
                shown(name)
            ));
        }
    }
}

fn image(name: &str, target: &Value) -> Result<Found, String> {
    let tags = texts(target.get("tags"));
    if tags.is_empty() {
        return Err("it has no tags".to_owned());
    }
    let tags = Tags::of(&tags);
    let Some((reference, others)) = tags.sound.split_first() else {
        return Err(tags.refused.join("; "));
    };
    let arguments: Vec<(String, String)> =
        target.get("args").and_then(Value::as_object).map_or_else(Vec::new, |args| {
            args.iter().filter_map(|(key, value)| Some((key.clone(), scalar(value)?))).collect()
        });
    let named = variant::of_name(name).map(|signal| ("the target's name".to_owned(), signal));
    let resolved = draft::resolve(None, &tags.sound, &arguments, named);
    let mut comments = Vec::new();
    let platforms = texts(target.get("platforms"));
    if !platforms.is_empty() {
        comments.push(format!(
            "built for {}",
            platforms.iter().map(|text| shown(text)).collect::<Vec<_>>().join(", ")
        ));
    }
    if !others.is_empty() {
        comments.push(format!("also tagged {}", others.join(", ")));
    }
    comments.extend(tags.refused);
    comments.extend(resolved.comments);
    Ok(Found {
        origin: format!("target `{}`", shown(name)),
        name: name.to_owned(),
        family: resolved.signal.as_ref().and_then(|_| draft::family(Some(name), reference)),
        reference: reference.clone(),
        given: None,
        signal: resolved.signal,
        comments,
    })
}

/// A list of texts, or one; null and other forms are nothing.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
        Some(other) => scalar(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A value as text; null, lists and maps are none.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
