//! What this machine's reports must not tell, and the cleaning of all text from the worker.
//!
//! Main type: [`Private`]. Values of environment variables, user and host names are looked for in every message; the
//! rules that need no knowledge of the machine are the report crate's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use gpusweep_report::{VISIBILITY_VARIABLES, one_line};

/// Variables whose values are the same everywhere, or too common to be taken out of a sentence.
const COMMON: [&str; 8] =
    ["PATH", "LANG", "LANGUAGE", "TERM", "SHLVL", "SHELL", "COLORTERM", "DEBIAN_FRONTEND"];

/// Folders that are the same in every image; a message about a library in one of them should keep its words.
const SYSTEM_FOLDERS: [&str; 6] = ["/usr/", "/lib", "/bin", "/sbin", "/opt/rocm", "/opt/nvidia"];

/// Values shorter than this are words of ordinary sentences.
const SHORTEST_VALUE: usize = 6;

/// The longest name of a class.
const MAX_KIND: usize = 64;

/// Words that are private here.
#[derive(Debug, Default)]
pub(crate) struct Private {
    words: Vec<String>,
}

impl Private {
    /// Those of this process's environment.
    pub(crate) fn collect() -> Self {
        let variables = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self::from_parts(&host, variables)
    }

    fn from_parts(host: &str, variables: impl Iterator<Item = (String, String)>) -> Self {
        let mut words = BTreeSet::from([host.to_owned()]);
        for (name, value) in variables {
            match name.as_str() {
                "USER" | "LOGNAME" | "USERNAME" => {
                    words.insert(value);
                }
                "HOME" => {
                    words.extend(file_name(Path::new(&value)));
                }
                other if is_common(other) => {}
                _ => words.extend(value_lines(&value)),
            }
        }
        // The administrator's name is the same on every machine, and part of many an honest message.
        words.remove("root");
        Self { words: words.into_iter().filter(|word| !word.is_empty()).collect() }
    }

    /// One line that may stand in a report.
    pub(crate) fn message(&self, text: &str) -> String {
        one_line(text, &self.words)
    }
}

fn is_common(name: &str) -> bool {
    COMMON.contains(&name) || name.starts_with("LC_") || VISIBILITY_VARIABLES.contains(&name)
}

/// A message may quote one line of a longer value, or one entry of a list of folders. Numbers and versions are no
/// secrets, and neither are the folders that every image has.
fn value_lines(value: &str) -> impl Iterator<Item = String> + '_ {
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ':'));
    let is_system = |word: &str| SYSTEM_FOLDERS.iter().any(|folder| word.starts_with(folder));
    let entries = value.starts_with('/').then(|| value.split(':')).into_iter().flatten();
    value
        .lines()
        .chain(entries)
        .map(str::trim)
        .filter(move |word| word.chars().count() >= SHORTEST_VALUE && !is_number(word) && !is_system(word))
        .map(str::to_owned)
}

/// The last component of a path, which is all of it that a report may carry.
pub(crate) fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(OsStr::to_string_lossy).map(std::borrow::Cow::into_owned)
}

/// The name of a class: letters and digits, whatever the image calls it.
pub(crate) fn kind(text: &str) -> String {
    let name: String =
        text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '.')).take(MAX_KIND).collect();
    if name.is_empty() { "Error".to_owned() } else { name }
}

/// A version, an architecture or the like: short, and of few kinds of characters.
pub(crate) fn token(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_' | ':' | ' ');
    text.chars().filter(is_plain).take(64).collect::<String>().trim().to_owned()
}

/// The name of a device.
pub(crate) fn label(text: &str) -> String {
    one_line(text, &[]).chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> Private {
        let variables = [
            ("USER", "al1ce"),
            ("HOME", "/home/al1ce-home"),
            ("PROJECT", "moonshot\nsecond-line"),
            ("CUDA_VERSION", "12.4.1"),
            ("CUDA_VISIBLE_DEVICES", "visible-list"),
            ("PATH", "/usr/bin"),
            ("LD_LIBRARY_PATH", "/usr/local/lib:/srv/moonbase"),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Private::from_parts("box-17", variables)
    }

    #[test]
    fn values_and_names_are_taken_out() {
        let message =
            private().message("al1ce on box-17 (al1ce-home) ran moonshot and second-line with 12.4.1");
        for word in ["al1ce", "box-17", "moonshot", "second-line"] {
            assert!(!message.contains(word), "{message}");
        }
        assert!(message.contains("12.4.1"), "{message}");
    }

    #[test]
    fn folders_of_a_list_are_taken_out_unless_every_image_has_them() {
        assert_eq!(private().message("/usr/local/lib/libx.so gone"), "libx.so gone");
        assert!(!private().message("cannot read /srv/moonbase").contains("moonbase"));
    }

    #[test]
    fn what_is_reported_anyway_may_be_quoted() {
        assert_eq!(private().message("bad visible-list"), "bad visible-list");
    }

    #[test]
    fn names_are_bounded_and_plain() {
        assert_eq!(kind("Import\u{1b}[31mError/../x"), "Import31mError..x");
        assert_eq!(kind(""), "Error");
        assert_eq!(token("2.9.1+cu128\n/etc"), "2.9.1+cu128etc");
        assert_eq!(label(&"N".repeat(500)).chars().count(), 128);
    }
}
