//! `gpusweep import`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::Outcome;
use super::failure::Failure;
use super::options::{ImportOptions, ImportSource, ImportTarget};
use super::sweep::text_of;
use super::terminal::say;
use crate::exit::Exit;
use crate::matrix::import::{self, ImportError, Imported, Keys};

/// Makes a matrix of what others already have.
pub(super) fn import(options: &ImportOptions) -> Outcome {
    match &options.source {
        ImportSource::Bake { target } => {
            let text = source(target, "what `docker buildx bake --print` wrote")?;
            write(target, import::bake(&text, name(target, "bake")))
        }
        ImportSource::Github { target, image_key, variant_key } => {
            let text = source(target, "a matrix such as {\"include\": [{\"image\": \"…\"}]}")?;
            let keys = Keys { image: image_key.clone(), variant: variant_key.clone() };
            write(target, import::github(&text, name(target, "github"), &keys))
        }
    }
}

fn source(target: &ImportTarget, what: &str) -> Result<String, Failure> {
    text_of(&target.file, "the file", &format!("give the path of {what}, or `-` for standard input"))
}

/// Named after the file.
fn name<'a>(target: &'a ImportTarget, otherwise: &'a str) -> &'a str {
    let stem = target.file.file_stem().and_then(|stem| stem.to_str());
    stem.filter(|stem| stem.contains(|c: char| c.is_ascii_alphanumeric())).unwrap_or(otherwise)
}

fn write(target: &ImportTarget, imported: Result<Imported, ImportError>) -> Outcome {
    let imported = imported.map_err(|error| {
        let hint = error.hint().to_owned();
        Failure::usage(error).hint(hint)
    })?;
    match &target.out {
        Some(path) => create(path, &imported.matrix)?,
        None => std::io::stdout().lock().write_all(imported.matrix.as_bytes())?,
    }
    for warning in &imported.warnings {
        say(&format!("warning: {warning}"));
    }
    let images = if imported.images == 1 { "image" } else { "images" };
    let next = target
        .out
        .as_ref()
        .map_or_else(String::new, |path| format!("; next: gpusweep plan {}", path.display()));
    say(&format!("{} {images} imported{next}", imported.images));
    Ok(Exit::Green)
}

fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            return Failure::usage(format!("`{}` already exists", path.display()))
                .hint("give --out another name");
        }
        Failure::usage(format!("cannot write `{}`: {error}", path.display()))
            .hint("give --out a file in a folder that is there and may be written to")
    })
}
