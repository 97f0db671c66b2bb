//! Whether the GPUs that a report tells of are those that a cell asked for by their UUIDs.
//!
//! Main function: [`strangers`]. A report names no UUID: what stands for one can be held against those that were asked for
//! only with the attempt's key.

use gpusweep_report::Report;
use gpusweep_report::frame::Key;

use crate::model::{Cell, Grant};

/// How many GPUs of the report are none of those asked for; none where not all were asked for by UUID, or the report does
/// not say.
pub(super) fn strangers(cell: &Cell, key: &Key, report: &Report) -> Option<u32> {
    let asked: Vec<&str> = cell.visibility.grants.iter().flat_map(ids).collect();
    if asked.is_empty() || !asked.iter().all(|id| is_uuid(id)) {
        return None;
    }
    let known: Vec<String> = asked.into_iter().map(|uuid| key.pseudonym(uuid)).collect();
    let torch = report.pytorch.as_ref().and_then(|torch| torch.devices.as_ref());
    let devices = torch.or_else(|| report.driver.as_ref().and_then(|driver| driver.devices.as_ref()))?;
    let seen: Vec<&String> = devices.iter().map(|device| device.uuid.as_ref()).collect::<Option<_>>()?;
    u32::try_from(seen.into_iter().filter(|uuid| !known.contains(uuid)).count()).ok()
}

fn ids(grant: &Grant) -> Vec<&str> {
    if let Grant::DeviceRequest { ids, .. } = grant {
        return ids.iter().map(String::as_str).collect();
    }
    let list = if let Grant::Cdi(name) = grant {
        name.rsplit('=').next()
    } else if let Grant::Env { name, value } = grant {
        Some(value.as_str()).filter(|value| name == "NVIDIA_VISIBLE_DEVICES" && *value != "void")
    } else {
        None
    };
    list.into_iter().flat_map(|list| list.split(',')).collect()
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
    use gpusweep_report::frame::KEY_BYTES;
    use gpusweep_report::{Code as CheckCode, Driver};

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
        let driver = Driver {
            api: "cuda".into(),
            library: None,
            version: None,
            init_result: Some(0),
            init_name: None,
            device_count: None,
            devices: Some(uuids.iter().map(device).collect()),
        };
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
