//! Specifications of the Container Device Interface, and whether what they name is there.
//!
//! Main function: [`specs`]. Source: the CDI specification, `SPEC.md`. Only what bears on GPUs is read.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::below;

/// One file of CDI devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CdiSpec {
    /// File.
    pub file: String,
    /// Kind of its devices, such as `nvidia.com/gpu`.
    pub kind: Option<String>,
    /// Full names of its devices.
    pub devices: Vec<String>,
    /// Paths of the host that it names and that are not there.
    pub stale: Vec<String>,
    /// Why it cannot be read; null where it can.
    pub problem: Option<String>,
}

/// What is read of a file; what else it has is left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    kind: String,
    #[serde(default)]
    devices: Vec<RawDevice>,
    #[serde(default)]
    container_edits: Edits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDevice {
    name: String,
    #[serde(default)]
    container_edits: Edits,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edits {
    #[serde(default)]
    device_nodes: Vec<RawNode>,
    #[serde(default)]
    mounts: Vec<RawMount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawNode {
    path: String,
    #[serde(default)]
    host_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMount {
    host_path: String,
}

/// Every specification in these folders, in their order.
pub(super) fn specs(root: &Path, directories: &[String]) -> Vec<CdiSpec> {
    let mut found = Vec::new();
    for directory in directories {
        let entries = fs::read_dir(below(root, directory)).into_iter().flatten().flatten();
        let mut files: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| [".json", ".yaml", ".yml"].iter().any(|end| name.ends_with(end)))
            .map(|name| format!("{}/{name}", directory.trim_end_matches('/')))
            .collect();
        files.sort_unstable();
        found.extend(files.into_iter().map(|file| spec(root, file)));
    }
    found
}

fn spec(root: &Path, file: String) -> CdiSpec {
    let read = fs::read_to_string(below(root, &file)).map_err(|error| error.to_string());
    // JSON is YAML too.
    let parsed = read.and_then(|text| {
        // What comes behind the first line is a picture of the place.
        serde_saphyr::from_str::<Raw>(&text)
            .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
    });
    let raw = match parsed {
        Ok(raw) => raw,
        Err(problem) => return CdiSpec { file, problem: Some(problem), ..CdiSpec::default() },
    };
    let edits = raw.devices.iter().map(|device| &device.container_edits).chain([&raw.container_edits]);
    let paths = edits.flat_map(|edits| {
        let nodes = edits.device_nodes.iter().map(|node| node.host_path.as_ref().unwrap_or(&node.path));
        nodes.chain(edits.mounts.iter().map(|mount| &mount.host_path))
    });
    let mut stale: Vec<String> =
        paths.filter(|path| fs::metadata(below(root, path)).is_err()).cloned().collect();
    stale.sort_unstable();
    stale.dedup();
    let devices = raw.devices.iter().map(|device| format!("{}={}", raw.kind, device.name)).collect();
    CdiSpec { file, devices, stale, kind: Some(raw.kind), problem: None }
}
