//! Combinations that cannot apply, and why.

use std::collections::BTreeSet;

use gpusweep_report::Probe;

use super::expand::Combination;
use crate::model::{Device, Grant, Stack, Vendor};

/// Why the combination cannot apply; none = it is to run.
pub(super) fn reason(combination: &Combination<'_>, probe: Probe) -> Option<String> {
    let vendors: BTreeSet<Vendor> = combination.visibility.grants.iter().filter_map(Grant::vendor).collect();
    // Asked for the CPU, a GPU that is there must not disturb: that is worth a cell.
    match combination.device {
        // A driver computes on its GPU alone.
        Device::Cpu if probe == Probe::Driver => {
            return Some(
                "the probe `driver` computes on GPUs only, and this cell asks for the CPU".to_owned(),
            );
        }
        Device::Cpu => {}
        Device::Gpu(_) => {
            if let Some(reason) = stack_against(combination, &vendors) {
                return Some(reason);
            }
        }
    }
    host_against(combination, &vendors)
}

fn names(vendors: &BTreeSet<Vendor>) -> String {
    vendors.iter().map(|vendor| vendor.as_str()).collect::<Vec<_>>().join(" and ")
}

const fn spelled(stack: Stack) -> &'static str {
    match stack {
        Stack::Cuda => "CUDA",
        Stack::Rocm => "ROCm",
        Stack::Cpu => "CPU",
    }
}

fn stack_against(combination: &Combination<'_>, vendors: &BTreeSet<Vendor>) -> Option<String> {
    let (variant, visibility) = (&combination.variant.name, combination.visibility);
    let stack = combination.variant.stack?;
    match stack {
        Stack::Cpu if visibility.exposes_gpu() => Some(format!(
            "variant `{variant}` is a CPU build and cannot use the GPU that `{}` exposes",
            visibility.name
        )),
        Stack::Cuda | Stack::Rocm
            if !vendors.is_empty() && !vendors.iter().any(|vendor| vendor.stack() == stack) =>
        {
            Some(format!(
                "variant `{variant}` is built for {} and `{}` exposes {} GPUs",
                spelled(stack),
                visibility.name,
                names(vendors)
            ))
        }
        Stack::Cpu | Stack::Cuda | Stack::Rocm => None,
    }
}

fn host_against(combination: &Combination<'_>, vendors: &BTreeSet<Vendor>) -> Option<String> {
    let stacks = combination.host.stacks.as_ref()?;
    let lacking = vendors.iter().find(|vendor| !stacks.contains(&vendor.stack()))?;
    Some(format!(
        "host `{}` has no {} stack and `{}` exposes {} GPUs",
        combination.host.name,
        spelled(lacking.stack()),
        combination.visibility.name,
        lacking.as_str()
    ))
}
