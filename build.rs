//! Builds the static checker and hands its file to `src/backend/checker.rs`, so that `gpusweep` is one file that always
//! carries the checker of its own version.
//!
//! Set `GPUSWEEP_CHECKER` to a ready-made static checker to embed that one instead (packagers, other targets).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(required("OUT_DIR")).join("gpusweep-checker");
    println!("cargo::rerun-if-env-changed=GPUSWEEP_CHECKER");
    let built = env::var_os("GPUSWEEP_CHECKER").map_or_else(build_checker, PathBuf::from);
    fs::copy(&built, &out).unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    println!("cargo::rustc-env=GPUSWEEP_CHECKER_FILE={}", out.display());
}

fn build_checker() -> PathBuf {
    for input in
        ["Cargo.toml", "Cargo.lock", "crates/report", "crates/checker/Cargo.toml", "crates/checker/src"]
    {
        println!("cargo::rerun-if-changed={input}");
    }
    let target = required("TARGET");
    let directory = target_directory().join("checker");
    let mut cargo = Command::new(required("CARGO"));
    cargo
        .args(["build", "--release", "--package", "gpusweep-checker", "--bin", "gpusweep-checker"])
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        // It is carried into every container: its size counts more than its speed.
        .envs([("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"), ("CARGO_PROFILE_RELEASE_LTO", "fat")])
        .envs([("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"), ("CARGO_PROFILE_RELEASE_PANIC", "abort")]);
    // The outer build's own settings would change or break the inner one: clippy's driver, flags of sanitizers.
    for name in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"]
    {
        cargo.env_remove(name);
    }
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot start cargo for the checker: {error}"));
    assert!(status.success(), "the static checker could not be built for {target}");
    directory.join(target).join("release/gpusweep-checker")
}

/// Cargo's target directory, which debug and release builds share, so that the checker is built once for both.
fn target_directory() -> PathBuf {
    let out = PathBuf::from(required("OUT_DIR"));
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").exists();
    out.ancestors().find(marked).map_or_else(|| out.clone(), Path::to_path_buf)
}

fn required(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
