//! Every image in `images/` yields what its `image.toml` promises.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::engine::sweep;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    name: String,
    #[serde(rename = "ref")]
    reference: String,
    summary: String,
    large: bool,
    expect: Expect,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    gpu: Yield,
    cpu: Yield,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Yield {
    code: String,
    #[serde(default = "complete")]
    stage: String,
    #[serde(default)]
    facts: Map<String, Value>,
}

fn complete() -> String {
    "complete".to_owned()
}

fn recipes() -> Vec<Recipe> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("images");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_dir()).map(|path| path.join("image.toml"));
    let read = |path: std::path::PathBuf| -> Recipe {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.map(read).collect()
}

fn matrix(recipes: &[Recipe]) -> String {
    let mut text = String::from(
        "schema: gpusweep.matrix/1\nname: images\nvisibility: [none]\nchecks: { device: [0, cpu] }\n",
    );
    let (mut images, mut expect) = (String::from("images:\n"), String::from("expect:\n"));
    for recipe in recipes {
        let _ = writeln!(images, "  - {{ name: {}, ref: \"{}\" }}", recipe.name, recipe.reference);
        for (device, wanted) in [("0", &recipe.expect.gpu), ("cpu", &recipe.expect.cpu)] {
            let facts = serde_json::to_string(&wanted.facts).unwrap();
            let when = format!("{{ image: {}, device: {device} }}", recipe.name);
            let _ = writeln!(expect, "  - {{ when: {when}, code: {}, facts: {facts} }}", wanted.code);
        }
    }
    text.push_str(&images);
    text.push_str(&expect);
    text
}

fn yields_what_it_promises(recipes: &[Recipe]) {
    let run = sweep(&matrix(recipes));
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.cells().len(), recipes.len() * 2);
    for recipe in recipes {
        assert!(!recipe.summary.is_empty());
        for (device, wanted) in [("0", &recipe.expect.gpu), ("cpu", &recipe.expect.cpu)] {
            let cell = run.cell(&[("image", &recipe.name), ("device", device)]);
            assert_eq!(cell["code"], wanted.code.as_str(), "{cell:#}");
            assert_eq!(cell["stage"], wanted.stage.as_str(), "{cell:#}");
            assert_eq!(cell["exit_code"], cell["container_exit_code"]);
        }
    }
}

#[test]
fn the_small_images_yield_what_they_promise() {
    let small: Vec<Recipe> = recipes().into_iter().filter(|recipe| !recipe.large).collect();
    assert!(small.len() >= 4);
    yields_what_it_promises(&small);
}

#[test]
#[ignore = "needs the large images; scripts/test.sh runs it where they can be made in time"]
fn the_large_images_yield_what_they_promise() {
    let large: Vec<Recipe> = recipes().into_iter().filter(|recipe| recipe.large).collect();
    assert!(!large.is_empty());
    yields_what_it_promises(&large);
}
