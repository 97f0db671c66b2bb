//! One row per promise that a visibility makes, and what must not pass under it.

use gpusweep_report::{Code as CheckCode, Exposure, Node, Report};
use serde_json::{Value, json};

use crate::ledger::{Breach, Layer, Verdict, breach, partings, verdict};
use crate::model::{Cell, Device, Grant, Observation, Visibility};
use crate::testing::{applied as observed, driver, parts, report};

fn given(grants: Vec<Grant>) -> Cell {
    // Whatever it yields is expected: a breach must not depend on the code.
    let any = [CheckCode::GpuUnavailable.into(), CheckCode::GpuCheckPassed.into()];
    let mut parts = parts("torch", "it", &any);
    parts.visibility = Visibility { name: "it".into(), grants };
    Cell::new(parts)
}

fn request(count: i64, ids: &[&str]) -> Grant {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    Grant::DeviceRequest { driver: String::new(), count, ids, capabilities: Vec::new() }
}

fn node(path: &str) -> Grant {
    Grant::DeviceNode { path: path.into(), permissions: "rwm".into() }
}

fn env(name: &str, value: &str) -> Grant {
    Grant::Env { name: name.into(), value: value.into() }
}

fn runtime(name: &str) -> Grant {
    Grant::Runtime(name.into())
}

fn seen(nodes: &[(&str, &str)]) -> Report {
    let node = |&(node, open): &(&str, &str)| Node { node: node.into(), open: open.into(), gid: None };
    let exposure = Exposure { nodes: nodes.iter().map(node).collect(), ..Exposure::default() };
    Report { exposure: Some(exposure), ..report(CheckCode::GpuUnavailable) }
}

fn with_count(report: Report, count: u32) -> Report {
    let driver = driver(Some(count), None);
    Report { driver: Some(driver), ..report }
}

fn found(grants: Vec<Grant>, report: Report) -> Option<Breach> {
    let (cell, observation) = (given(grants), observed(report, &Value::Null));
    let breach = breach(&cell, &observation);
    let expected = if breach.is_some() { Verdict::Unexpected } else { Verdict::Expected };
    assert_eq!(verdict(&cell, &observation), expected);
    breach
}

fn leaks(grants: Vec<Grant>, report: Report) -> String {
    match found(grants, report) {
        Some(Breach::Leak(what)) => what,
        other => panic!("no leak: {other:?}"),
    }
}

const NVIDIA: [(&str, &str); 3] = [("/dev/nvidiactl", "ok"), ("/dev/nvidia0", "ok"), ("/dev/nvidia1", "ok")];

#[test]
fn nothing_was_given_and_a_node_opens() {
    let none = || vec![runtime("runc"), env("NVIDIA_VISIBLE_DEVICES", "void")];
    let said = leaks(none(), seen(&[("/dev/kfd", "ok")]));
    assert_eq!(said, "no GPU was given, and the checker opened /dev/kfd");
    for errno in ["ENOENT", "EACCES", "EPERM", "ENXIO"] {
        assert_eq!(found(none(), seen(&[("/dev/kfd", errno)])), None, "{errno}");
    }
    assert_eq!(found(Vec::new(), seen(&[])), None);
}

#[test]
fn nothing_was_given_and_any_way_of_looking_finds_a_gpu() {
    let said = leaks(Vec::new(), with_count(seen(&[]), 2));
    assert_eq!(said, "no GPU was given, and the driver found 2 GPUs");
    let mut masked = seen(&[]);
    masked.exposure.as_mut().unwrap().devices_without_variables = Some(1);
    assert!(leaks(Vec::new(), masked).contains("without visibility variables found 1 GPU"));
    let mut passed = seen(&[]);
    passed = Report { exposure: passed.exposure, ..report(CheckCode::GpuCheckPassed) };
    assert!(leaks(Vec::new(), passed).ends_with("the computation found 1 GPU"));
}

#[test]
fn one_gpu_was_given_and_more_are_there() {
    let pinned = [
        vec![request(0, &["1"])],
        vec![request(1, &[])],
        vec![request(0, &["GPU-8f3b2c1d"])],
        vec![request(0, &["MIG-8f3b2c1d"])],
        vec![Grant::Cdi("nvidia.com/gpu=0".into())],
        vec![runtime("nvidia"), env("NVIDIA_VISIBLE_DEVICES", "0")],
        vec![runtime("amd"), env("AMD_VISIBLE_DEVICES", "3")],
    ];
    for grants in pinned {
        let said = leaks(grants.clone(), seen(&NVIDIA));
        assert_eq!(said, "1 GPU was given, and the checker opened the nodes of 2 GPUs");
        assert_eq!(found(grants.clone(), seen(&NVIDIA[..2])), None);
        assert!(
            leaks(grants.clone(), with_count(seen(&NVIDIA[..2]), 2)).ends_with("the driver found 2 GPUs")
        );
        // Windows' own node stands for all of them: the count of the probe has to do.
        assert_eq!(found(grants.clone(), with_count(seen(&[("/dev/dxg", "ok")]), 1)), None);
        assert!(matches!(found(grants, seen(&[])), Some(Breach::Absent(_))));
    }
}

#[test]
fn another_gpu_than_the_one_asked_for_is_a_leak() {
    let cell = given(vec![request(0, &["GPU-8f3b2c1d"])]);
    let with = |strangers| match observed(seen(&NVIDIA[..2]), &Value::Null) {
        Observation::Reported { report, exit, mut applied, oom_killed } => {
            applied.strangers = strangers;
            Observation::Reported { report, exit, applied, oom_killed }
        }
        other => other,
    };
    assert!(matches!(breach(&cell, &with(Some(1))), Some(Breach::Leak(_))));
    assert_eq!((breach(&cell, &with(Some(0))), breach(&cell, &with(None))), (None, None));
}

#[test]
fn two_gpus_were_given_and_three_are_there() {
    assert_eq!(found(vec![request(0, &["0", "1"])], seen(&NVIDIA)), None);
    assert_eq!(found(vec![request(0, &["0", "1"])], seen(&[])), None);
    assert!(leaks(vec![request(2, &[])], with_count(seen(&NVIDIA), 3)).starts_with("2 GPUs were given"));
}

#[test]
fn nodes_were_given_and_another_opens() {
    let amd = || vec![node("/dev/kfd"), node("/dev/dri/renderD129")];
    let both = seen(&[("/dev/kfd", "ok"), ("/dev/dri/renderD128", "ok"), ("/dev/dri/renderD129", "ok")]);
    assert!(leaks(amd(), both).ends_with("the checker opened /dev/dri/renderD128"));
    let own = || seen(&[("/dev/kfd", "ok"), ("/dev/dri/renderD128", "EPERM"), ("/dev/dri/renderD129", "ok")]);
    assert_eq!(found(amd(), own()), None);
    assert!(leaks(amd(), with_count(own(), 2)).ends_with("the driver found 2 GPUs"));
    assert!(matches!(found(amd(), seen(&[("/dev/kfd", "ok")])), Some(Breach::Absent(_))));
    let folder = vec![node("/dev/kfd"), node("/dev/dri/")];
    assert_eq!(found(folder, with_count(own(), 8)), None);
    // A name that merely begins alike is another node.
    assert!(leaks(vec![node("/dev/nvidia1")], seen(&[("/dev/nvidia10", "ok")])).ends_with("/dev/nvidia10"));
}

#[test]
fn where_nothing_is_promised_nothing_is_broken() {
    let open = [
        vec![request(-1, &[])],
        vec![Grant::Privileged],
        vec![runtime("kata-gpu")],
        vec![runtime("nvidia")],
        vec![Grant::Cdi("nvidia.com/gpu=all".into())],
        vec![env("NVIDIA_VISIBLE_DEVICES", "all")],
        vec![runtime("amd"), env("AMD_VISIBLE_DEVICES", "0-3")],
    ];
    for grants in open {
        assert_eq!(found(grants.clone(), with_count(seen(&NVIDIA), 8)), None, "{grants:?}");
    }
}

#[test]
fn a_cell_for_the_cpu_is_no_proof_and_a_blind_checker_proves_nothing() {
    let mut parts = parts("torch", "it", &[CheckCode::GpuUnavailable.into()]);
    parts.visibility = Visibility { name: "it".into(), grants: Vec::new() };
    let blind = Report { exposure: None, ..report(CheckCode::GpuUnavailable) };
    assert!(matches!(found(Vec::new(), blind.clone()), Some(Breach::Unproven(_))));
    parts.device = Device::Cpu;
    assert_eq!(breach(&Cell::new(parts), &observed(blind, &Value::Null)), None);
}

fn parted(grants: Vec<Grant>, report: Report, settings: &Value) -> Vec<(Layer, String, String)> {
    let (cell, observation) = (given(grants), observed(report, settings));
    let partings = partings(&cell, &observation);
    let dropped = partings.iter().any(|part| part.layer == Layer::Engine && part.exposure);
    if dropped {
        assert_eq!(verdict(&cell, &observation), Verdict::Unexpected);
    }
    partings.into_iter().map(|part| (part.layer, part.requested, part.found)).collect()
}

#[test]
fn an_engine_that_leaves_a_request_out_is_found_out() {
    let engine = |requested: &str, found: &str| vec![(Layer::Engine, requested.to_owned(), found.to_owned())];
    let plain = json!({ "network_mode": "none" });
    assert_eq!(parted(vec![request(-1, &[])], seen(&[]), &plain), engine("gpus", "nothing"));
    let set = json!({ "runtime": "runc" });
    assert_eq!(parted(vec![runtime("nvidia")], seen(&[]), &set), engine("runtime nvidia", "\"runc\""));
    let other = json!({ "device_requests": [{ "Driver": "", "Count": 0, "DeviceIDs": ["0"] }] });
    let lost = parted(vec![request(0, &["1"])], seen(&[]), &other);
    assert_eq!((lost[0].0, lost[0].1.as_str()), (Layer::Engine, "gpus"));
    let limits = json!({ "shm_size": 64, "ulimits": [{ "Name": "memlock", "Soft": 1, "Hard": 1 }] });
    let memlock = Grant::Ulimit { name: "memlock".into(), soft: -1, hard: -1 };
    let lost = parted(vec![Grant::ShmSize(1 << 30), memlock, Grant::Group(44)], seen(&[]), &limits);
    assert_eq!(lost.iter().map(|part| part.0).collect::<Vec<_>>(), [Layer::Engine; 3]);
    // Nothing at all was read back: nothing can be said.
    assert_eq!(parted(vec![request(-1, &[])], seen(&[]), &Value::Null), []);
}

#[test]
fn what_the_engine_set_and_the_checker_did_not_see_was_lost_in_between() {
    let all = json!({ "device_requests": [{ "Driver": "", "Count": -1, "DeviceIDs": null }] });
    let lost = parted(vec![request(-1, &[])], seen(&[("/dev/nvidiactl", "ENOENT")]), &all);
    assert_eq!(lost, [(Layer::Container, "gpus".to_owned(), "no NVIDIA device node".to_owned())]);
    assert_eq!(parted(vec![request(-1, &[])], seen(&NVIDIA), &all), []);
    let devices = json!({ "devices": [{ "PathInContainer": "/dev/kfd" }] });
    let lost = parted(vec![node("/dev/kfd")], seen(&[("/dev/kfd", "EPERM")]), &devices);
    assert_eq!(lost[0].2, "/dev/kfd gives EPERM");
    let masked = json!({ "env": { "CUDA_VISIBLE_DEVICES": "" } });
    let mut unset = seen(&[]);
    unset.exposure.as_mut().unwrap().variables.insert("CUDA_VISIBLE_DEVICES".into(), None);
    let lost = parted(vec![env("CUDA_VISIBLE_DEVICES", "")], unset, &masked);
    assert_eq!(lost[0].2, "unset");
}

/// Cleaning hides a UUID on both ways back.
#[test]
fn a_variable_that_names_a_gpu_by_uuid_came_through() {
    let uuid = "GPU-8f3b2c1d-0000-1111-2222-333344445555";
    let cleaned = gpusweep_report::one_line(uuid, &[]);
    assert_ne!(cleaned, uuid);
    let set = json!({ "env": { "NVIDIA_VISIBLE_DEVICES": cleaned } });
    let mut told = seen(&[]);
    let variables = &mut told.exposure.as_mut().unwrap().variables;
    variables.insert("NVIDIA_VISIBLE_DEVICES".into(), Some(cleaned));
    assert_eq!(parted(vec![env("NVIDIA_VISIBLE_DEVICES", uuid)], told, &set), []);
}

#[test]
fn engines_that_say_the_same_in_other_words_are_believed() {
    let podman = json!({ "runtime": "oci", "devices": [{ "PathInContainer": "/dev/nvidia0" }] });
    assert_eq!(
        parted(vec![runtime("runc"), Grant::Cdi("nvidia.com/gpu=0".into())], seen(&NVIDIA[..2]), &podman),
        []
    );
    let expanded = json!({ "devices": [{ "PathInContainer": "/dev/dri/renderD128" }] });
    assert_eq!(parted(vec![node("/dev/dri")], seen(&[]), &expanded), []);
}
