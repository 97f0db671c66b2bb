//! Where the dynamic loader looks, in its order.
//!
//! Main functions: [`configured_folders`] and [`cached`]. The cache's format is that of glibc's `dl-cache.h`; its bytes are
//! the image's, so nothing in it is believed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::files::{below, names_in};

/// More than any cache or list of folders needs.
const MAX_FILE: u64 = 8 << 20;
const MAX_FOLDERS: usize = 64;

/// Folders of LD_LIBRARY_PATH, which come before all others.
pub(super) fn configured_folders(root: &Path, library_path: Option<&OsStr>) -> Vec<PathBuf> {
    let folders = library_path.into_iter().flat_map(std::env::split_paths);
    folders.filter(|folder| folder.is_absolute()).map(|folder| below(root, folder)).collect()
}

/// The files that `ldconfig` wrote down, where its cache is there; with musl, the folders of its list.
pub(super) fn known_files(root: &Path) -> Vec<PathBuf> {
    let cache = read(&below(root, "/etc/ld.so.cache"));
    let files = cached(&cache).into_iter().map(|path| below(root, path));
    files.chain(musl_files(root)).collect()
}

fn musl_files(root: &Path) -> Vec<PathBuf> {
    let etc = below(root, "/etc");
    let lists =
        names_in(&etc).into_iter().filter(|name| name.starts_with("ld-musl-") && name.ends_with(".path"));
    let folders = folders_in(root, lists.map(|name| etc.join(name)), &[':', '\n']);
    folders
        .into_iter()
        .flat_map(|folder| names_in(&folder).into_iter().map(move |name| folder.join(name)))
        .collect()
}

/// Folders that `ldconfig` would take into its cache. The loader does not look there by itself: what lies in one of them
/// and not in the cache is there, and not found.
pub(super) fn ldconfig_folders(root: &Path) -> Vec<PathBuf> {
    let etc = below(root, "/etc");
    let more = etc.join("ld.so.conf.d");
    let parts =
        names_in(&more).into_iter().filter(|name| name.ends_with(".conf")).map(|name| more.join(name));
    folders_in(root, std::iter::once(etc.join("ld.so.conf")).chain(parts), &[':', ',', ' ', '\t', '\n'])
}

fn folders_in(root: &Path, files: impl Iterator<Item = PathBuf>, between: &[char]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for file in files {
        let bytes = read(&file);
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let named = lines.flat_map(|line| line.split(between)).filter(|folder| folder.starts_with('/'));
        folders.extend(named.take(MAX_FOLDERS).map(|folder| below(root, folder)));
    }
    folders.truncate(MAX_FOLDERS);
    folders
}

fn read(path: &Path) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    // What cannot be read is as good as empty.
    let _ = std::fs::File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
    bytes
}

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The paths in a cache, in its order. Offsets count from the header, which an older format may precede.
pub(crate) fn cached(bytes: &[u8]) -> Vec<&str> {
    let Some(start) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) else {
        return Vec::new();
    };
    let cache = &bytes[start..];
    let Some(count) = number(cache, MAGIC.len()) else { return Vec::new() };
    let entries = cache.get(HEADER..).unwrap_or_default().chunks_exact(ENTRY).take(count);
    entries.filter_map(|entry| text(cache, number(entry, 8)?)).filter(|path| path.starts_with('/')).collect()
}

/// A number of 32 bits as this machine, which is the cache's, writes it.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

fn text(cache: &[u8], at: usize) -> Option<&str> {
    let rest = cache.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A cache of these paths, as glibc 2.32 and later write it.
    fn cache(paths: &[&str]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(paths.len()).unwrap().to_ne_bytes());
        bytes.resize(HEADER, 0);
        let mut at = HEADER + paths.len() * ENTRY;
        for path in paths {
            let offset = u32::try_from(at).unwrap().to_ne_bytes();
            bytes.extend(1_u32.to_ne_bytes());
            bytes.extend([offset, offset].concat());
            bytes.extend([0; 12]);
            at += path.len() + 1;
        }
        for path in paths {
            bytes.extend(path.bytes().chain([0]));
        }
        bytes
    }

    #[test]
    fn paths_are_found_behind_an_older_format_too() {
        let paths = ["/usr/lib/libcuda.so.1", "/opt/x/libamdhip64.so.6"];
        let plain = cache(&paths);
        assert_eq!(cached(&plain), paths);
        assert_eq!(cached(&[b"ld.so-1.7.0\0\0\0\0\0".as_slice(), &plain].concat()), paths);
    }

    #[test]
    fn this_machine_s_cache_is_read_as_ldconfig_prints_it() {
        let Ok(printed) = std::process::Command::new("/sbin/ldconfig").arg("-p").output() else {
            eprintln!("skipped: this machine has no ldconfig");
            return;
        };
        let printed = String::from_utf8(printed.stdout).unwrap();
        let printed: Vec<&str> =
            printed.lines().filter_map(|line| line.split_once("=> ")).map(|(_, path)| path).collect();
        let bytes = std::fs::read("/etc/ld.so.cache").unwrap();
        assert_eq!(cached(&bytes), printed);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..60, value: u32) {
            let mut bytes = [MAGIC, &bytes].concat();
            if let Some(place) = bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&value.to_ne_bytes());
            }
            prop_assert!(cached(&bytes).iter().all(|path| path.starts_with('/')));
        }
    }

    #[test]
    fn the_folders_of_ldconfig_are_read_without_its_comments() {
        let root = tempfile::tempdir().unwrap();
        let parts = root.path().join("etc/ld.so.conf.d");
        std::fs::create_dir_all(&parts).unwrap();
        std::fs::write(root.path().join("etc/ld.so.conf"), "include ld.so.conf.d/*.conf\n/a,/b\n").unwrap();
        std::fs::write(parts.join("x.conf"), "# not /c\n/d # nor /e\nf\n").unwrap();
        std::fs::write(parts.join("x.conf.old"), "/g\n").unwrap();
        assert_eq!(ldconfig_folders(root.path()), ["a", "b", "d"].map(|name| root.path().join(name)));
        std::fs::write(parts.join("x.conf"), "/d\n".repeat(MAX_FOLDERS * 2)).unwrap();
        assert_eq!(ldconfig_folders(root.path()).len(), MAX_FOLDERS);
    }

    #[test]
    fn musl_s_list_of_folders_is_read() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["etc", "opt/drv"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("etc/ld-musl-x86_64.path"), "/lib:/opt/drv\n").unwrap();
        std::fs::write(root.path().join("opt/drv/libcuda.so.1"), "").unwrap();
        assert_eq!(known_files(root.path()), [root.path().join("opt/drv/libcuda.so.1")]);
    }
}
