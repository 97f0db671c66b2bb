//! What the matrix asked for, told back in the matrix's own words.
//!
//! Main function: [`requested`].

use serde_json::{Map, Value, json};

use crate::model::{Cell, Grant};

/// The permissions that a device gets where none are said.
const ALL_PERMISSIONS: &str = "rwm";

/// What cleaning puts in place of a secret.
const REDACTED: &str = "[redacted]";

/// The grants of a cell's exposure, keyed as in a matrix, and the device asked for.
pub(super) fn requested(cell: &Cell) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("device".to_owned(), cell.device.to_string().into());
    for grant in &cell.visibility.grants {
        add(&mut out, grant);
    }
    out
}

fn add(out: &mut Map<String, Value>, grant: &Grant) {
    match grant {
        Grant::DeviceRequest { driver, count, ids, capabilities } => {
            again(out, "gpus", gpus(driver, *count, ids, capabilities).into());
        }
        Grant::Cdi(name) => list(out, "cdi", name.clone().into()),
        Grant::DeviceNode { path, permissions }
            if permissions.is_empty() || permissions == ALL_PERMISSIONS =>
        {
            list(out, "devices", path.clone().into());
        }
        Grant::DeviceNode { path, permissions } => {
            list(out, "devices", format!("{path}:{permissions}").into());
        }
        Grant::Runtime(name) => again(out, "runtime", name.clone().into()),
        Grant::Env { name, .. } if grant.is_secret() => entry(out, "env", name, REDACTED.into()),
        Grant::Env { name, value } => entry(out, "env", name, value.clone().into()),
        Grant::Unset(name) => entry(out, "env", name, Value::Null),
        Grant::Group(gid) => list(out, "groups", (*gid).into()),
        Grant::HostGroups => list(out, "groups", "host".into()),
        Grant::ShmSize(bytes) => again(out, "shm_size", (*bytes).into()),
        Grant::Ipc(mode) => again(out, "ipc", mode.clone().into()),
        Grant::Ulimit { name, soft, hard } if soft == hard => entry(out, "ulimits", name, (*soft).into()),
        Grant::Ulimit { name, soft, hard } => {
            entry(out, "ulimits", name, json!({ "soft": soft, "hard": hard }));
        }
        Grant::Security(option) => list(out, "security", option.clone().into()),
        Grant::Privileged => again(out, "privileged", true.into()),
    }
}

/// As `docker run --gpus` takes it.
fn gpus(driver: &str, count: i64, ids: &[String], capabilities: &[String]) -> String {
    let mut parts = vec![match (ids, count) {
        ([], -1) => "all".to_owned(),
        ([], count) => count.to_string(),
        (ids, _) => format!("device={}", ids.join(",")),
    }];
    if !driver.is_empty() {
        parts.push(format!("driver={driver}"));
    }
    if !capabilities.is_empty() {
        parts.push(format!("capabilities={}", capabilities.join(",")));
    }
    parts.join(";")
}

/// A key that stands once as a rule, and becomes a list where a matrix says it again.
fn again(out: &mut Map<String, Value>, key: &str, value: Value) {
    match out.remove(key) {
        None => out.insert(key.to_owned(), value),
        Some(Value::Array(mut items)) => {
            items.push(value);
            out.insert(key.to_owned(), items.into())
        }
        Some(earlier) => out.insert(key.to_owned(), json!([earlier, value])),
    };
}

fn list(out: &mut Map<String, Value>, key: &str, value: Value) {
    if let Value::Array(items) = out.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
        items.push(value);
    }
}

fn entry(out: &mut Map<String, Value>, key: &str, name: &str, value: Value) {
    if let Value::Object(fields) = out.entry(key).or_insert_with(|| Value::Object(Map::new())) {
        fields.insert(name.to_owned(), value);
    }
}
