//! The programs that are carried into containers: what they need, how big they are, and where they start.

use std::process::Command;

use gpusweep::backend::checker::{self, CHECKER, NATIVE};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, elf};

use crate::engine::docker;

/// Bytes. Both together are sent to every engine, and the checker runs where other tools have no room.
const MAX_CHECKER: usize = 1_500_000;
const MAX_NATIVE: usize = 400_000;

fn parse(bytes: &[u8]) -> ElfFile64<'_, Endianness> {
    ElfFile64::parse(bytes).unwrap()
}

#[test]
fn the_checker_is_static_and_small() {
    let file = parse(CHECKER.bytes);
    let kinds: Vec<elf::ProgramType> =
        file.elf_program_headers().iter().map(|header| header.p_type(file.endian())).collect();
    assert!(!kinds.contains(&elf::PT_INTERP) && !kinds.contains(&elf::PT_DYNAMIC));
    assert!(CHECKER.bytes.len() <= MAX_CHECKER, "{} bytes", CHECKER.bytes.len());
    assert!(NATIVE.bytes.len() <= MAX_NATIVE, "{} bytes", NATIVE.bytes.len());
}

/// Without a version, a reference is bound to the default symbol of whatever glibc is there.
#[test]
fn the_native_worker_asks_for_no_version_of_glibc() {
    let file = parse(NATIVE.bytes);
    let sections = file.elf_header().sections(file.endian(), NATIVE.bytes).unwrap();
    assert!(sections.versions(file.endian(), NATIVE.bytes).unwrap().is_none());
    let (dynamic, strings) = sections
        .dynamic(file.endian(), NATIVE.bytes)
        .unwrap()
        .map(|(dynamic, index)| (dynamic, sections.strings(file.endian(), NATIVE.bytes, index).unwrap()))
        .unwrap();
    let needed = dynamic.iter().filter(|entry| entry.tag(file.endian()) == elf::DT_NEEDED);
    let mut needed: Vec<_> = needed
        .map(|entry| {
            let name = strings.get(u32::try_from(entry.d_val(file.endian())).unwrap()).unwrap();
            String::from_utf8_lossy(name).into_owned()
        })
        .collect();
    needed.sort();
    assert_eq!(needed, ["libc.so.6", "libdl.so.2", "libpthread.so.0"]);
    assert!(
        file.dynamic_symbols().filter(|symbol| !symbol.is_undefined()).count() == 0,
        "it exports nothing"
    );
}

/// glibc 2.31, 2.36 and 2.41; an older one cannot be had as a package.
#[test]
fn the_native_worker_starts_with_the_glibc_of_every_debian() {
    let folder = tempfile::tempdir().unwrap();
    let programs = checker::install(folder.path()).unwrap();
    let mount = format!("{}:/programs:ro", programs.parent().unwrap().display());
    for image in ["python-bullseye", "python", "python-trixie"] {
        let reference = format!("localhost/gpusweep/{image}:1");
        let task = r#"echo '{"fd":1,"device":"cuda:0","target":"cuda"}' | /programs/gpusweep-native"#;
        let said =
            docker(&["run", "--rm", "--network", "none", "--volume", &mount, &reference, "sh", "-c", task]);
        assert!(said.contains("\"binding\":\"cuda\"") && said.contains("libcuda.so.1"), "{image}: {said}");
    }
}

#[test]
fn a_printed_line_brings_both_programs() {
    let folder = tempfile::tempdir().unwrap();
    let programs = checker::install(folder.path()).unwrap();
    let output = Command::new(programs.with_file_name(NATIVE.name))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by gpusweep-checker"));
}
