//! What the checker sees of device nodes, groups, limits and variables inside real containers.
//!
//! Doubles: nodes made with mknod stand for a vendor's. Number 511:0 has no driver behind it, as a node has whose driver is
//! not loaded; 1:3 is /dev/null, which opens as a working node does. A folder stands for the topology that AMD's driver
//! shows. The engine, its device control group, users and groups are real.

use std::process::Command;

use gpusweep::backend::checker;
use gpusweep_report::{Exposure, Report};

const IMAGE: &str = "localhost/gpusweep/python:1";

/// A folder of nodes. Made for each run: a static would never be dropped, and its folder would stay.
fn nodes() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    for (name, major, minor, mode) in [("dead", "511", "0", "660"), ("live", "1", "3", "666")] {
        let node = work.path().join(name);
        run(Command::new("mknod").args(["-m", mode]).arg(&node).args(["c", major, minor]));
        run(Command::new("chgrp").arg("992").arg(&node));
    }
    for (node, id) in [("0", "0"), ("1", "51150"), ("2", "7")] {
        let folder = work.path().join("class/kfd/kfd/topology/nodes").join(node);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("gpu_id"), id).unwrap();
    }
    work
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Runs the checker in a container with these flags.
pub(crate) fn report(flags: &str, image: &str) -> Report {
    report_on(flags, image, "")
}

/// The same, with arguments for the checker.
pub(crate) fn report_on(flags: &str, image: &str, arguments: &str) -> Report {
    let work = nodes();
    let programs = checker::install(work.path()).unwrap();
    let mount = format!("{}:/programs:ro", programs.parent().unwrap().display());
    let folder = work.path().display().to_string();
    let flags: Vec<String> = flags.split_whitespace().map(|flag| flag.replace("WORK", &folder)).collect();
    let output = Command::new("docker")
        .args([
            "run",
            "--rm",
            "--network",
            "none",
            "--volume",
            &mount,
            "--entrypoint",
            "/programs/gpusweep-checker",
        ])
        .args(flags)
        .arg(image)
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    Report::parse(text.trim_end())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn exposure(flags: &str) -> Exposure {
    report(flags, IMAGE).exposure.unwrap()
}

fn opened(exposure: &Exposure, node: &str) -> (String, Option<u32>) {
    let node = exposure.nodes.iter().find(|found| found.node == node).unwrap();
    (node.open.clone(), node.gid)
}

#[test]
fn opening_a_node_tells_what_its_attributes_do_not() {
    let rows = [
        ("", "ENOENT", None),
        ("--device WORK/dead:/dev/kfd", "ENXIO", Some(992)),
        ("--device WORK/dead:/dev/kfd --cap-drop ALL", "ENXIO", Some(992)),
        ("--device WORK/dead:/dev/kfd --user 1000", "EACCES", Some(992)),
        ("--device WORK/dead:/dev/kfd --user 1000 --group-add 992", "ENXIO", Some(992)),
        ("--volume WORK/dead:/dev/kfd", "EPERM", Some(992)),
        ("--device WORK/dead:/dev/kfd:r", "EPERM", Some(992)),
        ("--device WORK/live:/dev/kfd --user 1000", "ok", Some(992)),
    ];
    for (flags, open, gid) in rows {
        assert_eq!(opened(&exposure(flags), "/dev/kfd"), (open.to_owned(), gid), "{flags}");
    }
}

#[test]
fn every_kind_of_node_is_looked_at() {
    let nodes = [
        "/dev/nvidia0",
        "/dev/nvidia12",
        "/dev/nvidia-uvm",
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/dri/renderD128",
        "/dev/dxg",
    ];
    let flags: Vec<String> = nodes.iter().map(|node| format!("--device WORK/live:{node}")).collect();
    let found = exposure(&flags.join(" "));
    for node in nodes {
        assert_eq!(opened(&found, node).0, "ok", "{node}");
    }
    assert_eq!(opened(&found, "/dev/nvidiactl"), ("ENOENT".to_owned(), None));
}

#[test]
fn variables_limits_and_identity_are_told_as_they_are() {
    let found = exposure(
        "--env CUDA_VISIBLE_DEVICES= --env HSA_OVERRIDE_GFX_VERSION=\"10.3.0\" --env OTHER=hidden-value --shm-size 32m \
         --ulimit memlock=1048576 --user 1234:77 --group-add 992 --volume WORK/class:/sys/class:ro",
    );
    let value = |name: &str| found.variables[name].as_deref();
    assert_eq!(value("CUDA_VISIBLE_DEVICES"), Some(""));
    assert_eq!(value("HSA_OVERRIDE_GFX_VERSION"), Some("\"10.3.0\""), "quotes can be the fault");
    assert_eq!(value("HIP_VISIBLE_DEVICES"), None);
    assert!(!found.variables.contains_key("OTHER"));
    assert_eq!((found.shm_bytes, found.memlock_bytes), (Some(32 << 20), Some(1 << 20)));
    assert_eq!((found.uid, found.uid_map_identity), (1234, Some(true)));
    assert_eq!(found.groups, [77, 992]);
    assert_eq!(found.kfd_gpu_nodes, Some(2), "the processor's node is none");
    assert_eq!(exposure("").kfd_gpu_nodes, None);
}

#[test]
fn a_library_is_found_through_the_loader_s_cache() {
    // A real library under another name: ldconfig reads the name that is inside.
    let rename = "import pathlib\n\
                  real = pathlib.Path('/lib/x86_64-linux-gnu/liblzma.so.5').read_bytes()\n\
                  double = real.replace(b'liblzma.so.5\\0', b'libcuda.so.1\\0')\n\
                  pathlib.Path('/srv/drv/compat/libcuda.so.550.54').write_bytes(double)\n";
    let recipe = "RUN mkdir -p /srv/drv/compat && python3 /rename.py && \
                  echo /srv/drv/compat > /etc/ld.so.conf.d/drv.conf && ldconfig\n";
    let image = crate::engine::Image::with_recipe("cached", &[("/rename.py", rename)], recipe);
    let found = report("", &image.reference).exposure.unwrap();
    let told: Vec<_> =
        found.libraries.iter().map(|library| (library.name.as_str(), library.compat)).collect();
    assert_eq!(told, [("libcuda.so.550.54", true)]);
}
