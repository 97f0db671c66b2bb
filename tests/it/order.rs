//! Holds the one direction in which data flows: a module imports from those before it, and the two branches never meet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What all may import, in order.
const TRUNK: [&str; 4] = ["model", "matrix", "plan", "event"];

/// What makes events, in order.
const RUNNERS: [&str; 2] = ["backend", "run"];

/// What reads events, in order. The last two do not know each other.
const READERS: [&str; 9] =
    ["journal", "ledger", "diagnose", "summary", "compare", "doctor", "table", "render", "progress"];

/// Joins everything, or is joined by nothing.
const OUTSIDE: [&str; 5] = ["cli", "exit", "lib", "main", "testing"];

fn allowed(module: &str) -> Vec<&'static str> {
    let before = |list: &[&'static str]| -> Vec<&'static str> {
        list.iter().copied().take_while(|name| *name != module).collect()
    };
    if TRUNK.contains(&module) {
        return before(&TRUNK);
    }
    let branch = if RUNNERS.contains(&module) { before(&RUNNERS) } else { before(&READERS) };
    let branch = branch.into_iter().filter(|name| !(module == "progress" && *name == "render"));
    TRUNK.into_iter().chain(branch).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The top module of a source file, and the modules that it names behind `crate::`.
fn imports() -> BTreeMap<String, Vec<(String, PathBuf)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: BTreeMap<String, Vec<(String, PathBuf)>> = BTreeMap::new();
    let code = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    for path in sources(&root).into_iter().filter(code) {
        let inside = path.strip_prefix(&root).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("crate::").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.entry(module.clone()).or_default().push((name, path.clone()));
        }
        found.entry(module).or_default();
    }
    found
}

#[test]
fn modules_import_only_what_comes_before_them() {
    let known: Vec<&str> = TRUNK.into_iter().chain(RUNNERS).chain(READERS).chain(OUTSIDE).collect();
    let found = imports();
    for module in found.keys() {
        assert!(known.contains(&module.as_str()), "src/{module} has no place in the order of imports yet");
    }
    let mut wrong = Vec::new();
    for (module, imports) in found.iter().filter(|(module, _)| !OUTSIDE.contains(&module.as_str())) {
        let allowed = allowed(module);
        let foreign = imports.iter().filter(|(name, _)| known.contains(&name.as_str()) && name != module);
        // Test helpers may be used by the tests of any module.
        let foreign = foreign.filter(|(name, _)| name != "testing" && !allowed.contains(&name.as_str()));
        wrong.extend(foreign.map(|(name, path)| format!("{} imports {name}", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_order_forbids_what_it_is_meant_to_forbid() {
    assert!(!allowed("ledger").contains(&"backend"));
    assert!(!allowed("run").contains(&"ledger"));
    assert!(!allowed("progress").contains(&"render"));
    assert!(allowed("render").contains(&"table"));
    assert_eq!(allowed("model"), Vec::<&str>::new());
}
