//! `gpusweep checker`.

use std::io::Write as _;
use std::path::PathBuf;

use super::Outcome;
use super::failure::Failure;
use super::options::CheckerOptions;
use crate::backend::checker;
use crate::exit::Exit;

/// Writes the checker and its native worker to a folder, and prints the checker's path.
pub(super) fn checker(options: &CheckerOptions) -> Outcome {
    let folder = options.dir.clone().or_else(cache_folder).ok_or_else(|| {
        Failure::usage("no cache folder is known, since neither XDG_CACHE_HOME nor HOME is set")
            .hint("give a folder with --dir")
    })?;
    let path = checker::install(&folder).and_then(std::path::absolute).map_err(|error| {
        Failure::failed(format!("cannot write the checker to `{}`: {error}", folder.display()))
    })?;
    writeln!(std::io::stdout().lock(), "{}", path.display())?;
    Ok(Exit::Green)
}

fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("XDG_CACHE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("gpusweep"))
}
