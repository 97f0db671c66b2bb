//! Requests in a form in which those of two clients can be compared.
//!
//! Main functions: [`normal`], the whole request, and [`exposure`], what of it bears on GPUs.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// What bears on exposure in the part of a request that the engine calls the host's.
const EXPOSURE: [&str; 11] = [
    "DeviceRequests",
    "Devices",
    "GroupAdd",
    "Runtime",
    "ShmSize",
    "IpcMode",
    "Ulimits",
    "SecurityOpt",
    "Privileged",
    "MaskedPaths",
    "ReadonlyPaths",
];

/// A request without what the client always sends and without what says nothing: null, empty and false.
pub(super) fn normal(body: &Value) -> Value {
    // Attached or not, named so or so; and where the report goes, what the checker is mounted at, and whose it is.
    const OURS: [&str; 6] = ["AttachStdout", "AttachStderr", "Labels", "Binds", "Mounts", "LogConfig"];
    const DEFAULTS: [(&str, &str); 2] =
        [("RestartPolicy", r#"{"MaximumRetryCount":0,"Name":"no"}"#), ("MemorySwappiness", "-1")];
    let mut out = Map::new();
    for (key, value) in body.as_object().unwrap().iter().chain(body["HostConfig"].as_object().unwrap()) {
        let default = DEFAULTS.contains(&(key.as_str(), value.to_string().as_str()));
        // An empty list of hidden paths is no default: it says that none is hidden.
        let says = !empty(value) || (key.ends_with("Paths") && value.is_array());
        if says && !default && !OURS.contains(&key.as_str()) && key != "HostConfig" {
            out.insert(key.clone(), value.clone());
        }
    }
    if let Some(requests) = out.get_mut("DeviceRequests").and_then(Value::as_array_mut) {
        requests.iter_mut().for_each(|request| {
            request.as_object_mut().unwrap().retain(|_, value| !empty(value));
        });
    }
    let secret = |pair: &Value| pair.as_str().unwrap().starts_with(gpusweep_report::frame::VARIABLE);
    sorted(&mut out, "Env", |pair| !secret(pair));
    sorted(&mut out, "Ulimits", |_| true);
    if let Some(entrypoint) = out.get_mut("Entrypoint") {
        *entrypoint = entrypoint[0].as_str().unwrap().rsplit('/').next().into();
    }
    out.into()
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(empty),
        Value::Object(fields) => fields.values().all(empty),
        Value::String(text) => text.is_empty(),
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_i64() == Some(0),
    }
}

fn sorted(out: &mut Map<String, Value>, key: &str, keep: impl Fn(&Value) -> bool) {
    if let Some(Value::Array(items)) = out.get_mut(key) {
        items.retain(keep);
        items.sort_by_key(Value::to_string);
        if items.is_empty() {
            out.remove(key);
        }
    }
}

/// Of a request what bears on exposure, without what gpusweep denies every cell.
pub(super) fn exposure(request: &Value) -> Value {
    let mut out = Map::new();
    for key in EXPOSURE.into_iter().chain(["Env"]) {
        if let Some(value) = request.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Array(options)) = out.get_mut("SecurityOpt") {
        options.retain(|option| option != "no-new-privileges");
        if options.is_empty() {
            out.remove("SecurityOpt");
        }
    }
    // The client asks for `gpu` again where a user asked for it.
    for request in out.get_mut("DeviceRequests").and_then(Value::as_array_mut).into_iter().flatten() {
        let names = request["Capabilities"][0].as_array().cloned().unwrap_or_default();
        let names: BTreeSet<String> = names.iter().map(Value::to_string).collect();
        request["Capabilities"] = json!(names);
    }
    out.into()
}
