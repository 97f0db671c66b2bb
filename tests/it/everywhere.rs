//! The checker runs wherever a container can: in images with next to nothing in them, on every Debian, as anybody, and with
//! little allowed. No doubles: images, users, mounts and profiles are real.

use std::path::Path;

use gpusweep_report::{Code, Report, Stage};
use object::read::elf::{ElfFile64, ProgramHeader as _};

use crate::engine::Image;
use crate::exposure::{report, report_on};

const BARE: &str = "localhost/gpusweep/bare:1";

/// Debian 11 to 13, with Python and no torch.
const DEBIANS: [(&str, &str); 3] = [
    ("localhost/gpusweep/python-bullseye:1", "glibc 2.31"),
    ("localhost/gpusweep/python:1", "glibc 2.36"),
    ("localhost/gpusweep/python-trixie:1", "glibc 2.41"),
];

fn found_no_interpreter(report: &Report, flags: &str) {
    assert_eq!((report.code, report.stage), (Code::TorchMissing, Stage::Interpreter), "{flags}");
    assert!(report.exposure.is_some(), "{flags}");
}

#[test]
fn in_an_image_without_anything_and_with_nowhere_to_write_to() {
    for flags in ["", "--user 65534", "--user 123456:7", "--read-only --tmpfs /tmp:noexec", "--cap-drop ALL"]
    {
        found_no_interpreter(&report(flags, BARE), flags);
    }
}

/// Double: a node 1:3, which is /dev/null, stands for a GPU's.
#[test]
fn an_image_without_a_loader_can_have_no_driver_and_says_so() {
    for (node, flags) in
        [("/dev/kfd", "--device /dev/null:/dev/kfd"), ("/dev/nvidia0", "--device /dev/null:/dev/nvidia0")]
    {
        for arguments in ["", "--probe driver"] {
            let report = report_on(flags, BARE, arguments);
            assert_eq!(
                (report.code, report.stage),
                (Code::GpuUnavailable, Stage::Driver),
                "{node} {arguments}"
            );
            let message = report.first_error.unwrap().message;
            assert!(message.starts_with("the image has no glibc"), "{message}");
        }
    }
}

#[test]
fn in_an_image_with_busybox_alone() {
    let busybox = Path::new("/bin/busybox");
    let bytes =
        std::fs::read(busybox).expect("busybox-static, which scripts/install-deps.sh --for tests installs");
    let file = ElfFile64::<object::Endianness>::parse(bytes.as_slice()).unwrap();
    let loads = |kind| file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == kind);
    assert!(!loads(object::elf::PT_INTERP), "a static busybox is needed: install busybox-static");
    let image = Image::with_only("busybox", busybox, "/bin/busybox");
    let report = report("", &image.reference);
    found_no_interpreter(&report, "");
    assert_eq!(report.runtime.unwrap().libc, None, "it has no C library");
}

#[test]
fn on_every_debian() {
    for (image, libc) in DEBIANS {
        for flags in ["", "--user 65534", "--read-only --tmpfs /tmp:noexec"] {
            let report = report(flags, image);
            assert_eq!((report.code, report.stage), (Code::TorchMissing, Stage::Import), "{image} {flags}");
            assert_eq!(report.runtime.unwrap().libc.as_deref(), Some(libc), "{image} {flags}");
        }
    }
}

/// Debian's real torch, and its libtorch without Python: nothing may be written, and nobody is anybody.
#[test]
fn torch_computes_on_a_read_only_root_under_any_user() {
    for flags in
        ["--read-only", "--read-only --user 1000:1000", "--read-only --tmpfs /tmp:noexec --user 65534"]
    {
        for image in ["torch-cpu", "torch-venv", "libtorch-debian"] {
            let python = if image == "torch-venv" { " --python /opt/venv/bin/python" } else { "" };
            let report =
                report_on(flags, &format!("localhost/gpusweep/{image}:1"), &format!("--device cpu{python}"));
            assert_eq!(report.code, Code::CpuCheckPassed, "{image} {flags}: {:?}", report.first_error);
        }
    }
}

fn profile(name: &str) -> String {
    format!("--security-opt seccomp={}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// The profile allows what the checker and the runtime call, and little else. What the checker can do without (a newer call
/// with an older one to fall back on) may be missing from it; what changes the report may not.
#[test]
fn under_a_seccomp_profile_that_allows_no_more_than_it_calls() {
    let report_under = report(&profile("seccomp-narrow"), BARE);
    found_no_interpreter(&report_under, "narrow");
    assert_eq!(report_under.exposure, report("", BARE).exposure);
}

/// So do the native worker and what it loads: Debian's libtorch, and NVIDIA's real driver library.
#[test]
fn native_probes_under_the_same_profile() {
    let narrow = profile("seccomp-narrow");
    let torch = report_on(&narrow, "localhost/gpusweep/libtorch-debian:1", "--probe libtorch --device cpu");
    assert_eq!(torch.code, Code::CpuCheckPassed, "{:?}", torch.first_error);
    let driver = report_on(&narrow, "localhost/gpusweep/cuda-driver:1", "--probe driver");
    assert_eq!(driver.driver.and_then(|driver| driver.init_result), Some(100), "{:?}", driver.first_error);
}

/// It cannot start anything, and says so: that is no word about the image's torch.
#[test]
fn under_a_seccomp_profile_that_lets_it_start_nothing() {
    let report = report(&profile("seccomp-no-children"), DEBIANS[1].0);
    assert_eq!(report.code, Code::WorkerFailed);
    assert_eq!(report.first_error.unwrap().kind, "EPERM");
    assert!(report.exposure.is_none(), "it looks from a thread, which it cannot start either");
}
