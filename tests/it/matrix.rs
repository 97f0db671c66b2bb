//! The matrices of this repository are valid.

use std::path::PathBuf;

/// What every matrix begins with.
pub(crate) const HEAD: &str = "schema: gpusweep.matrix/1\nname: m\n";

/// Every matrix of the repository with its text.
pub(crate) fn shipped() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("matrices");
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn every_matrix_of_the_repository_is_valid() {
    for (name, source) in shipped() {
        gpusweep::matrix::parse(&source, &name).unwrap_or_else(|error| panic!("{error}"));
    }
}
