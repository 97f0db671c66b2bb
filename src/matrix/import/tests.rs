//! The rule table, as `docs/import.md` shows it, and what follows from it.

use super::draft::{Tags, family};
use super::names::{Names, shown, slug};
use super::variant::{Signal, of_argument, of_name, of_reference, of_text, resolve, without};
use super::{Keys, bake, github};
use crate::model::Stack;

const DOCUMENT: &str = include_str!("../../../docs/import.md");

/// The rows of the table with this head: text, stack, toolkit.
fn table(head: &str) -> Vec<(String, String, String)> {
    let lines = DOCUMENT.lines().skip_while(|line| *line != format!("| {head} | stack | toolkit |"));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<_> = rows
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            (cells[1].to_owned(), cells[2].to_owned(), cells[3].to_owned())
        })
        .collect();
    assert!(rows.len() >= 5, "the table `{head}` is not where it was");
    rows
}

fn holds(head: &str, read: impl Fn(&str) -> Option<Signal>) {
    for (text, stack, toolkit) in table(head) {
        let found = read(&text);
        let found_stack = found.as_ref().map_or("", |signal| signal.stack.as_str());
        let found_toolkit = found.as_ref().and_then(|signal| signal.toolkit.as_deref()).unwrap_or_default();
        assert_eq!((found_stack, found_toolkit), (stack.as_str(), toolkit.as_str()), "{text}");
    }
}

#[test]
fn the_documented_table_of_tags_is_what_is_done() {
    holds("tag", of_reference);
}

#[test]
fn the_documented_table_of_arguments_is_what_is_done() {
    holds("argument", |text| text.split_once('=').and_then(|(key, value)| of_argument(key, value)));
}

#[test]
fn the_documented_table_of_names_is_what_is_done() {
    holds("name", of_name);
}

#[test]
fn words_that_merely_contain_one_are_nothing() {
    for text in [
        "accumulate",
        "cpuset",
        "focus128",
        "acu128",
        "cu128x",
        "xcuda12.8",
        "rocm6.4x",
        "cucumber",
        "rocmlib",
        "cuda99.1",
        "cu999",
        "cu1",
        "cu12811",
        "cuda12.8.1.2",
        "cuda12..8",
        "cuda12.888",
        "rocm6444",
        "cpu64",
        "é128",
        "cu１２８",
        "",
    ] {
        assert_eq!(of_text(text), None, "{text}");
    }
}

#[test]
fn the_registry_says_nothing_and_a_digest_does_not_either() {
    assert_eq!(of_reference("cuda.example:5000/torch:2.9"), None);
    assert_eq!(of_reference("cu128.example/torch:2.9"), None);
    let digest = "r.example/torch@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_eq!(of_reference(digest), None);
    assert_eq!(of_reference(&format!("r.example/torch:cu128{}", &digest[15..])).unwrap().told(), "cuda 12.8");
}

fn said(who: &str, text: &str) -> (String, Signal) {
    (who.to_owned(), of_text(text).unwrap())
}

#[test]
fn the_tag_wins_over_what_contradicts_it_and_a_comment_says_so() {
    let resolved = resolve(vec![said("the tag", "cu128")], vec![said("ROCM_VERSION", "rocm6.4")], None);
    assert_eq!(resolved.signal.unwrap().told(), "cuda 12.8");
    assert_eq!(resolved.comments, ["cuda 12.8 by the tag", "ROCM_VERSION says rocm 6.4, and the tag wins"]);
    let resolved = resolve(vec![said("the tag", "cu128")], vec![said("CUDA_VERSION", "cuda12.6.3")], None);
    assert_eq!(resolved.signal.unwrap().told(), "cuda 12.8");
    assert_eq!(resolved.comments[1], "CUDA_VERSION says cuda 12.6.3, and the tag wins");
}

#[test]
fn a_later_source_that_agrees_makes_it_more_exact() {
    let resolved = resolve(vec![said("the tag", "cu128")], vec![said("CUDA_VERSION", "cuda12.8.1")], None);
    let signal = resolved.signal.unwrap();
    assert_eq!((signal.told().as_str(), signal.word.as_str()), ("cuda 12.8.1", "cu128"));
    assert_eq!(resolved.comments, ["cuda 12.8.1 by the tag and CUDA_VERSION"]);
    let bare = resolve(vec![said("the tag", "rocm")], vec![said("ROCM_VERSION", "rocm6.4.4")], None);
    assert_eq!(bare.signal.unwrap().word, "rocm6.4.4");
    // 12 is not the beginning of 120.
    let other = resolve(vec![said("the tag", "cuda12.1")], vec![said("CUDA_VERSION", "cuda12.10")], None);
    assert_eq!(other.signal.unwrap().told(), "cuda 12.1");
}

#[test]
fn arguments_that_contradict_each_other_leave_it_to_the_name() {
    let torn = || vec![said("CUDA_VERSION", "cu128"), said("ROCM_VERSION", "rocm6.4")];
    let resolved = resolve(Vec::new(), torn(), None);
    assert_eq!(resolved.signal, None);
    assert_eq!(
        resolved.comments,
        [
            "not read, since they contradict each other: CUDA_VERSION says cuda 12.8, ROCM_VERSION says rocm 6.4"
        ]
    );
    let resolved = resolve(Vec::new(), torn(), Some(said("the name", "rocm")));
    assert_eq!(resolved.signal.unwrap().stack, Stack::Rocm);
}

#[test]
fn families_are_what_is_left_without_the_variant() {
    for (text, left) in [
        ("torch-2.9-cu128", Some("torch-2.9")),
        ("torch-2-9-cu128", Some("torch-2-9")),
        ("torch-2-9-cpu", Some("torch-2-9")),
        ("torch-rocm6-4-4-py312", Some("torch-py312")),
        ("base-cuda", Some("base")),
        ("pytorch-2.9.1-cuda12.8-cudnn9-runtime", Some("pytorch-2.9.1-runtime")),
        ("cuda-12.8.1-cudnn-devel", Some("devel")),
        ("cpu", None),
        ("cu128", None),
    ] {
        assert_eq!(without(text).as_deref(), left, "{text}");
    }
    assert_eq!(family(Some("cuda"), "r.example/base/torch:cuda").as_deref(), Some("torch"));
    assert_eq!(family(Some("torch-cu128"), "r.example/x:cu128").as_deref(), Some("torch"));
}

#[test]
fn the_tag_that_names_the_variant_is_taken() {
    let tags = |tags: &[&str]| Tags::of(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>()).sound;
    assert_eq!(tags(&["r/t:latest", "r/t:2.9", "r/t:cuda", "r/t:cu128"])[0], "r/t:cu128");
    assert_eq!(tags(&["r/t:latest", "r/t:2.9", "r/t:cuda"])[0], "r/t:cuda");
    assert_eq!(tags(&["r/t", "r/t:latest", "r/t:2.9", "r/t:2"])[0], "r/t:2.9");
    assert_eq!(tags(&["r/t:${TAG}", "R/T:1 "]), Vec::<String>::new());
}

#[test]
fn names_are_safe_and_each_is_given_once() {
    assert_eq!(slug("a b/c:d"), "a-b-c-d");
    assert_eq!(slug("--\u{1b}[0m\"torch\"\n"), "0m-torch");
    assert_eq!(slug("größe"), "gr-e");
    assert_eq!(slug("…"), "");
    assert_eq!(slug(&"x".repeat(100)).len(), 64);
    let mut names = Names::default();
    let long = "y".repeat(80);
    let taken = [&["a"][..], &["a"], &["a", "b"], &["a", "b"], &["…"], &["…"], &[&long], &[&long]]
        .map(|wanted| names.take(wanted));
    assert_eq!(taken[..6], ["a", "a-2", "b", "b-2", "unnamed", "unnamed-2"].map(str::to_owned));
    assert_eq!((taken[6].len(), taken[7].len()), (64, 64));
    assert!(taken[7].ends_with("-2"));
}

#[test]
fn shown_text_neither_ends_a_comment_nor_steers_a_terminal() {
    assert_eq!(shown("a\nb\u{1b}[0m\u{2028}\u{202e}é"), "a\\u{a}b\\u{1b}[0m\\u{2028}\\u{202e}é");
    assert_eq!(shown(&"x".repeat(500)).chars().count(), 161);
}

#[test]
fn one_image_of_no_known_variant_needs_no_variants() {
    let one = bake(r#"{"target": {"app": {"tags": ["r.example/app:1"]}}}"#, "x").unwrap();
    assert!(
        !one.matrix.contains("variants:") && one.matrix.contains("nothing tells its stack"),
        "{}",
        one.matrix
    );
    let two =
        bake(r#"{"target": {"app": {"tags": ["r/app:1"]}, "gpu": {"tags": ["r/app:cu128"]}}}"#, "x").unwrap();
    assert!(
        two.matrix.contains("variant: unknown") && two.matrix.contains("unknown: {} #"),
        "{}",
        two.matrix
    );
}

#[test]
fn values_of_arguments_are_not_copied() {
    let bake = bake(
        r#"{"target": {"a": {"tags": ["r/a:cu128"], "args": {"HF_TOKEN": "hf_secret", "CUDA_VERSION": "12.8.1-hf_secret"},
        "labels": {"x": "hf_secret"}, "secret": ["id=hf_secret"]}}}"#,
        "x",
    );
    let github = github(
        r#"[{"image": "r/a:cu128", "token": "hf_secret", "cuda": "hf_secret"}]"#,
        "x",
        &Keys::default(),
    );
    for imported in [bake.unwrap(), github.unwrap()] {
        assert!(!format!("{imported:?}").contains("hf_secret"), "{}", imported.matrix);
    }
}

#[test]
fn null_stands_for_what_is_not_there() {
    let text = r#"{"target": {"a": {"tags": [null, "r/a:cu128"], "args": null, "platforms": null}, "b": null},
        "group": {"default": null}, "variable": null}"#;
    let imported = bake(text, "x").unwrap();
    assert_eq!(imported.warnings, ["target `b` is left out: it has no tags"]);
    assert!(imported.matrix.contains("# group default: empty\n"), "{}", imported.matrix);
}

#[test]
fn toolkits_of_one_short_name_are_two_variants() {
    let text = r#"{"target": {
        "a": {"tags": ["r/a:cu128"], "args": {"CUDA_VERSION": "12.8.1"}},
        "b": {"tags": ["r/b:cu128"], "args": {"CUDA_VERSION": "12.8.0"}},
        "c": {"tags": ["r/c:cuda12.8.1"]}}}"#;
    let matrix = bake(text, "x").unwrap().matrix;
    assert!(matrix.contains("  cu128: { stack: cuda, toolkit: \"12.8.1\" }"), "{matrix}");
    assert!(matrix.contains("  cuda12.8.0: { stack: cuda, toolkit: \"12.8.0\" }"), "{matrix}");
    assert_eq!(matrix.matches("variant: cu128 ").count(), 2, "{matrix}");
}

#[test]
fn a_variant_key_names_variants_even_where_its_values_are_no_words() {
    let text = r#"[{"image": "r/a:1", "variant": "slim", "cuda": "12.8"}, {"image": "r/a:2", "variant": "slim", "rocm": "6.4"},
        {"image": "r/a:3"}]"#;
    let keys = Keys { variant: Some("variant".to_owned()), ..Keys::default() };
    let matrix = github(text, "x", &keys).unwrap().matrix;
    for line in
        ["  slim: { stack: cuda, toolkit: \"12.8\" }", "  slim-rocm6.4: { stack: rocm", "it has no `variant`"]
    {
        assert!(matrix.contains(line), "{line}\n{matrix}");
    }
    // Without it, `slim` is no word of the table, and the other keys decide.
    let matrix = github(text, "x", &Keys::default()).unwrap().matrix;
    assert!(!matrix.contains("slim") && matrix.contains("  cuda12.8: {"), "{matrix}");
}
