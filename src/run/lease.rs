//! Which GPUs a cell computes on, so that no two cells share one.
//!
//! Main types: [`Claim`] and [`Leases`]. It reads grants alone: where they do not tell which GPUs they let in, all are meant.

use std::collections::BTreeSet;

use gpusweep_report::VISIBILITY_VARIABLES;

use crate::model::{BackendKind, Cell, Device, Endpoint, Grant, Host};

/// GPUs of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Every one, or nobody knows which.
    All,
    /// Those of these indices.
    Indices(BTreeSet<u32>),
}

impl Claim {
    /// What a cell computes on; none where it has no GPU, or does not ask for one.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        match cell.device {
            Device::Cpu => return None,
            Device::Gpu(_) => {}
        }
        let grants = &cell.visibility.grants;
        // The baseline of a host has whatever the host has.
        if !cell.visibility.exposes_gpu() && !cell.image.reference.is_empty() {
            return None;
        }
        let is_mask = |grant: &Grant| matches!(grant, Grant::Env { name, .. } if VISIBILITY_VARIABLES.contains(&name.as_str()));
        let masked = grants.iter().any(is_mask);
        let exposing: Vec<&Grant> = grants.iter().filter(|grant| grant.exposes_gpu()).collect();
        match exposing.as_slice() {
            [Grant::DeviceRequest { ids, .. }] if !masked && !ids.is_empty() => {
                let indices: Option<BTreeSet<u32>> = ids.iter().map(|id| id.parse().ok()).collect();
                Some(indices.map_or(Self::All, Self::Indices))
            }
            _ => Some(Self::All),
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Indices(a), Self::Indices(b)) => !a.is_disjoint(b),
            (Self::All, Self::All | Self::Indices(_)) | (Self::Indices(_), Self::All) => true,
        }
    }
}

/// The GPUs of each machine that are in use.
#[derive(Debug, Default)]
pub(super) struct Leases(Vec<(String, Claim)>);

impl Leases {
    /// Whether a cell may have what it claims now.
    pub(super) fn free(&self, machine: &str, claim: Option<&Claim>) -> bool {
        claim.is_none_or(|claim| !self.0.iter().any(|(at, held)| at == machine && held.meets(claim)))
    }

    pub(super) fn take(&mut self, machine: &str, claim: Option<Claim>) {
        self.0.extend(claim.map(|claim| (machine.to_owned(), claim)));
    }

    pub(super) fn give_back(&mut self, machine: &str, claim: Option<&Claim>) {
        let held = self.0.iter().position(|(at, held)| at == machine && Some(held) == claim);
        held.map(|index| self.0.swap_remove(index));
    }
}

/// The machine whose GPUs a host gives: hosts that are reached without a network are this one.
pub(super) fn machine(host: Option<&Host>, name: &str) -> String {
    match host.map(|host| &host.backend) {
        Some(BackendKind::Host | BackendKind::Docker(Endpoint::Current | Endpoint::Unix(_))) => String::new(),
        Some(BackendKind::Docker(Endpoint::Context(_) | Endpoint::Tcp { .. } | Endpoint::Ssh(_))) | None => {
            name.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use gpusweep_report::Code as CheckCode;

    use super::*;
    use crate::testing;

    fn claim(grants: Vec<Grant>, device: Device) -> Option<Claim> {
        let mut parts = testing::parts("torch", "it", &[CheckCode::GpuCheckPassed.into()]);
        parts.visibility.grants = grants;
        parts.device = device;
        Claim::of(&Cell::new(parts))
    }

    fn ids(ids: &[&str]) -> Grant {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        Grant::DeviceRequest { driver: String::new(), count: 0, ids, capabilities: Vec::new() }
    }

    #[test]
    fn a_claim_is_as_wide_as_the_grants_leave_open() {
        let gpu = Device::Gpu(0);
        assert_eq!(claim(Vec::new(), gpu), None);
        assert_eq!(claim(vec![ids(&["0"])], Device::Cpu), None);
        assert_eq!(claim(vec![ids(&["0", "2"])], gpu), Some(Claim::Indices([0, 2].into())));
        let mask = Grant::Env { name: "CUDA_VISIBLE_DEVICES".into(), value: "1".into() };
        let wide = [
            vec![ids(&["GPU-8f3b"])],
            vec![ids(&["0"]), mask],
            vec![ids(&["0"]), Grant::Privileged],
            vec![Grant::Cdi("nvidia.com/gpu=0".into())],
        ];
        for grants in wide {
            assert_eq!(claim(grants, gpu), Some(Claim::All));
        }
    }

    #[test]
    fn a_gpu_is_leased_once_at_a_time_on_each_machine() {
        let mut leases = Leases::default();
        let (zero, one) = (Claim::Indices([0].into()), Claim::Indices([1].into()));
        leases.take("", Some(zero.clone()));
        assert!(!leases.free("", Some(&zero)) && !leases.free("", Some(&Claim::All)));
        assert!(leases.free("", Some(&one)) && leases.free("", None) && leases.free("b", Some(&Claim::All)));
        leases.give_back("", Some(&zero));
        assert!(leases.free("", Some(&Claim::All)));
    }
}
