//! Builds the two programs that run inside containers and hands their files to `src/backend/checker.rs`, so that
//! `gpusweep` is one file that always carries the checker of its own version.
//!
//! Set `GPUSWEEP_CHECKER` and `GPUSWEEP_NATIVE` to ready-made ones to embed those instead (packagers, other targets).

#[path = "build/glibc.rs"]
mod glibc;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    embed("GPUSWEEP_CHECKER", "gpusweep-checker", || build("gpusweep-checker", "checker", &checker_flags()));
    embed("GPUSWEEP_NATIVE", "gpusweep-native", || build("gpusweep-native", "native", &native_flags()));
}

fn embed(variable: &str, name: &str, build: impl FnOnce() -> PathBuf) {
    println!("cargo::rerun-if-env-changed={variable}");
    let out = PathBuf::from(required("OUT_DIR")).join(name);
    let built = env::var_os(variable).map_or_else(build, PathBuf::from);
    fs::copy(&built, &out).unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    println!("cargo::rustc-env={variable}_FILE={}", out.display());
}

/// Static, at a fixed address, without tables for unwinding, and with what functions have in common outlined: together
/// they are a sixth of its size.
fn checker_flags() -> Vec<String> {
    let fixed = [
        "target-feature=+crt-static",
        "relocation-model=static",
        "force-unwind-tables=no",
        "llvm-args=--enable-machine-outliner=always",
    ];
    let mut flags: Vec<String> = fixed.map(|flag| format!("-C{flag}")).into();
    // One short digest a report: rounds in a loop serve as well as unrolled ones and those of every processor.
    flags.extend([
        r#"--cfg=sha2_backend="soft""#.to_owned(),
        r#"--cfg=sha2_backend_soft="compact""#.to_owned(),
    ]);
    // The script needs rust-lld, which is the default linker of this target alone.
    if required("TARGET") == "x86_64-unknown-linux-gnu" {
        println!("cargo::rerun-if-changed=build/checker.ld");
        let script = Path::new(&required("CARGO_MANIFEST_DIR")).join("build/checker.ld");
        flags.push(format!("-Clink-arg=-T{}", script.display()));
    }
    flags
}

/// No table for unwinding: a C++ exception of a library must end in SIGABRT with its text, not pass through.
fn native_flags() -> Vec<String> {
    println!("cargo::rerun-if-changed=build/glibc.rs");
    let mut flags = vec!["-Cforce-unwind-tables=no".to_owned()];
    if required("CARGO_CFG_TARGET_ENV") == "gnu" {
        let folder = PathBuf::from(required("OUT_DIR")).join("glibc");
        let arguments = glibc::stand_ins(&folder)
            .unwrap_or_else(|error| panic!("cannot make stand-ins for glibc: {error}"));
        flags.extend(["--cfg".to_owned(), "portable".to_owned()]);
        flags.extend(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    }
    flags
}

fn build(package: &str, folder: &str, flags: &[String]) -> PathBuf {
    let inputs = [
        "Cargo.toml".to_owned(),
        "Cargo.lock".to_owned(),
        "crates/report".to_owned(),
        format!("crates/{folder}/Cargo.toml"),
        format!("crates/{folder}/src"),
    ];
    for input in inputs {
        println!("cargo::rerun-if-changed={input}");
    }
    let target = required("TARGET");
    let directory = target_directory().join(folder);
    let mut cargo = Command::new(required("CARGO"));
    cargo
        .args(["build", "--release", "--package", package, "--bin", package])
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(&directory)
        // Encoded, as the checkout may lie in a folder whose name has blanks.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        // It is carried into every container: its size counts more than its speed.
        .envs([("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"), ("CARGO_PROFILE_RELEASE_LTO", "fat")])
        .envs([("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"), ("CARGO_PROFILE_RELEASE_PANIC", "abort")]);
    // The outer build's own settings would change or break the inner one: clippy's driver, flags of sanitizers.
    for name in ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot start cargo for {package}: {error}"));
    assert!(status.success(), "{package} could not be built for {target}");
    directory.join(target).join("release").join(package)
}

/// Cargo's target directory, which debug and release builds share, so that each program is built once for both.
fn target_directory() -> PathBuf {
    let out = PathBuf::from(required("OUT_DIR"));
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    out.ancestors().find(marked).map_or_else(|| out.clone(), Path::to_path_buf)
}

fn required(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
