//! Which Python is the image's.
//!
//! Main function: [`candidates`], of which the first is the one. The environment of the project is the one to check, or another is checked than the one that
//! fails. Links are never resolved: an environment is known by the link it is started through.

mod command;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// What a shell takes where PATH is unset.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An interpreter, by the name it is to be started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) path: PathBuf,
    pub(crate) how: How,
}

/// How an interpreter was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Configured,
    Entrypoint,
    Venv,
    Conda,
    Path,
    Search,
}

impl How {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Entrypoint => "entrypoint",
            Self::Venv => "venv",
            Self::Conda => "conda",
            Self::Path => "path",
            Self::Search => "search",
        }
    }
}

/// What decides where to look.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) configured: Option<PathBuf>,
    /// The image's own ENTRYPOINT and CMD.
    pub(crate) command: Vec<String>,
    pub(crate) virtual_env: Option<OsString>,
    pub(crate) conda_prefix: Option<OsString>,
    pub(crate) path: Option<OsString>,
}

impl Surroundings {
    pub(crate) fn of_this_process(configured: Option<PathBuf>, command: Vec<String>) -> Self {
        Self {
            configured,
            command,
            virtual_env: std::env::var_os("VIRTUAL_ENV"),
            conda_prefix: std::env::var_os("CONDA_PREFIX"),
            path: std::env::var_os("PATH"),
        }
    }
}

/// Every interpreter by the documented order. The first is the image's, also where it turns out not to run; a configured
/// one is the only one.
pub(crate) fn candidates(surroundings: &Surroundings, root: &Path) -> Vec<Interpreter> {
    if let Some(path) = &surroundings.configured {
        return vec![Interpreter { path: path.clone(), how: How::Configured }];
    }
    let path = surroundings.path.as_deref();
    let environment = |prefix: &Option<OsString>, how| {
        let prefix = Path::new(prefix.as_deref().filter(|prefix| !prefix.is_empty())?);
        in_folder(&prefix.join("bin"), exists).map(|path| Interpreter { path, how })
    };
    let mut found: Vec<Interpreter> = command::interpreter_of(&surroundings.command, path)
        .map(|path| Interpreter { path, how: How::Entrypoint })
        .into_iter()
        .chain(environment(&surroundings.virtual_env, How::Venv))
        .chain(environment(&surroundings.conda_prefix, How::Conda))
        .collect();
    found.extend(on_path(path).into_iter().map(|path| Interpreter { path, how: How::Path }));
    found.extend(hidden(root).into_iter().map(|path| Interpreter { path, how: How::Search }));
    without_repeats(found)
}

/// Two names of one file in one folder are one interpreter; a link from another folder is an environment of its own.
fn without_repeats(mut found: Vec<Interpreter>) -> Vec<Interpreter> {
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|interpreter| {
        let path = &interpreter.path;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        seen.insert((path.parent().map(real), real(path)))
    });
    found
}

/// `python` anywhere on PATH comes before `python3` anywhere.
fn on_path(path: Option<&OsStr>) -> Vec<PathBuf> {
    let path = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    // A relative entry means the working directory, which is the application's and not the environment's.
    let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    let named = |name| folders.iter().map(move |folder| folder.join(name)).filter(|file| is_program(file));
    named("python").chain(named("python3")).collect()
}

/// Where images put an interpreter that nothing points to.
fn hidden(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("opt/venv/bin"), root.join("opt/conda/bin")];
    folders.extend(folders_in(&root.join("opt/conda/envs")).map(|folder| folder.join("bin")));
    folders.extend(folders_in(&root.join("opt")).map(|folder| folder.join(".venv/bin")));
    folders.push(root.join("venv/bin"));
    folders.push(root.join("usr/local/bin"));
    let mut found: Vec<PathBuf> = folders.iter().filter_map(|folder| in_folder(folder, is_program)).collect();
    for folder in ["usr/local/bin", "usr/bin"] {
        found.extend(minors(&root.join(folder)));
    }
    found
}

fn in_folder(folder: &Path, accept: fn(&Path) -> bool) -> Option<PathBuf> {
    ["python", "python3"].into_iter().map(|name| folder.join(name)).find(|file| accept(file))
}

/// Every `python3.N` of a folder, the newest first; `python3.11-config` and the like are none.
fn minors(folder: &Path) -> Vec<PathBuf> {
    let minor =
        |path: &Path| -> Option<u32> { path.file_name()?.to_str()?.strip_prefix("python3.")?.parse().ok() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let programs = entries.map(|entry| entry.path()).filter(|path| is_program(path));
    let mut found: Vec<(u32, PathBuf)> = programs.filter_map(|path| Some((minor(&path)?, path))).collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).collect()
}

/// In the order of their names, so that the same image always gives the same answer.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

/// A link to nowhere counts: the environment that was chosen is broken, which is what is to be found out.
fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

/// What a shell would run: it passes over folders, links to nowhere and files that may not be executed.
fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A root with these files, executable unless the name ends in `!`.
    fn root(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file.trim_end_matches('!'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            let mode = if file.ends_with('!') { 0o644 } else { 0o755 };
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        root
    }

    fn found(root: &tempfile::TempDir, surroundings: &Surroundings) -> Option<(String, How)> {
        let found = candidates(surroundings, root.path()).into_iter().next()?;
        let path = found.path.strip_prefix(root.path()).unwrap_or(&found.path);
        Some((path.to_str().unwrap().to_owned(), found.how))
    }

    fn at(root: &tempfile::TempDir, folders: &[&str]) -> Option<OsString> {
        Some(std::env::join_paths(folders.iter().map(|folder| root.path().join(folder))).unwrap())
    }

    #[test]
    fn the_order_is_the_documented_one() {
        let root = root(&["v/bin/python", "c/bin/python3", "p/python3", "q/python", "opt/venv/bin/python"]);
        let mut surroundings = Surroundings {
            configured: Some("/x/python".into()),
            command: vec!["/e/python3".into(), "app.py".into()],
            virtual_env: at(&root, &["v"]),
            conda_prefix: at(&root, &["c"]),
            path: at(&root, &["p", "q"]),
        };
        assert_eq!(found(&root, &surroundings), Some(("/x/python".into(), How::Configured)));
        surroundings.configured = None;
        assert_eq!(found(&root, &surroundings), Some(("/e/python3".into(), How::Entrypoint)));
        surroundings.command.clear();
        assert_eq!(found(&root, &surroundings), Some(("v/bin/python".into(), How::Venv)));
        surroundings.virtual_env = at(&root, &["gone"]);
        assert_eq!(found(&root, &surroundings), Some(("c/bin/python3".into(), How::Conda)));
        surroundings.conda_prefix = Some(OsString::new());
        assert_eq!(found(&root, &surroundings), Some(("q/python".into(), How::Path)));
        surroundings.path = at(&root, &["p"]);
        assert_eq!(found(&root, &surroundings), Some(("p/python3".into(), How::Path)));
        surroundings.path = Some(OsString::new());
        assert_eq!(found(&root, &surroundings), Some(("opt/venv/bin/python".into(), How::Search)));
    }

    #[test]
    fn hidden_places_are_searched_in_order() {
        let nowhere = Surroundings { path: Some(OsString::new()), ..Surroundings::default() };
        let places = [
            "opt/venv/bin/python",
            "opt/conda/bin/python",
            "opt/conda/envs/a/bin/python",
            "opt/conda/envs/b/bin/python",
            "opt/app/.venv/bin/python",
            "venv/bin/python",
            "usr/local/bin/python3",
            "usr/bin/python3.12",
        ];
        let root = root(&places);
        for place in places {
            assert_eq!(found(&root, &nowhere), Some((place.to_owned(), How::Search)));
            std::fs::remove_file(root.path().join(place)).unwrap();
        }
        assert_eq!(found(&root, &nowhere), None);
    }

    #[test]
    fn the_newest_of_several_minors_is_taken() {
        let nowhere = Surroundings { path: Some(OsString::new()), ..Surroundings::default() };
        let root = root(&[
            "usr/bin/python3.9",
            "usr/bin/python3.11",
            "usr/bin/python3.13-config",
            "usr/bin/python3.14!",
        ]);
        assert_eq!(found(&root, &nowhere), Some(("usr/bin/python3.11".into(), How::Search)));
    }

    #[test]
    fn every_other_interpreter_is_a_candidate_once() {
        let root = root(&["p/python3.12", "opt/venv/bin/python", "usr/bin/python3.9", "usr/bin/python3.13"]);
        for name in ["python", "python3"] {
            std::os::unix::fs::symlink("python3.12", root.path().join("p").join(name)).unwrap();
        }
        let surroundings = Surroundings { path: at(&root, &["p"]), ..Surroundings::default() };
        let found = candidates(&surroundings, root.path());
        let found: Vec<_> = found.iter().map(|found| found.path.strip_prefix(root.path()).unwrap()).collect();
        let expected = ["p/python", "opt/venv/bin/python", "usr/bin/python3.13", "usr/bin/python3.9"];
        assert_eq!(found, expected.map(Path::new));
    }

    #[test]
    fn a_broken_environment_is_still_the_one() {
        let root = root(&["v/bin/activate", "p/python3"]);
        std::os::unix::fs::symlink("/gone/python3", root.path().join("v/bin/python")).unwrap();
        let surroundings = Surroundings {
            virtual_env: at(&root, &["v"]),
            path: at(&root, &["v/bin", "p"]),
            ..Surroundings::default()
        };
        assert_eq!(found(&root, &surroundings), Some(("v/bin/python".into(), How::Venv)));
        let path_only = Surroundings { path: at(&root, &["v/bin", "p"]), ..Surroundings::default() };
        assert_eq!(found(&root, &path_only), Some(("p/python3".into(), How::Path)));
    }
}
