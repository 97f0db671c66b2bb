//! The libtorch probe: the image's libtorch, without Python.
//!
//! Main functions: [`find`] and [`probe`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gpusweep_report::wire::Target;
use gpusweep_report::{Code, Probe, Stage};

use super::native;
use crate::cause;
use crate::files::{below, names_in};
use crate::worker::{Context, LIBTORCH, Probed};

/// What decides where to look.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// `LIBTORCH`, the folder that tch and CMake builds are told.
    pub(super) libtorch: Option<OsString>,
    pub(super) library_path: Option<OsString>,
}

impl Places {
    pub(super) fn of_this_process() -> Self {
        Self { libtorch: std::env::var_os("LIBTORCH"), library_path: std::env::var_os("LD_LIBRARY_PATH") }
    }
}

/// Where the loader looks without being told.
const LOADER: [&str; 6] = [
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// Where archives of libtorch are unpacked.
const ARCHIVES: [&str; 3] = ["/opt/libtorch/lib", "/usr/local/libtorch/lib", "/libtorch/lib"];

/// Prefixes of Python environments, `*` standing for any one folder.
const PREFIXES: [&str; 8] =
    ["/opt/venv", "/opt/conda", "/opt/conda/envs/*", "/opt/*/.venv", "/venv", "/usr/local", "/usr", "/opt/*"];

/// The folder of the image's libtorch: where `LIBTORCH` says, where the loader looks, where archives and wheels put it.
pub(super) fn find(places: &Places, root: &Path) -> Option<PathBuf> {
    let told = places.libtorch.iter().map(|folder| below(root, folder));
    let told = told.flat_map(|folder| [folder.join("lib"), folder]);
    let path = places.library_path.iter().flat_map(std::env::split_paths);
    let path = path.filter(|folder| folder.is_absolute()).map(|folder| below(root, folder));
    let fixed = LOADER.into_iter().chain(ARCHIVES).map(|folder| below(root, folder));
    told.chain(path).chain(fixed).find(|folder| has_libtorch(folder)).or_else(|| in_wheels(root))
}

/// As plain `libtorch_cpu.so`, or with a version behind it as in Debian.
fn has_libtorch(folder: &Path) -> bool {
    let is_library = |name: &String| {
        let version = name.strip_prefix("libtorch_cpu.so");
        version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    names_in(folder).iter().any(is_library)
}

fn in_wheels(root: &Path) -> Option<PathBuf> {
    let prefixes = PREFIXES.iter().flat_map(|prefix| matching(root, prefix));
    let packages = prefixes.flat_map(|prefix| {
        let lib = prefix.join("lib");
        let pythons = names_in(&lib).into_iter().filter(|name| name.starts_with("python3"));
        let folders: Vec<PathBuf> = pythons.map(|name| lib.join(name)).collect();
        folders.into_iter().flat_map(|folder| [folder.join("site-packages"), folder.join("dist-packages")])
    });
    packages.map(|folder| folder.join("torch/lib")).find(|folder| has_libtorch(folder))
}

/// The folders that a pattern names, in the order of their names.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').filter(|part| !part.is_empty()).fold(vec![root.to_path_buf()], |found, part| {
        let below = |folder: PathBuf| -> Vec<PathBuf> {
            match part {
                "*" => names_in(&folder).into_iter().map(|name| folder.join(name)).collect(),
                part => vec![folder.join(part)],
            }
        };
        found.into_iter().flat_map(below).collect()
    })
}

/// Runs the check with the libtorch in a folder.
pub(super) fn probe(context: Context<'_>, folder: Option<&PathBuf>, without: &[&str]) -> Probed {
    let Some(folder) = folder else {
        let message =
            "there is no libtorch: neither under LIBTORCH, nor where the loader looks, nor in a wheel";
        return native::not_found(context, Probe::Libtorch, Stage::Import, Code::TorchMissing, message);
    };
    let target = Target::Libtorch(folder.clone());
    let mut probed = native::probe(context, Probe::Libtorch, LIBTORCH, &target, without);
    let misfits = probed.verdict.error.as_ref().is_some_and(|error| error.kind == "Misfit");
    if misfits && probed.verdict.code == Code::WorkerFailed {
        let version = probed.pytorch.as_ref().map_or("unknown", |torch| torch.version.as_str());
        probed.cause = Some(cause::no_native_probe(version));
    }
    probed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with an empty file of libtorch at each of these.
    fn root(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    #[test]
    fn places_are_looked_at_in_the_documented_order() {
        let files = [
            "srv/torch/lib/libtorch_cpu.so",
            "srv/flat/libtorch_cpu.so",
            "srv/path/libtorch_cpu.so",
            "usr/lib/x86_64-linux-gnu/libtorch_cpu.so.2.6",
            "opt/libtorch/lib/libtorch_cpu.so",
            "opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
            "opt/conda/envs/a/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so",
            "opt/app/.venv/lib/python3.13/site-packages/torch/lib/libtorch_cpu.so",
            "usr/local/lib/python3.12/dist-packages/torch/lib/libtorch_cpu.so",
            "usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so",
        ];
        let root = root(&files);
        let mut places =
            Places { libtorch: Some("/srv/torch".into()), library_path: Some("relative:/srv/path".into()) };
        for (number, file) in files.iter().enumerate() {
            if number == 1 {
                places.libtorch = Some("/srv/flat".into());
            }
            let found = find(&places, root.path()).unwrap();
            assert_eq!(found, root.path().join(file).parent().unwrap());
            std::fs::remove_file(root.path().join(file)).unwrap();
        }
        assert_eq!(find(&places, root.path()), None);
    }

    #[test]
    fn other_files_are_no_libtorch() {
        let root =
            root(&["usr/lib/libtorch_cpu.so.debug", "usr/lib/libtorch_cuda.so", "usr/lib/xlibtorch_cpu.so"]);
        assert_eq!(find(&Places::default(), root.path()), None);
    }
}
