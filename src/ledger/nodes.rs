//! What the names of device nodes say of a GPU.
//!
//! Main functions: [`opened`] and [`present`]. Names only: nothing here touches a file.

use gpusweep_report::{Exposure, Node};

use crate::model::Vendor;

/// Whether a path is that of a GPU's device node, or of a folder of them.
pub(super) fn is_gpu(path: &str) -> bool {
    vendor(path).is_some() || path == "/dev/dri" || path.starts_with("/dev/dri/")
}

/// Windows' own node stands for GPUs of NVIDIA's.
fn vendor(path: &str) -> Option<Vendor> {
    if path == "/dev/dxg" { Some(Vendor::Nvidia) } else { Vendor::of_node(path) }
}

/// Whether a node stands for one GPU, and not for a driver as a whole.
pub(super) fn is_one_gpu(path: &str) -> bool {
    let number = path.strip_prefix("/dev/nvidia").or_else(|| path.strip_prefix("/dev/dri/renderD"));
    number.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Nodes of a GPU that the checker opened.
pub(super) fn opened(exposure: &Exposure) -> impl Iterator<Item = &str> {
    exposure.nodes.iter().filter(|node| node.open == "ok").map(|node| node.node.as_str())
}

/// Nodes that are there, whether they open or not, of this vendor or of any.
pub(super) fn present(exposure: &Exposure, of: Option<Vendor>) -> impl Iterator<Item = &Node> {
    exposure.nodes.iter().filter(move |node| {
        let theirs = of.is_none() || vendor(&node.node).is_none() || vendor(&node.node) == of;
        node.open != "ENOENT" && theirs
    })
}
