//! What this machine's reports must not tell, and the cleaning of all text from the worker.
//!
//! Main type: [`Private`]. Values of environment variables, user and host names are looked for in all text from the
//! worker; the rules that need no knowledge of the machine are the report crate's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use gpusweep_report::{PrivateWords, VISIBILITY_VARIABLES, frame, one_line_without};

/// Variables whose values are the same everywhere, or too common to be taken out of a sentence.
const COMMON: [&str; 8] =
    ["PATH", "LANG", "LANGUAGE", "TERM", "SHLVL", "SHELL", "COLORTERM", "DEBIAN_FRONTEND"];

/// Folders that are the same in every image; a message about a library in one of them should keep its words.
const SYSTEM_FOLDERS: [&str; 6] = ["/usr/", "/lib", "/bin", "/sbin", "/opt/rocm", "/opt/nvidia"];

/// Names of users and hosts that are the same on many machines and tell nothing, while honest messages use them.
const PUBLIC_NAMES: [&str; 11] =
    ["root", "localhost", "user", "tmp", "gpu", "nvidia", "cuda", "rocm", "torch", "pytorch", "python"];

/// Values shorter than this are words of ordinary sentences.
const SHORTEST_VALUE: usize = 6;

/// The longest name of a class.
const MAX_KIND: usize = 64;

/// The longest version, architecture or the like.
const MAX_TOKEN: usize = 64;

/// The longest name of a device.
const MAX_LABEL: usize = 128;

/// How much of the list of users is read.
const MAX_PASSWD: u64 = 64 * 1024;

/// Words that are private here.
#[derive(Debug, Default)]
pub(crate) struct Private {
    words: PrivateWords,
    /// What names are replaced with the help of; none where nobody handed a key over.
    key: Option<frame::Key>,
}

impl Private {
    /// Those of this process's environment, and its user's name.
    pub(crate) fn collect() -> Self {
        let variables = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let user = user_name(Path::new("/etc/passwd"), rustix::process::geteuid().as_raw());
        let key = std::env::var(frame::VARIABLE).ok().and_then(|value| frame::Key::from_variable(&value));
        Self { key, ..Self::from_parts(&host, user, variables) }
    }

    /// What the report is framed with; none where nobody handed a key over.
    pub(crate) const fn key(&self) -> Option<&frame::Key> {
        self.key.as_ref()
    }

    /// What stands for a GPU's UUID; none where only the UUID itself could.
    pub(crate) fn uuid(&self, uuid: &str) -> Option<String> {
        self.key.as_ref().filter(|_| !uuid.is_empty()).map(|key| key.pseudonym(uuid))
    }

    fn from_parts(
        host: &str,
        user: Option<String>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let mut names = BTreeSet::from([host.to_owned()]);
        names.extend(host.split_once('.').map(|(first, _)| first.to_owned()));
        names.extend(user);
        let mut values = BTreeSet::new();
        for (name, value) in variables {
            match name.as_str() {
                "USER" | "LOGNAME" | "USERNAME" => {
                    names.insert(value);
                }
                // Of no use to anyone once the report is out, and never in a child's environment.
                frame::VARIABLE => {}
                "HOME" => names.extend(file_name(Path::new(&value))),
                other if is_common(other) => {}
                _ => values.extend(value_lines(&value)),
            }
        }
        names.retain(|name| !PUBLIC_NAMES.iter().any(|public| name.eq_ignore_ascii_case(public)));
        // What is left of a word in a field of few characters tells as much as the word itself.
        let names = names.into_iter().flat_map(|name| [plain_kind(&name), plain_token(&name), name]);
        let reduced = |value: String| {
            let reduced = [plain_kind(&value), plain_token(&value)];
            reduced.into_iter().filter(|word| is_private_value(word)).chain([value])
        };
        let values: Vec<String> = values.into_iter().flat_map(reduced).collect();
        Self { words: PrivateWords::new(values, names), key: None }
    }

    /// One line that may stand in a report.
    pub(crate) fn message(&self, text: &str) -> String {
        one_line_without(text, &self.words)
    }

    /// The name of a class: letters and digits, whatever the image calls it.
    pub(crate) fn kind(&self, text: &str) -> String {
        let name = self.reduced(text, plain_kind, MAX_KIND);
        if name.is_empty() { "Error".to_owned() } else { name }
    }

    /// A version, an architecture or the like: short, and of few kinds of characters.
    pub(crate) fn token(&self, text: &str) -> String {
        self.reduced(text, plain_token, MAX_TOKEN)
    }

    /// The name of a device.
    pub(crate) fn label(&self, text: &str) -> String {
        self.message(&self.words.hide_inside(text)).chars().take(MAX_LABEL).collect()
    }

    /// Words are hidden before characters go, and once more where they only come about by that.
    fn reduced(&self, text: &str, reduce: fn(&str) -> String, limit: usize) -> String {
        let once = reduce(&self.words.hide_inside(text));
        let twice = reduce(&self.words.hide_inside(&once));
        twice.chars().take(limit).collect::<String>().trim().to_owned()
    }
}

/// The name of a user id in a list like /etc/passwd, which is the image's and may hold anything.
fn user_name(passwd: &Path, uid: u32) -> Option<String> {
    // A pipe in its place would keep the check waiting for ever.
    if !std::fs::metadata(passwd).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(passwd).ok()?.take(MAX_PASSWD).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        // Without a field behind it, the number was cut.
        fields.next()?;
        (found == uid).then(|| name.to_owned())
    })
}

fn is_common(name: &str) -> bool {
    COMMON.contains(&name) || name.starts_with("LC_") || VISIBILITY_VARIABLES.contains(&name)
}

/// A message may quote one line of a longer value, or one entry of a list of folders.
fn value_lines(value: &str) -> impl Iterator<Item = String> + '_ {
    let entries = value.starts_with('/').then(|| value.split(':')).into_iter().flatten();
    value
        .lines()
        .chain(entries)
        .chain([value])
        .map(str::trim)
        .filter(|word| is_private_value(word))
        .map(str::to_owned)
}

/// Numbers, versions and architectures are no secrets, and neither are the folders that every image has.
fn is_private_value(word: &str) -> bool {
    let is_number = word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ':'));
    let is_system = SYSTEM_FOLDERS.iter().any(|folder| word.starts_with(folder));
    word.chars().count() >= SHORTEST_VALUE
        && !is_number
        && !is_system
        && !is_version(word)
        && !is_architecture(word)
}

/// As in `2.9.1+cu128` and `2.5.0a0+872d972e41.nv24.8`: images set their torch's own version as a variable.
fn is_version(word: &str) -> bool {
    let is_hex = |piece: &str| piece.len() <= 10 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_known = |piece: &str| {
        let tags = ["cu", "rocm", "git", "nv", "rc", "dev", "post", "cpu"];
        tags.iter().filter_map(|tag| piece.strip_prefix(tag)).any(is_hex)
    };
    let mut pieces = word.split(['.', '+', '-']);
    let is_short_number =
        |piece: &str| (1..=4).contains(&piece.len()) && piece.bytes().all(|byte| byte.is_ascii_digit());
    let starts_as_one = pieces.next().is_some_and(is_short_number)
        && pieces
            .next()
            .is_some_and(|piece| piece.starts_with(|c: char| c.is_ascii_digit()) && is_version_end(piece));
    starts_as_one && word.len() <= MAX_TOKEN && pieces.all(|piece| is_hex(piece) || is_known(piece))
}

/// `0`, `0a0` or `1rc2`.
fn is_version_end(piece: &str) -> bool {
    piece.len() <= 6 && piece.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `gfx942` and `sm_90a`.
fn is_architecture(word: &str) -> bool {
    let is_short = |rest: &str| rest.len() <= 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    ["gfx", "sm_", "compute_"].iter().filter_map(|prefix| word.strip_prefix(prefix)).any(is_short)
}

/// The last component of a path, which is all of it that a report may carry.
pub(crate) fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(OsStr::to_string_lossy).map(std::borrow::Cow::into_owned)
}

fn plain_kind(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '.')).collect()
}

fn plain_token(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_' | ':' | ' ');
    text.chars().filter(is_plain).collect()
}

/// As [`Private::token`], of what is not the worker's to say.
pub(crate) fn token(text: &str) -> String {
    plain_token(text).chars().take(MAX_TOKEN).collect::<String>().trim().to_owned()
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
        Private::from_parts("box-17", Some("Bo".to_owned()), variables)
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
        let private = Private::default();
        assert_eq!(private.kind("Import\u{1b}[31mError/../x"), "ImportError..x");
        assert_eq!(private.kind(""), "Error");
        assert_eq!(token("2.9.1+cu128\n/etc"), "2.9.1+cu128etc");
        assert_eq!(private.label(&"N".repeat(500)).chars().count(), MAX_LABEL);
    }

    #[test]
    fn no_field_tells_a_private_word() {
        let private = private();
        for text in
            ["Moonmoonshot7", "On_box_17_Error", "box17", "AL1CE-made", "second_line", "second\u{7}-line"]
        {
            for told in [private.kind(text), private.token(text), private.label(text)] {
                let told = told.to_lowercase();
                for word in ["moonshot", "box_17", "box-17", "box17", "al1ce", "second-line", "second_line"] {
                    assert!(!told.contains(word), "{word} in {told}");
                }
            }
        }
        assert_eq!(private.message("BO, box_17: about"), "[redacted], [redacted]: about");
    }

    #[test]
    fn versions_and_architectures_are_no_secrets() {
        for text in ["2.9.1+cu128", "2.5.0a0+872d972e41.nv24.8", "gfx942", "sm_90a", "12.8.1-1"] {
            assert_eq!(value_lines(text).count(), 0, "{text}");
        }
        for text in ["1.secret-word", "gfx-secret", "hunter2-2.0"] {
            assert_ne!(value_lines(text).count(), 0, "{text}");
        }
    }

    #[test]
    fn the_user_is_found_in_any_list() {
        let folder = tempfile::tempdir().unwrap();
        let passwd = folder.path().join("passwd");
        assert_eq!(user_name(&passwd, 7), None);
        std::fs::write(&passwd, b"\xff::\n\nx:y\nbob:x:70:7::/:/bin/sh\nal1ce:x:7:7::/:/bin/sh\n").unwrap();
        assert_eq!(user_name(&passwd, 7).as_deref(), Some("al1ce"));
        std::fs::write(&passwd, [vec![b'x'; 70_000], b"\nal1ce:x:7:7::/:".to_vec()].concat()).unwrap();
        assert_eq!(user_name(&passwd, 7), None);
        assert_eq!(user_name(folder.path(), 7), None);
    }
}
