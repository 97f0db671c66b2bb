//! Hostile input: any bake file and any rows make a matrix that plans exactly their images, or one clear error.

use std::collections::BTreeSet;

use gpusweep::matrix::import::{ImportError, Imported, Keys, bake, github};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Texts that could break a line, a quote, a comment or a terminal.
const HOSTILE: [&str; 41] = [
    "",
    " ",
    "\n",
    "\r\n",
    "\"",
    "'",
    "\\",
    ": ",
    "# ",
    "- a\n- b",
    "{variant}",
    "}",
    "{",
    "&a",
    "*a",
    "!tag",
    "---",
    "...",
    "null",
    "~",
    "true",
    "1e3",
    "0x1f",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\u{ffff}",
    "\u{10ffff}",
    "\0",
    "é",
    "日本",
    "${{ x }}",
    "${TAG}",
    "r/a:1\nname: x",
    "r/a: 1",
    "a@sha256:0",
    "%YAML 1.2",
    "<<",
];

/// Texts that are to be found.
const WORDS: [&str; 18] = [
    "r/a:1",
    "r/b:cu128",
    "r/c:rocm6.4.4",
    "r/d:cpu",
    "r/a:cu128",
    "ubuntu",
    "nvidia/cuda:12.8.1-devel",
    "r/e",
    "cu128",
    "rocm644",
    "cpu",
    "12.8.1",
    "12.8",
    "128",
    "unknown",
    "image",
    "none",
    "https://e.example/whl/cu126",
];

fn text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(&HOSTILE[..]);
    let words = prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    let joined = prop::collection::vec(prop_oneof![hostile.prop_map(str::to_owned), any::<String>()], 0..4)
        .prop_map(|parts| parts.concat());
    prop_oneof![4 => words, 2 => joined, 1 => "r/[a-z]{1,3}:[a-z0-9.-]{1,12}", 1 => any::<String>()]
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "image",
        "tag",
        "tags",
        "args",
        "platforms",
        "variant",
        "cuda",
        "CUDA_VERSION",
        "ROCM_VERSION",
        "BASE_IMAGE",
        "name",
    ];
    prop_oneof![6 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => text()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<f64>().prop_map(|number| json!(number)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn map(fields: impl Strategy<Value = Value>, most: usize) -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), fields), 0..most)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// A target or a row: maps whose keys are mostly those that are read.
fn targets() -> impl Strategy<Value = Value> {
    let target = (prop::collection::vec(text(), 0..4), map(text().prop_map(Value::from), 4), map(value(), 3))
        .prop_map(|(tags, args, mut rest)| {
            let fields = rest.as_object_mut().unwrap();
            fields.insert("tags".to_owned(), json!(tags));
            fields.insert("args".to_owned(), args);
            rest
        });
    let target = prop_oneof![8 => target, 1 => value()];
    let targets = prop::collection::vec((text(), target), 0..8)
        .prop_map(|targets| Value::Object(targets.into_iter().collect()));
    (targets, map(value(), 3)).prop_map(|(target, group)| json!({ "target": target, "group": group }))
}

fn matrices() -> impl Strategy<Value = Value> {
    let row = prop_oneof![8 => map(text().prop_map(Value::from), 6), 2 => map(value(), 6), 1 => value()];
    let rows = prop::collection::vec(row, 0..8).prop_map(Value::from);
    (rows, map(value(), 3), any::<bool>()).prop_map(|(rows, mut axes, bare)| {
        if bare {
            return rows;
        }
        axes.as_object_mut().unwrap().insert("include".to_owned(), rows);
        axes
    })
}

fn is_one_line(text: &str) -> bool {
    !text.is_empty()
        && !text
            .chars()
            .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}' | '\u{feff}'))
}

/// A matrix that plans exactly its images and holds nothing but lines, or one clear error.
fn check(imported: Result<Imported, ImportError>, source: &Value) {
    let imported = match imported {
        Err(error) => {
            assert!(is_one_line(&error.to_string()) && is_one_line(error.hint()), "{error:?}");
            return;
        }
        Ok(imported) => imported,
    };
    let text = &imported.matrix;
    assert!(text.lines().all(|line| line.is_empty() || is_one_line(line)), "{text:?}");
    assert!(imported.warnings.iter().all(|warning| is_one_line(warning)), "{:?}", imported.warnings);
    let matrix = gpusweep::matrix::parse(text, "m.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let plan = gpusweep::plan::plan(&matrix).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let images: BTreeSet<&str> =
        plan.cells.iter().map(|planned| planned.cell.image.reference.as_str()).collect();
    assert_eq!(images.len(), imported.images, "{text}");
    // An image is planned in one variant, once for each way of exposure.
    let exposures: BTreeSet<&str> =
        plan.cells.iter().map(|planned| planned.cell.visibility.name.as_str()).collect();
    assert_eq!(plan.cells.len(), imported.images * exposures.len(), "{text}");
    let source = source.to_string();
    for image in images {
        let (name, tag) = image.rsplit_once(':').unwrap_or((image, ""));
        assert!(
            source.contains(image) || source.contains(name) && source.contains(tag),
            "{image} is invented: {source}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bake_file_makes_a_matrix_that_plans_or_one_error(source in targets(), name in text()) {
        check(bake(&source.to_string(), &name), &source);
    }

    #[test]
    fn any_rows_make_a_matrix_that_plans_or_one_error(
        source in matrices(),
        name in text(),
        image in prop::option::weighted(0.3, key()),
        variant in prop::option::weighted(0.3, key()),
    ) {
        check(github(&source.to_string(), &name, &Keys { image, variant }), &source);
    }

    #[test]
    fn any_text_makes_one_error_or_a_matrix(source in any::<String>()) {
        check(bake(&source, "x"), &json!(source));
        check(github(&source, "x", &Keys::default()), &json!(source));
    }
}

/// The properties above would hold of an import that refuses everything.
#[test]
fn most_sources_of_the_properties_are_imported() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut bakes, mut rows) = (0, 0);
    for _ in 0..200 {
        let source = targets().new_tree(&mut runner).unwrap().current().to_string();
        bakes += usize::from(bake(&source, "x").is_ok());
        let source = matrices().new_tree(&mut runner).unwrap().current().to_string();
        rows += usize::from(github(&source, "x", &Keys::default()).is_ok());
    }
    assert!(bakes > 100 && rows > 50, "{bakes} of 200 bake files and {rows} of 200 matrices were imported");
}
