//! Which libtorch lies in a folder, told by files alone: nothing of it has to run for that.
//!
//! Main type: [`Identity`].

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use gpusweep_report::wire::PytorchFacts;

/// More than any file with a version has.
const MAX_FILE: u64 = 64 * 1024;

/// What a libtorch says it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// As in `torch.__version__` where a file tells it; else `MAJOR.MINOR` from the library's name.
    pub(super) version: Option<String>,
    cuda: Option<String>,
    hip: Option<String>,
}

impl Identity {
    pub(super) fn read(folder: &Path) -> Self {
        let above = folder.parent().unwrap_or(folder);
        // A wheel's torch/lib lies beside version.py, the archives' lib beside build-version and include.
        let python = text(&above.join("version.py"));
        let assigned = |name: &str| python.as_deref().and_then(|text| assigned(text, name));
        let version = assigned("__version__")
            .or_else(|| text(&above.join("build-version")).map(|text| text.trim().to_owned()))
            .or_else(|| text(&above.join("include/torch/version.h")).and_then(|text| defined(&text)))
            .or_else(|| version_in_name(folder));
        let has = |name: &str| file_of(folder, name).is_some().then(|| UNKNOWN.to_owned());
        Self {
            version: version.filter(|version| !version.is_empty()),
            cuda: assigned("cuda").or_else(|| has(CUDA)),
            hip: assigned("hip").or_else(|| has(HIP)),
        }
    }

    pub(super) fn gpu_library(&self) -> Option<&'static str> {
        match (&self.hip, &self.cuda) {
            (Some(_), _) => Some(HIP),
            (None, Some(_)) => Some(CUDA),
            (None, None) => None,
        }
    }

    pub(super) fn facts(&self) -> PytorchFacts {
        PytorchFacts {
            version: self.version.clone(),
            cuda_build: self.cuda.clone(),
            hip_build: self.hip.clone(),
            gpu_available: None,
            visible_device_count: None,
            arch_list: None,
            devices: None,
        }
    }
}

/// The version of a build that is known by its library alone.
const UNKNOWN: &str = "unknown";

const CUDA: &str = "libtorch_cuda.so";
const HIP: &str = "libtorch_hip.so";

/// The file of a library: under its plain name, or with a version behind it as Debian has it.
pub(super) fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = folder.join(name);
    if plain.is_file() {
        return Some(plain);
    }
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| version_behind(path, name).is_some() && path.is_file()).max()
}

fn version_behind<'a>(path: &'a Path, name: &str) -> Option<&'a str> {
    let version = path.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(version)
}

/// Debian links `libtorch_cpu.so` to `libtorch_cpu.so.1.13`.
fn version_in_name(folder: &Path) -> Option<String> {
    let file = file_of(folder, "libtorch_cpu.so")?;
    let file = file.canonicalize().unwrap_or(file);
    version_behind(&file, "libtorch_cpu.so").map(str::to_owned)
}

/// `name = '…'` or `name: Optional[str] = '…'`; nothing for `None`.
fn assigned(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with([' ', ':', '=']).then_some(rest)
    })?;
    let value = line.split_once('=')?.1.trim();
    let value = value.strip_prefix(['\'', '"'])?;
    value.split(['\'', '"']).next().map(str::to_owned)
}

/// `#define TORCH_VERSION "2.6.0"`.
fn defined(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("#define TORCH_VERSION "))?;
    Some(line.trim().trim_matches('"').to_owned())
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn told(files: &[(&str, &str)]) -> (Option<String>, Option<String>, Option<String>) {
        let folder = folder(files);
        let Identity { version, cuda, hip } = Identity::read(&folder.path().join("lib"));
        (version, cuda, hip)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_wheel_tells_itself_in_python() {
        let text = "from typing import Optional\n__all__ = ['__version__']\n__version__ = '2.13.0+cu130'\n\
                    cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n";
        assert_eq!(
            told(&[("version.py", text), ("lib/libtorch_cpu.so", "")]),
            (some("2.13.0+cu130"), some("13.0"), None)
        );
        let rocm = "__version__ = '2.9.1+rocm6.4'\ncuda = None\nhip = '6.4.43484'\n";
        assert_eq!(told(&[("version.py", rocm)]), (some("2.9.1+rocm6.4"), None, some("6.4.43484")));
    }

    #[test]
    fn an_archive_tells_itself_in_a_file_or_a_header() {
        assert_eq!(told(&[("build-version", "2.1.0+cpu\n")]).0, some("2.1.0+cpu"));
        let header = "#pragma once\n#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION \"2.7.1\"\n";
        let files = [("include/torch/version.h", header), ("lib/libtorch_cuda.so", "")];
        assert_eq!(told(&files), (some("2.7.1"), some("unknown"), None));
    }

    #[test]
    fn a_distribution_tells_the_version_in_the_file_name() {
        assert_eq!(told(&[("lib/libtorch_cpu.so.2.6", "")]).0, some("2.6"));
        let folder = folder(&[("lib/libtorch_cpu.so.1.13", "")]);
        let lib = folder.path().join("lib");
        std::os::unix::fs::symlink("libtorch_cpu.so.1.13", lib.join("libtorch_cpu.so")).unwrap();
        assert_eq!(Identity::read(&lib).version, some("1.13"));
        assert_eq!(told(&[("lib/libtorch_cpu.so", "")]).0, None);
        assert_eq!(told(&[("lib/libtorch_cpu.so.debug", "")]), (None, None, None));
    }
}
