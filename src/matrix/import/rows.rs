//! The rows of a GitHub Actions matrix: one for each job that it makes.
//!
//! Main type: [`Row`]; entry point: [`rows`]. Axes, `exclude` and `include` are combined as GitHub does:
//! <https://docs.github.com/en/actions/using-jobs/using-a-matrix-for-your-jobs>. It does not
//! know what the values mean.

use serde_json::{Map, Value};

use super::ImportError;
use super::bake::scalar;
use super::names::shown;

pub(super) const HINT: &str =
    "give JSON such as {\"include\": [{\"image\": \"…\"}]}; for a workflow in YAML, `yq -o=json` makes it";

/// More jobs than any workflow may have (256), by far.
const MAX_ROWS: usize = 10_000;

/// One job.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) origin: String,
    /// Values by key, maps within them spelled with dots; each has one value or, from a list, several.
    pub(super) fields: Vec<(String, Vec<String>)>,
}

impl Row {
    /// The values of a key; none where it has not got it.
    pub(super) fn get(&self, key: &str) -> &[String] {
        self.fields.iter().find(|(name, _)| name == key).map_or(&[], |(_, values)| values)
    }
}

/// Every row of a document: a matrix, a list of rows, or what a matrix stands in.
pub(super) fn rows(document: &Value) -> Result<Vec<Row>, ImportError> {
    let mut rows = Vec::new();
    if let Some(jobs) = document.get("jobs").and_then(Value::as_object) {
        for (name, job) in jobs.iter().filter(|(_, job)| job.pointer("/strategy/matrix").is_some()) {
            collect(job, &format!("job `{}`, ", shown(name)), &mut rows)?;
        }
    } else {
        collect(document, "", &mut rows)?;
    }
    if rows.is_empty() {
        return Err(ImportError::new("the matrix has no row", HINT));
    }
    Ok(rows)
}

fn collect(document: &Value, place: &str, rows: &mut Vec<Row>) -> Result<(), ImportError> {
    let maps = match document {
        Value::Array(items) => maps(items, "the list")?,
        Value::Object(map) => match map.get("strategy").or_else(|| map.get("matrix")) {
            Some(inner @ (Value::Object(_) | Value::Array(_))) => return collect(inner, place, rows),
            Some(Value::String(text)) => {
                return Err(ImportError::new(
                    format!("the matrix is computed by an expression, `{}`", shown(text)),
                    "give the value that it has in a run: the `include` list itself",
                ));
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => combine(map)?,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(ImportError::new("it is neither a matrix nor a list of rows", HINT));
        }
    };
    for (number, map) in (1..).zip(maps) {
        let mut fields = Vec::new();
        for (key, value) in &map {
            flatten(key, value, &mut fields);
        }
        rows.push(Row { origin: format!("{place}row {number}"), fields });
    }
    Ok(())
}

fn maps(items: &[Value], what: &str) -> Result<Vec<Map<String, Value>>, ImportError> {
    let map = |(number, item): (usize, &Value)| {
        item.as_object().cloned().ok_or_else(|| {
            ImportError::new(format!("entry {number} of {what} is no map of keys and values"), HINT)
        })
    };
    (1..).zip(items).map(map).collect()
}

/// A job that axes make, with what `include` adds to it.
struct Combination {
    axes: Map<String, Value>,
    all: Map<String, Value>,
}

fn combine(matrix: &Map<String, Value>) -> Result<Vec<Map<String, Value>>, ImportError> {
    let list = |key: &str| match matrix.get(key) {
        Some(Value::Array(items)) => maps(items, &format!("`{key}`")),
        Some(Value::Null) | None => Ok(Vec::new()),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            Err(ImportError::new(format!("`{key}` is no list of rows"), HINT))
        }
    };
    let (include, exclude) = (list("include")?, list("exclude")?);
    let mut combinations = product(matrix)?;
    combinations.retain(|combination| !exclude.iter().any(|entry| agrees(entry, &combination.axes, true)));
    let mut alone = Vec::new();
    for entry in include {
        let mut added = false;
        for combination in
            combinations.iter_mut().filter(|combination| agrees(&entry, &combination.axes, false))
        {
            combination.all.extend(entry.clone());
            added = true;
        }
        if !added {
            alone.push(entry);
        }
    }
    Ok(combinations.into_iter().map(|combination| combination.all).chain(alone).collect())
}

/// Whether an entry has no other value for any axis; `wholly`: nor a key that is no axis.
fn agrees(entry: &Map<String, Value>, axes: &Map<String, Value>, wholly: bool) -> bool {
    entry.iter().all(|(key, value)| axes.get(key).map_or(!wholly, |axis| axis == value))
}

fn product(matrix: &Map<String, Value>) -> Result<Vec<Combination>, ImportError> {
    let axes = matrix.iter().filter(|(key, _)| !matches!(key.as_str(), "include" | "exclude"));
    let axes: Vec<(&String, &Vec<Value>)> = axes
        .filter_map(|(key, value)| Some((key, value.as_array().filter(|list| !list.is_empty())?)))
        .collect();
    if axes.is_empty() {
        return Ok(Vec::new());
    }
    let mut points = vec![Map::new()];
    for (key, values) in axes {
        if points.len().saturating_mul(values.len()) > MAX_ROWS {
            return Err(ImportError::new(
                format!("the axes make more than {MAX_ROWS} combinations"),
                "give a matrix with fewer axes, or the rows themselves",
            ));
        }
        let with = |point: &Map<String, Value>, value: &Value| {
            let mut point = point.clone();
            point.insert(key.clone(), value.clone());
            point
        };
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    Ok(points.into_iter().map(|axes| Combination { all: axes.clone(), axes }).collect())
}

fn flatten(key: &str, value: &Value, fields: &mut Vec<(String, Vec<String>)>) {
    match value {
        Value::Object(map) => {
            for (inner, value) in map {
                flatten(&format!("{key}.{inner}"), value, fields);
            }
        }
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(scalar).collect();
            add(key, texts, fields);
            for item in items.iter().filter(|item| item.is_object() || item.is_array()) {
                flatten(key, item, fields);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            add(key, scalar(value).into_iter().collect(), fields);
        }
    }
}

fn add(key: &str, texts: Vec<String>, fields: &mut Vec<(String, Vec<String>)>) {
    // Several references in one text, as the input of docker/build-push-action takes them.
    let lines = texts.iter().flat_map(|text| text.split(['\n', ',']).map(|line| line.trim().to_owned()));
    let several = texts.iter().any(|text| text.trim().contains('\n'));
    let values: Vec<String> = if several { lines.filter(|line| !line.is_empty()).collect() } else { texts };
    match fields.iter_mut().find(|(name, _)| name == key) {
        Some((_, known)) => known.extend(values),
        None if values.is_empty() => {}
        None => fields.push((key.to_owned(), values)),
    }
}
