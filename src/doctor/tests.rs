//! Machines laid out as files, and what follows from them. Nodes are made with mknod where this runs as root.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::model::RuntimeFacts;

fn docker(version: &str) -> EngineFacts {
    EngineFacts {
        name: "Docker Engine".into(),
        version: Some(version.into()),
        api_version: Some("1.50".into()),
        runtimes: vec![RuntimeFacts { name: "runc".into(), path: Some("runc".into()) }],
        default_runtime: Some("runc".into()),
        cdi_directories: vec!["/etc/cdi".into(), "/var/run/cdi".into()],
        ..EngineFacts::default()
    }
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Double: number 1:3 is /dev/null, which is on every machine.
fn node(root: &Path, path: &str, mode: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mknod").args(["-m", mode]).arg(&path).args(["c", "1", "3"]).status().unwrap();
    assert!(made.success(), "mknod needs root");
}

/// A machine with one NVIDIA GPU and one of AMD, a runtime, and CDI files of every kind.
fn machine() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    let root = work.path();
    for name in ["nvidiactl", "nvidia0", "nvidia-uvm", "dri/renderD128"] {
        node(root, &format!("dev/{name}"), "666");
    }
    node(root, "dev/kfd", "660");
    std::os::unix::fs::chown(root.join("dev/kfd"), None, Some(992)).unwrap();
    put(root, "dev/nvidia-notes", "no node");
    let banner =
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Aug 12 2026\nGCC version: gcc 12\n";
    put(root, "proc/driver/nvidia/version", banner);
    let topology = "sys/class/kfd/kfd/topology/nodes";
    put(root, &format!("{topology}/0/properties"), "cpu_cores_count 2\ngfx_target_version 0\n");
    put(root, &format!("{topology}/1/properties"), "gfx_target_version 90402\n");
    put(root, "usr/bin/runc", "");
    let device = |name: &str, path: &str| {
        format!(
            r#"{{"name":"{name}","containerEdits":{{"deviceNodes":[{{"path":"/dev/x","hostPath":"{path}"}}]}}}}"#
        )
    };
    let spec = |kind: &str, devices: &str| {
        format!(r#"{{"cdiVersion":"0.5.0","kind":"{kind}","devices":[{devices}]}}"#)
    };
    put(root, "etc/cdi/good.json", &spec("nvidia.com/gpu", &device("0", "/dev/nvidia0")));
    let stale = format!("{},{}", device("1", "/dev/nvidia1"), device("0", "/dev/nvidia0"));
    put(root, "var/run/cdi/stale.json", &spec("nvidia.com/gpu", &stale));
    let yaml = "cdiVersion: 0.6.0\nkind: amd.com/gpu\ndevices:\n  - name: '0'\n    containerEdits:\n      deviceNodes:\n        - path: /dev/kfd\ncontainerEdits:\n  mounts:\n    - hostPath: /usr/lib/gone.so\n      containerPath: /usr/lib/gone.so\n";
    put(root, "etc/cdi/amd.yaml", yaml);
    put(root, "etc/cdi/broken.json", "{ \"kind\": ");
    put(root, "etc/cdi/notes.txt", "not a specification");
    work
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_machine_is_read_by_its_files() {
    let work = machine();
    let found = MachineFacts::look(work.path(), Some(&docker("28.2.2")));
    let nodes: Vec<(&str, &str, u32)> =
        found.nodes.iter().map(|node| (node.node.as_str(), node.mode.as_str(), node.gid)).collect();
    assert_eq!(
        nodes,
        [
            ("/dev/kfd", "660", 992),
            ("/dev/nvidia-uvm", "666", 0),
            ("/dev/nvidia0", "666", 0),
            ("/dev/nvidiactl", "666", 0),
            ("/dev/dri/renderD128", "666", 0),
        ]
    );
    assert_eq!(found.nodes[0].number.as_deref(), Some("1:3"));
    assert_eq!(found.nvidia_driver.as_deref(), Some("580.159.03"));
    assert_eq!(found.kfd_gpus.as_deref(), Some(&["gfx942".to_owned()][..]));
    assert_eq!(found.missing_runtimes, Vec::<String>::new());
}

#[test]
fn specifications_are_read_and_what_they_name_is_looked_for() {
    let work = machine();
    let found = MachineFacts::look(work.path(), Some(&docker("28.2.2")));
    let told: Vec<String> = found
        .cdi_specs
        .iter()
        .map(|spec| format!("{} {:?} {:?} {:?}", spec.file, spec.devices, spec.stale, spec.problem))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn every_fault_is_found_and_names_its_way_out() {
    let work = machine();
    let engine = docker("28.2.2");
    let machine = MachineFacts::look(work.path(), Some(&engine));
    let found = findings(Some(&engine), None, Some(&machine));
    assert_eq!(
        ids(&found),
        ["nvidia-not-registered", "cdi-unreadable", "cdi-stale", "cdi-stale", "cdi-device-twice", "groups"]
    );
    let said = |id: &str| found.iter().find(|finding| finding.id == id).unwrap();
    assert!(said("cdi-stale").next_action.contains("`amd-ctk cdi generate --output=/etc/cdi/amd.yaml`"));
    assert!(said("cdi-device-twice").seen.contains("/etc/cdi/good.json and in /var/run/cdi/stale.json"));
    assert!(said("groups").next_action.contains("--group-add 992"));
    assert!(found.iter().all(|finding| finding.next_action.starts_with(|c: char| c.is_ascii_uppercase())));

    // With the runtime, the engine has a way in; with its program gone, that is the fault.
    let mut engine = engine;
    engine
        .runtimes
        .push(RuntimeFacts { name: "nvidia".into(), path: Some("nvidia-container-runtime".into()) });
    engine.default_runtime = Some("nvidia".into());
    let machine = MachineFacts::look(work.path(), Some(&engine));
    let found = findings(Some(&engine), None, Some(&machine));
    assert!(!ids(&found).contains(&"nvidia-not-registered"));
    assert!(
        ids(&found).contains(&"runtime-without-program") && ids(&found).contains(&"gpu-runtime-is-default")
    );
}

#[test]
fn drivers_that_are_half_loaded_are_told_apart() {
    let work = machine();
    let root = work.path();
    let look = || findings(None, None, Some(&MachineFacts::look(root, None)));
    fs::remove_file(root.join("dev/nvidia-uvm")).unwrap();
    assert!(ids(&look()).contains(&"nvidia-uvm-missing"));
    fs::remove_file(root.join("dev/nvidiactl")).unwrap();
    fs::remove_file(root.join("dev/nvidia0")).unwrap();
    assert!(ids(&look()).contains(&"nvidia-nodes-missing"));
    fs::remove_dir_all(root.join("dev/dri")).unwrap();
    assert!(ids(&look()).contains(&"kfd-without-gpu"));
    let empty = tempfile::tempdir().unwrap();
    let found = findings(None, None, Some(&MachineFacts::look(empty.path(), None)));
    assert_eq!(ids(&found), ["no-gpu"]);
}

#[test]
fn engines_differ_by_kind_and_age() {
    let of = |engine: &EngineFacts| findings(Some(engine), None, None);
    let without = |version: &str| EngineFacts { cdi_directories: Vec::new(), ..docker(version) };
    assert_eq!(ids(&of(&without("20.10.24+dfsg1"))), ["no-cdi"]);
    assert_eq!(ids(&of(&without("26.1.5"))), ["cdi-switched-off"]);
    assert_eq!(ids(&of(&docker("28.2.2"))), Vec::<&str>::new());
    let podman = EngineFacts { name: "Podman".into(), ..without("4.3.1") };
    assert_eq!(ids(&of(&podman)), ["podman-drops-requests"]);
    let rootless = EngineFacts { rootless: true, ..docker("28.2.2") };
    let work = machine();
    let machine = MachineFacts::look(work.path(), Some(&rootless));
    assert!(ids(&findings(Some(&rootless), None, Some(&machine))).contains(&"rootless-closed-node"));
    assert_eq!(ids(&findings(None, Some("no such socket"), None)), ["engine-unreachable"]);
}

#[test]
fn what_a_person_reads() {
    let work = machine();
    let engine = docker("28.2.2");
    let machine = MachineFacts::look(work.path(), Some(&engine));
    let hostile = EngineFacts { system: Some("evil\u{1b}[2J".into()), ..docker("20.10") };
    let hosts = [
        Examination::new("local", Some(Ok(engine)), Some(machine)),
        Examination::new("remote", Some(Ok(hostile)), None),
        Examination::new("gone", Some(Err("/x.sock: there is no such socket".into())), None),
    ];
    let mut out = Vec::new();
    write(&hosts, Some(80), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\u{1b}'));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}
