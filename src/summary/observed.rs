//! What of a GPU the checker saw inside the container, in few words.
//!
//! Main function: [`observed`]. Held against `requested` and `applied`, it shows the layer that dropped the GPU.

use gpusweep_report::{Exposure, Pytorch, Report};
use serde_json::{Map, Value, json};

use crate::diagnose::clean;

/// The few facts that tell whether the GPU came through; absent where the checker could not say.
pub(super) fn observed(report: &Report) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(exposure) = &report.exposure {
        add_exposure(&mut out, exposure);
    }
    if let Some(pytorch) = &report.pytorch {
        add_pytorch(&mut out, pytorch);
    }
    out
}

fn add_exposure(out: &mut Map<String, Value>, exposure: &Exposure) {
    let nodes: Map<String, Value> =
        exposure.nodes.iter().map(|node| (clean(&node.node), clean(&node.open).into())).collect();
    let variables: Map<String, Value> = exposure
        .variables
        .iter()
        .filter_map(|(name, value)| Some((clean(name), clean(value.as_ref()?).into())))
        .collect();
    out.insert("nodes".to_owned(), nodes.into());
    out.insert("variables".to_owned(), variables.into());
    out.insert("groups".to_owned(), json!(exposure.groups));
    if let Some(bytes) = exposure.shm_bytes {
        out.insert("shm_bytes".to_owned(), bytes.into());
    }
}

fn add_pytorch(out: &mut Map<String, Value>, pytorch: &Pytorch) {
    if let Some(available) = pytorch.gpu_available {
        out.insert("gpu_available".to_owned(), available.into());
    }
    if let Some(count) = pytorch.visible_device_count {
        out.insert("visible_device_count".to_owned(), count.into());
    }
}
