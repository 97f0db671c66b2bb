//! Driver libraries, in the order in which the loader would find them; behind them those in folders of the vendors.
//!
//! Main function: [`libraries`]. The name of the file behind the links carries the driver's version.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gpusweep_report::Library;

use super::loader;
use crate::files::{below, names_in};
use crate::privacy;

const PREFIXES: [&str; 4] = ["libcuda.so.", "libnvidia-ml.so.", "libamdhip64.so.", "libhsa-runtime64.so."];

const FOLDERS: [&str; 10] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/lib",
];

/// More than any machine has.
const MAX_LIBRARIES: usize = 64;

pub(super) fn libraries(root: &Path, library_path: Option<&OsStr>) -> Vec<Library> {
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| below(root, folder)).collect();
    folders.extend(loader::ldconfig_folders(root));
    for (folder, name, inside) in [("/usr/local", "cuda", "compat"), ("/opt", "rocm", "lib")] {
        let folder = below(root, folder);
        let versions = names_in(&folder).into_iter().filter(|found| found.starts_with(name));
        folders.extend(versions.map(|version| folder.join(version).join(inside)));
    }
    let configured = loader::configured_folders(root, library_path);
    let mut files: Vec<PathBuf> = configured.iter().flat_map(|folder| in_folder(folder)).collect();
    files.extend(loader::known_files(root));
    files.extend(folders.iter().flat_map(|folder| in_folder(folder)));
    let mut seen = BTreeSet::new();
    let found = files.iter().filter_map(|file| library(file));
    found
        .filter(|(path, _)| seen.insert(path.clone()))
        .map(|(_, library)| library)
        .take(MAX_LIBRARIES)
        .collect()
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    names_in(folder).into_iter().map(|name| folder.join(name)).collect()
}

/// Links are followed: `libcuda.so.1` says nothing, the file behind it says which driver. A link to nowhere is no library.
fn library(file: &Path) -> Option<(PathBuf, Library)> {
    let name = file.file_name()?.to_str()?;
    if !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let path = file.canonicalize().ok()?;
    let compat = path.components().any(|part| part.as_os_str() == "compat");
    let name = privacy::token(&privacy::file_name(&path)?);
    Some((path, Library { name, compat }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_a_version_and_those_of_ldconfig_come_last() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            "usr/lib64/libcuda.so.580.159",
            "srv/drv/libnvidia-ml.so.575.51",
            "usr/local/cuda-12.4/compat/libcuda.so.550.54",
            "opt/rocm-6.2.0/lib/libamdhip64.so.6.2",
        ];
        for file in files {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        std::fs::create_dir_all(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/ld.so.conf"), "/srv/drv\n").unwrap();
        let found = libraries(root.path(), None);
        let told: Vec<_> = found.iter().map(|library| (library.name.as_str(), library.compat)).collect();
        let expected = [
            ("libcuda.so.580.159", false),
            ("libnvidia-ml.so.575.51", false),
            ("libcuda.so.550.54", true),
            ("libamdhip64.so.6.2", false),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn each_library_is_listed_once_under_its_versioned_name() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("usr/lib/x86_64-linux-gnu");
        let compat = root.path().join("usr/local/cuda/compat");
        for folder in [&folder, &compat] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(folder.join("libcuda.so.580.159"), "").unwrap();
        std::fs::write(folder.join("libcudart.so.13"), "").unwrap();
        std::os::unix::fs::symlink("libcuda.so.580.159", folder.join("libcuda.so.1")).unwrap();
        std::os::unix::fs::symlink("gone", folder.join("libnvidia-ml.so.1")).unwrap();
        std::fs::write(compat.join("libcuda.so.550.54"), "").unwrap();
        let found = libraries(root.path(), Some(OsStr::new("/usr/local/cuda/compat:relative:")));
        let told: Vec<_> = found.iter().map(|library| (library.name.as_str(), library.compat)).collect();
        assert_eq!(told, [("libcuda.so.550.54", true), ("libcuda.so.580.159", false)]);
    }
}
