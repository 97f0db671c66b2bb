//! Matrices: those of this repository are valid, no text is too strange, and the JSON Schema agrees.

mod errors;

use std::path::PathBuf;

use gpusweep::matrix::{parse, schema};
use proptest::prelude::*;

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
fn facts_that_a_report_can_hold() {
    let source = format!(
        "{HEAD}images: [{{ name: torch, ref: torch }}]
expect:
  - facts:
      status: passed
      code: '*_PASSED'
      exit_code: 0
      pytorch: null
      pytorch.cuda_build: 12.10
      pytorch.gpu_available: true
      pytorch.visible_device_count: '[1-9]'
      pytorch.devices.3.memory_bytes: 1024
      pytorch.arch_list.0: sm_90
      exposure.variables.CUDA_VISIBLE_DEVICES: ''
      exposure.nodes.0.open: ok
      execution.loss: 196
      first_error.type: 'Import*'
      checks.0.outcome: passed
"
    );
    parse(&source, "m.yaml").unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn json_is_a_matrix_too() {
    let source = r#"{"schema": "gpusweep.matrix/1", "name": "m", "images": [{"name": "a", "ref": "a:{variant}"}],
        "variants": {"x": {"stack": "cuda"}}, "checks": {"device": [0, "cpu"], "timeout": "30s"}}"#;
    assert_eq!(parse(source, "m.json").unwrap().name(), "m");
}

#[test]
fn anchors_and_merge_keys_work_and_errors_point_to_where_they_are_used() {
    let matrix = |last: &str| {
        format!(
            "{HEAD}images: [{{ name: torch, ref: 'torch:{{variant}}' }}]
variants: {{ 12.10: {{ stack: cuda }} }}
expect:
  - when: &where {{ visibility: none, variant: &v 12.10 }}
    code: GPU_UNAVAILABLE
  - when: {{ <<: *where, device: {last} }}
    code: TIMEOUT
  - when: {{ variant: *v }}
    code: TIMEOUT
"
        )
    };
    parse(&matrix("0"), "m.yaml").unwrap_or_else(|error| panic!("{error}"));
    let error = parse(&matrix("9"), "m.yaml").unwrap_err();
    assert_eq!((error.line(), error.column()), (8, 33), "{error}");
}

#[test]
fn the_example_of_the_contract_is_a_matrix() {
    let source = r#"
schema: gpusweep.matrix/1
name: base-images
images:                       # axis 1
  - name: torch
    ref: registry.example/torch:2.9-{variant}     # {variant} and {variant.KEY} are filled in
    family: torch             # compared side by side by `stacks`
  - name: ubuntu-rocm
    ref: registry.example/rocm-base@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    variant: rocm644          # no placeholder: the variant is fixed
variants:                     # axis 2
  cu128:   { stack: cuda, toolkit: "12.8.1" }
  rocm644: { stack: rocm, toolkit: "6.4.4" }
  cpu:     { stack: cpu }
visibility:                   # axis 3: presets by name, or spelled out
  - none                      # nothing exposed: the isolation proof
  - nvidia-all
  - name: second-gpu
    gpus: "device=1"          # what docker --gpus takes
  - name: masked
    gpus: all
    env: { CUDA_VISIBLE_DEVICES: "" }
hosts: [local]                # axis 4; see hosts below; default: the current docker context
checks: { device: 0, timeout: 30s, probe: auto, host_check: false }
expect:                       # first match wins; unmatched cells get the default below
  - when: { visibility: none }
    code: GPU_UNAVAILABLE
  - when: { image: torch, variant: cu128 }
    code: GPU_CHECK_PASSED
    facts: { pytorch.version: "2.9.*", pytorch.cuda_build: "12.8*" }
exclude: [ { variant: rocm644, visibility: masked } ]
include: [ { image: torch, variant: cu128, visibility: nvidia-all, device: 7, expect: DEVICE_INDEX_INVALID } ]
limits: { jobs: 4, per_host: 2, pull: 2, cell_timeout: 10m }
"#;
    let matrix = parse(source, "m.yaml").unwrap_or_else(|error| panic!("{error}"));
    let plan = gpusweep::plan::plan(&matrix).unwrap();
    // torch in three variants and ubuntu-rocm in one, four exposures each, less two excluded, plus one included.
    assert_eq!((plan.cells.len(), plan.runnable().count()), (15, 8));
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema().to_value()).unwrap()
}

fn as_json(source: &str) -> serde_json::Value {
    serde_saphyr::from_str(source).unwrap()
}

#[test]
fn the_schema_accepts_every_matrix_of_the_repository() {
    insta::assert_json_snapshot!("schema", schema().to_value());
    for (name, source) in shipped() {
        let document = as_json(&source);
        let problems: Vec<String> = validator()
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
    }
}

#[test]
fn the_schema_refuses_what_an_editor_should_mark() {
    let validator = validator();
    let image = "images: [{ name: a, ref: a }]";
    for rest in [
        "images: []",
        "images: [{ name: a }]",
        "images: [{ name: a, ref: a }]\nvisiblity: [none]",
        "images: [{ name: a, ref: a }]\nvisibility: [{ gpus: all }]",
        "images: [{ name: a, ref: a }]\nchecks: { device: gpu }",
        "images: [{ name: a, ref: a }]\nexpect: [{ code: PASSED }]",
        "images: [{ name: a, ref: a }]\nvariants: { a: { stack: hip } }",
        "images: [{ name: a, ref: a }]\nlimits: { jobs: 0 }",
    ] {
        assert!(!validator.is_valid(&as_json(&format!("{HEAD}{rest}"))), "{rest}");
    }
    assert!(validator.is_valid(&as_json(&format!("{HEAD}{image}"))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_it_panic(source in any::<String>()) {
        check(&source);
    }

    #[test]
    fn no_near_yaml_makes_it_panic(source in "([a-z{}\\[\\]:,\"'&*!|>%@#?-]|\n|  |\t|: |- ){0,60}") {
        check(&source);
    }

    /// A valid matrix with a part cut out or written over.
    #[test]
    fn no_damage_makes_it_panic(
        which in 0_usize..4,
        from in 0_usize..4000,
        length in 0_usize..40,
        patch in "[ -~\n\t]{0,12}",
    ) {
        let mut matrices = shipped();
        let (_, source) = matrices.swap_remove(which % matrices.len());
        let cut = |at: usize| (at..=source.len()).find(|at| source.is_char_boundary(*at)).unwrap_or(source.len());
        let (start, end) = (cut(from % source.len()), cut(from % source.len() + length));
        check(&format!("{}{patch}{}", &source[..start], &source[end..]));
    }
}

/// Whatever it says, it has a place in the text, and a way out.
fn check(source: &str) {
    if let Err(error) = parse(source, "m.yaml") {
        assert!(error.line() >= 1 && error.line() <= source.lines().count().max(1) + 1, "{error}");
        assert!(error.column() >= 1, "{error}");
        assert!(!error.message().is_empty() && !error.hint().is_empty(), "{error}");
        assert!(!error.message().contains('\n') && !error.hint().contains('\n'), "{error:?}");
    }
}
