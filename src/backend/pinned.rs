//! Whether the GPUs that a report tells of are those that a cell asked for by their UUIDs.
//!
//! Main function: [`strangers`]. A report names no UUID: what stands for one can be held against those that were asked for
//! only with the attempt's key.

use gpusweep_report::Report;
use gpusweep_report::frame::Key;

use crate::model::{Asks, Cell, Grant};

/// How many GPUs of the report are none of those asked for; none where not all were asked for by UUID, or the report does
/// not say.
pub(super) fn strangers(cell: &Cell, key: &Key, report: &Report) -> Option<u32> {
    let mut asked: Vec<&str> = Vec::new();
    for asks in cell.visibility.grants.iter().filter_map(Grant::asks) {
        let Asks::Named(ids) = asks else { return None };
        asked.extend(ids);
    }
    if asked.is_empty() || !asked.iter().all(|id| is_uuid(id)) {
        return None;
    }
    let known: Vec<String> = asked.into_iter().map(|uuid| key.pseudonym(uuid)).collect();
    let torch = report.pytorch.as_ref().and_then(|torch| torch.devices.as_ref());
    let devices = torch.or_else(|| report.driver.as_ref().and_then(|driver| driver.devices.as_ref()))?;
    let seen: Vec<&String> = devices.iter().map(|device| device.uuid.as_ref()).collect::<Option<_>>()?;
    u32::try_from(seen.into_iter().filter(|uuid| !known.contains(uuid)).count()).ok()
}

/// `GPU-` or `MIG-`, and 36 characters of hexadecimal digits and dashes.
fn is_uuid(id: &str) -> bool {
    let bare = id.strip_prefix("GPU-").or_else(|| id.strip_prefix("MIG-"));
    bare.is_some_and(|bare| {
        bare.len() == 36 && bare.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use gpusweep_report::Code as CheckCode;
    use gpusweep_report::frame::KEY_BYTES;

    use super::*;
    use crate::testing;

    const ASKED: &str = "GPU-00000000-0000-0000-0000-00000000000A";

    fn pinned(ids: &[&str]) -> Cell {
        let mut parts = testing::parts("torch", "it", &[CheckCode::GpuCheckPassed.into()]);
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        parts.visibility.grants =
            vec![Grant::DeviceRequest { driver: String::new(), count: 0, ids, capabilities: Vec::new() }];
        Cell::new(parts)
    }

    fn seen(uuids: &[Option<String>]) -> Report {
        let device = |uuid: &Option<String>| gpusweep_report::Device {
            index: 0,
            name: "GPU".into(),
            architecture: None,
            memory_bytes: None,
            uuid: uuid.clone(),
        };
        let driver = testing::driver(None, Some(uuids.iter().map(device).collect()));
        Report { driver: Some(driver), ..testing::report(CheckCode::GpuCheckPassed) }
    }

    #[test]
    fn another_gpu_than_the_one_asked_for_is_found_out() {
        let key = Key::from_random(&[7; KEY_BYTES]);
        // As a program tells it: in small letters, and without a word before it.
        let own = Some(key.pseudonym("00000000-0000-0000-0000-00000000000a"));
        let other = Some(key.pseudonym("00000000-0000-0000-0000-00000000000b"));
        let told = |cell: &Cell, uuids: &[Option<String>]| strangers(cell, &key, &seen(uuids));
        assert_eq!(told(&pinned(&[ASKED]), std::slice::from_ref(&own)), Some(0));
        assert_eq!(told(&pinned(&[ASKED]), &[own.clone(), other.clone()]), Some(1));
        assert_eq!(told(&pinned(&[ASKED]), &[other.clone(), None]), None);
        assert_eq!(told(&pinned(&["1"]), &[other]), None);
        let elsewhere = Key::from_random(&[8; KEY_BYTES]);
        assert_eq!(strangers(&pinned(&[ASKED]), &elsewhere, &seen(&[own])), Some(1), "a replayed pseudonym");
    }
}
