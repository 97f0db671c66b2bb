//! What the checker says of the GPU's way into the process, and the host's word.

use gpusweep_report::{Code, HostCheck, Stage};

use crate::harness::{Checker, program};

#[test]
fn variables_are_told_as_unset_empty_or_their_value() {
    let checker = Checker::with_gpus(1).env("CUDA_VISIBLE_DEVICES", "").env("HIP_VISIBLE_DEVICES", "\"0\"");
    let outcome = checker.run();
    let exposure = outcome.report.exposure.unwrap();
    assert_eq!(exposure.variables.len(), 8);
    assert_eq!(exposure.variables["CUDA_VISIBLE_DEVICES"].as_deref(), Some(""));
    assert_eq!(exposure.variables["HIP_VISIBLE_DEVICES"].as_deref(), Some("\"0\""));
    assert_eq!(exposure.variables["ROCR_VISIBLE_DEVICES"], None);
}

#[test]
fn nodes_are_listed_also_where_they_are_missing() {
    let exposure = Checker::new().run().report.exposure.unwrap();
    for node in ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd"] {
        assert_eq!(exposure.nodes.iter().filter(|found| found.node == node).count(), 1, "{node}");
    }
    assert!(exposure.nodes.iter().all(|node| node.open == "ok" || node.open.starts_with('E')));
}

#[test]
fn the_image_cannot_blind_the_look_with_a_stack_that_nothing_can_hold() {
    let outcome = Checker::with_gpus(1).env("RUST_MIN_STACK", "99999999999999999").run();
    assert!(outcome.report.exposure.is_some(), "{}", outcome.line);
}

/// A double of nvidia-smi that runs these lines.
fn with_smi(lines: &str) -> Checker {
    let checker = Checker::with_gpus(1).args(["--host-check"]);
    let folder = checker.folder.path().join("bin");
    program(&folder.join("nvidia-smi"), &format!("#!/bin/sh\n{lines}\n"));
    let path = std::env::join_paths([folder, "/usr/bin".into(), "/bin".into()]).unwrap();
    checker.env("PATH", path)
}

#[track_caller]
fn host_check(checker: Checker) -> (Option<String>, Option<u64>) {
    let outcome = checker.run();
    // Whatever the tool says, it changes no code.
    outcome.expect(Code::GpuCheckPassed, Stage::Complete);
    let HostCheck { nvidia_driver, memory_total_mib } = outcome.report.host_check.expect("it was asked for");
    (nvidia_driver, memory_total_mib)
}

#[test]
fn the_hosts_word_is_two_facts_or_nulls() {
    let query =
        r#"[ "$*" = "--query-gpu=driver_version,memory.total --format=csv,noheader,nounits" ] || exit 1"#;
    let right = format!("{query}\necho '580.159, 143771'\necho '580.159, 1'");
    assert_eq!(host_check(with_smi(&right)), (Some("580.159".to_owned()), Some(143_771)));
    let nothing = (None, None);
    assert_eq!(host_check(with_smi("echo '580.159, 143771'; exit 9")), nothing);
    assert_eq!(host_check(with_smi("echo 'No devices were found'")), nothing);
    assert_eq!(host_check(with_smi("head -c 50000000 /dev/zero")), nothing);
    if !["/usr/bin/nvidia-smi", "/bin/nvidia-smi"].iter().any(|file| std::path::Path::new(file).exists()) {
        assert_eq!(host_check(Checker::with_gpus(1).args(["--host-check"])), nothing);
    }
}

#[test]
fn a_hanging_host_check_is_given_up() {
    let checker = with_smi("echo '580.159, 143771'\n(setsid sleep 3600 &)\nsleep 3600");
    assert_eq!(host_check(checker), (None, None));
}
