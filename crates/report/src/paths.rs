//! Cutting of paths to their last component, which is all of a path that may leave.
//!
//! Main function: [`cut_paths`].

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use crate::sanitize::pattern;

/// Stands for a path whose last component is somebody's name.
const PATH_MARK: &str = "[path]";

/// Inside quotes, all up to the closing quote is the path, blanks included; where the text was cut, up to its end.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    let start = r"(?:~|\.{0,2}/|[A-Za-z]:[\\/]|\\\\)";
    // GNU's programs close a backtick with an apostrophe.
    let quotes = [("'", "'"), ("\"", "\""), ("`", "`'"), ("‘", "’"), ("“", "”")];
    let one = |(open, close): (&str, &str)| format!("({open})({start}[^{close}]*)");
    pattern(&quotes.map(one).join("|"))
});
static WINDOWS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(^|[^A-Za-z0-9\\])([A-Za-z]:[\\/][^\s"'`:,;()<>\[\]{}|]*|\\{2,4}[^\s"'`:,;()<>\[\]{}|\\]+\\[^\s"'`:,;()<>\[\]{}|]*)"#,
    )
});
/// `-I/usr/include`: the flag is no part of the path.
static FLAG: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"((?:^|[\s"'`=(,])-[A-Za-z]+=?)((?:~|\.{1,2})?/[^\s"'`:,;()<>\[\]{}|]*)"#));
/// `x=rel/ative`: behind an equals sign, one slash makes a path.
static ASSIGNED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(=)([A-Za-z_.][^\s"'`:,;=()<>\[\]{}|/]*(?:/[^\s"'`:,;=()<>\[\]{}|/]*)+)"#));
/// A path starts where no word, and no other path, is running: `and/or` is none, `"/root/x"` and `./x/y` are.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(^|[^A-Za-z0-9_.~/-])((?:~[A-Za-z0-9_.-]*|\.{1,2})?/[^\s"'`:,;()<>\[\]{}|]*|[^\s"'`:,;=()<>\[\]{}|/]+(?:/[^\s"'`:,;=()<>\[\]{}|/]*){2,})"#,
    )
});

/// Cuts every path in a line.
pub(crate) fn cut_paths(line: &str) -> String {
    let quoted = |found: &Captures<'_>| {
        let mut groups = found.iter().skip(1).flatten().map(|group| group.as_str());
        let (quote, path) = (groups.next().unwrap_or_default(), groups.next().unwrap_or_default());
        format!("{quote}{}", last_component(path))
    };
    let mut line = QUOTED.replace_all(line, quoted).into_owned();
    for pattern in [&WINDOWS, &FLAG, &ASSIGNED, &PATH] {
        line = pattern
            .replace_all(&line, |found: &Captures<'_>| format!("{}{}", &found[1], last_component(&found[2])))
            .into_owned();
    }
    line
}

fn last_component(path: &str) -> &str {
    if is_node(path) || is_shared_interpreter(path) {
        return path;
    }
    let bytes = path.as_bytes();
    let is_windows = path.starts_with(r"\\") || bytes.get(1) == Some(&b':');
    let parts: Vec<&str> = path
        .split(|c| c == '/' || (is_windows && c == '\\'))
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.as_slice() {
        [] => "/",
        [.., parent, _] if is_folder_of_homes(parent) => PATH_MARK,
        [only] if path.starts_with('/') && only.trim_end_matches('.') == "root" => PATH_MARK,
        [only] if is_home_of_another(only) => PATH_MARK,
        [.., last] => last,
    }
}

/// Whether a path is that of a Python interpreter where images share their places: it names what to point at, and nobody's
/// home. `*` stands for one folder of any plain name.
#[must_use]
pub fn is_shared_interpreter(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "/opt/venv/bin",
        "/opt/conda/bin",
        "/opt/conda/envs/*/bin",
        "/opt/*/.venv/bin",
        "/venv/bin",
        "/usr/local/bin",
        "/usr/bin",
    ];
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let version = name.strip_prefix("python");
    let is_python =
        version.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    is_python && FOLDERS.iter().any(|pattern| is_like(folder, pattern))
}

fn is_like(folder: &str, pattern: &str) -> bool {
    const MAX_NAME: usize = 64;
    let plain = |part: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        (1..=MAX_NAME).contains(&part.len()) && part.chars().all(fits)
    };
    let (parts, wanted) = (folder.split('/'), pattern.split('/'));
    parts.clone().count() == wanted.clone().count()
        && parts.zip(wanted).all(|(part, wanted)| part == wanted || (wanted == "*" && plain(part)))
}

/// GPU device nodes stay whole: they name the fault.
fn is_node(path: &str) -> bool {
    const NODES: [&str; 5] = ["/dev/nvidia", "/dev/kfd", "/dev/dri", "/dev/dxg", "/dev/shm"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | ':' | '*');
    NODES.iter().any(|node| path.starts_with(node)) && !path.contains("..") && path.chars().all(is_plain)
}

fn is_folder_of_homes(name: &str) -> bool {
    name.eq_ignore_ascii_case("home") || name.eq_ignore_ascii_case("users")
}

/// `~name`, but not C++'s `~Name()`.
fn is_home_of_another(part: &str) -> bool {
    let name = part.strip_prefix('~').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::cut_paths;

    #[test]
    fn a_quoted_path_is_one_with_its_blanks() {
        assert_eq!(cut_paths("no '/srv/my secret dir/x y.so' here"), "no 'x y.so' here");
        assert_eq!(cut_paths("no \"../my secret/x\", `~/a b/c`"), "no \"x\", `c`");
        assert_eq!(cut_paths("no ‘/srv/a b/c’ “./d e/f”"), "no ‘c’ “f”");
        assert_eq!(cut_paths(r"no 'C:\My Files\x.dll' or '\\srv\my share\y'"), "no 'x.dll' or 'y'");
        assert_eq!(cut_paths("cut off: '/srv/my secret dir/x"), "cut off: 'x");
        assert_eq!(cut_paths("no '/dev/kfd'; can't load 'a b/c'"), "no '/dev/kfd'; can't load 'a b/c'");
        assert_eq!(cut_paths("no `/srv/a b/c' (required by /srv/x.so)"), "no `c' (required by x.so)");
        assert_eq!(cut_paths("'/dev/kfd or /srv/x/y'"), "'y'");
    }

    #[test]
    fn other_forms_are_paths_too() {
        assert_eq!(cut_paths(r"at C:\src\proj\x.py: D:/a/b \\srv\share\z.txt"), "at x.py: b z.txt");
        assert_eq!(cut_paths("~alice/notes and -I/secret -L/srv/x/lib"), "notes and -Isecret -Llib");
        assert_eq!(cut_paths("x=rel/ative/path y=rel/two"), "x=path y=two");
    }

    #[test]
    fn a_home_is_a_name() {
        for home in ["/home/alice", "/Users/alice/", "/root", "/export/home/alice", r"C:\Users\alice"] {
            assert_eq!(cut_paths(&format!("cd {home}: no")), "cd [path]: no");
            assert_eq!(cut_paths(&format!("cd '{home}'")), "cd '[path]'");
        }
        assert_eq!(cut_paths("in '~alice' by c10::Error::~Error()"), "in '[path]' by c10::Error::~Error()");
    }
}
