//! The interpreter of the image's own ENTRYPOINT and CMD.
//!
//! Main function: [`interpreter_of`]. It knows the shapes in which images start Python, and takes nothing where it is not
//! sure: the next place in the order then decides.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{DEFAULT_PATH, is_program};

/// Programs that run the program that their arguments name.
const WRAPPERS: [&str; 6] = ["env", "exec", "tini", "dumb-init", "catatonit", "nice"];
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "ash"];

/// The longest `#!` line that the kernel reads.
const SHEBANG: u64 = 256;

/// Finds the program that the command starts Python with: by its own name, or by the first line of a script.
pub(super) fn interpreter_of(command: &[String], path: Option<&OsStr>) -> Option<PathBuf> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    first_python(&words, path, true)
}

fn first_python(words: &[&str], path: Option<&OsStr>, may_split: bool) -> Option<PathBuf> {
    let (program, rest) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if is_python(name) {
        return resolve(program, path);
    }
    if SHELLS.contains(&name) {
        let line = rest.iter().skip_while(|word| !is_command_flag(word)).nth(1)?;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        return may_split.then(|| first_python(&words, path, false))?;
    }
    if WRAPPERS.contains(&name) {
        let is_setting = |word: &&&str| word.starts_with('-') || word.contains('=');
        let skipped = rest.iter().take_while(is_setting).count();
        return first_python(&rest[skipped..], path, may_split);
    }
    // A line of a shell may set variables for its first program.
    if program.contains('=') && !may_split {
        return first_python(rest, path, may_split);
    }
    of_script(&resolve(program, path)?, path)
}

/// `-c`, `-lc` and the like.
fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// `python`, `python3`, `python3.12`.
fn is_python(name: &str) -> bool {
    name.strip_prefix("python")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// A name without a slash is looked for on PATH, as the engine and a shell do.
fn resolve(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.contains('/') {
        let file = PathBuf::from(program);
        return file.is_absolute().then_some(file);
    }
    let path = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// The interpreter in a script's first line: `#!/opt/app/.venv/bin/python`, `#!/usr/bin/env python3`.
fn of_script(file: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(SHEBANG).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
    let (program, rest) = words.split_first()?;
    let program = match program.ends_with("/env") {
        true => rest.iter().find(|word| !word.starts_with('-') && !word.contains('='))?,
        false => program,
    };
    is_python(program.rsplit('/').next()?).then(|| resolve(program, path))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(root: &Path, command: &[&str]) -> Option<String> {
        let command: Vec<String> =
            command.iter().map(|word| word.replace("ROOT", root.to_str().unwrap())).collect();
        let path = root.join("bin");
        let found = interpreter_of(&command, Some(path.as_os_str()))?;
        Some(found.strip_prefix(root).unwrap_or(&found).to_str().unwrap().to_owned())
    }

    #[test]
    fn the_shapes_in_which_images_start_python() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| crate::testing::program(&root.path().join(name), text);
        write("bin/python3", "");
        write("bin/serve", &format!("#!{}/venv/bin/python\n", root.path().display()));
        write("bin/env-script", "#!/usr/bin/env -S python3 -u\n");
        write("bin/start.sh", "#!/bin/sh\npython3 x\n");
        let python = Some("bin/python3".to_owned());
        for command in [
            &["python3", "app.py"][..],
            &["sh", "-c", "python3 app.py"],
            &["/bin/bash", "-lc", "exec A=b python3 app.py"],
            &["/bin/sh", "-c", "A=b python3 app.py"],
            &["tini", "--", "python3", "-m", "app"],
            &["/usr/bin/env", "A=b", "python3"],
            &["env-script"],
        ] {
            assert_eq!(found(root.path(), command), python, "{command:?}");
        }
        assert_eq!(found(root.path(), &["serve", "--port", "1"]).as_deref(), Some("venv/bin/python"));
        assert_eq!(
            found(root.path(), &["/opt/venv/bin/python3.12"]).as_deref(),
            Some("/opt/venv/bin/python3.12")
        );
        for command in
            [&[][..], &["start.sh"], &["bash"], &["sh", "-c"], &["python-config"], &["./python"], &["gone"]]
        {
            assert_eq!(found(root.path(), command), None, "{command:?}");
        }
    }
}
