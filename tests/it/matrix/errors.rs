//! Mistakes in a matrix: each has one error with its place and a way out.

use std::fmt::Write as _;

use gpusweep::matrix::{MatrixError, parse};

use super::HEAD;

fn error(source: &str) -> MatrixError {
    match parse(source, "m.yaml") {
        Ok(_) => panic!("accepted:\n{source}"),
        Err(error) => error,
    }
}

/// Every error with the line that it speaks of and a mark at its column.
fn errors(sources: &[String]) -> String {
    let mut text = String::new();
    for source in sources {
        let error = error(source);
        let mark = " ".repeat(error.column() - 1);
        let _ = writeln!(text, "  {}\n  {mark}^\n{error}\n", error.source_line());
    }
    text
}

/// Mistakes below a sound head and a sound image.
fn beside_an_image(rests: &[&str]) -> String {
    let sources: Vec<String> =
        rests.iter().map(|rest| format!("{HEAD}images: [{{ name: torch, ref: torch }}]\n{rest}\n")).collect();
    errors(&sources)
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(beside_an_image(&[
        "visiblity: [none]",
        "colour: red",
        "visibility: [{ name: a, gpu: all }]",
        "hosts: [{ name: a, endpont: local }]",
        "checks: { devices: 0 }",
        "expect: [{ wen: {}, code: TIMEOUT }]",
        "expect: [{ when: { imge: torch }, code: TIMEOUT }]",
        "exclude: [{ img: torch }]",
        "include: [{ image: torch, visiblity: none }]",
        "include: [{ image: torch, expect: { codes: TIMEOUT } }]",
        "limits: { job: 1 }",
        "variants: { a: { stak: cuda } }",
        "variants: { a: { stack: cuda, python: '3.12' } }",
    ]));
    insta::assert_snapshot!(
        "unknown_keys_of_an_image",
        errors(&[format!("{HEAD}images:\n  - name: a\n    ref: a\n    famly: b\n")])
    );
}

#[test]
fn missing_keys_and_wrong_forms() {
    let whole = [
        "name: m\nimages: []\n",
        "# a comment\nschema: gpusweep.matrix/1\nimages: []\n",
        "schema: gpusweep.matrix/1\nname: m\n",
        "schema: gpusweep.matrix/2\nname: m\nimages: []\n",
        "schema: 1\nname: m\nimages: []\n",
        "schema: gpusweep.matrix/1\nname: [m]\nimages: []\n",
        "schema: gpusweep.matrix/1\nname:\nimages: []\n",
        "schema: gpusweep.matrix/1\nname: m\nimages:\n",
        "schema: gpusweep.matrix/1\nname: m\nimages: torch\n",
        "schema: gpusweep.matrix/1\nname: m\nimages: [torch]\n",
        "schema: gpusweep.matrix/1\nname: m\nimages: [{ name: a }]\n",
        "schema: gpusweep.matrix/1\nname: m\nimages: [{ ref: a }]\n",
        "schema: gpusweep.matrix/1\nname: m\nimages: [{ name: a, ref: ~ }]\n",
        "- schema\n",
        "just words\n",
        "{\"schema\": \"gpusweep.matrix/1\", \"name\": \"m\", \"images\": [{\"name\": \"a\", \"ref\": 1, \"x\": 2}]}",
    ];
    insta::assert_snapshot!("missing_keys", errors(&whole.map(str::to_owned)));
    insta::assert_snapshot!(
        "wrong_forms",
        beside_an_image(&[
            "visibility: none",
            "visibility: [[none]]",
            "visibility: [7]",
            "variants: [a]",
            "variants: { a: cuda }",
            "hosts: local",
            "hosts: [~]",
            "checks: 30s",
            "checks: { host_check: maybe }",
            "checks: { device: { index: 0 } }",
            "expect: { code: TIMEOUT }",
            "expect: [TIMEOUT]",
            "expect: [{ when: torch, code: TIMEOUT }]",
            "include: [torch]",
            "limits: 4",
            "limits: { jobs: many }",
        ])
    );
}

#[test]
fn text_that_is_no_yaml() {
    let sources = [
        String::new(),
        "# only a comment\n\n".to_owned(),
        "---\n".to_owned(),
        format!("{HEAD}images:\n\t- name: a\n"),
        format!("{HEAD}checks:\n  device: 0\n\ttimeout: 30s\n"),
        format!("{HEAD}images: [\n"),
        format!("{HEAD}images: 'a\n"),
        format!("{HEAD}images: []\n  oops: 1\n"),
        format!("{HEAD}images: *nowhere\n"),
        format!("{HEAD}name: again\nimages: []\n"),
        format!("{HEAD}images: []\n---\nschema: gpusweep.matrix/1\n"),
        format!("{HEAD}images: !!python/object:os.system []\n"),
        "\u{1}".to_owned(),
    ];
    insta::assert_snapshot!(errors(&sources));
}

#[test]
fn documents_beyond_any_budget_are_refused_quickly() {
    let started = std::time::Instant::now();
    let large = format!("{HEAD}{}", "# padding\n".repeat(500_000));
    assert!(error(&large).message().contains("more than the 4194304"), "{}", error(&large));
    let mut bomb = format!("{HEAD}a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{below}]");
    }
    let deep = format!("{HEAD}images: {}", "[".repeat(100_000));
    for source in [bomb, deep] {
        let error = error(&source);
        assert!(error.line() > 0 && !error.hint().is_empty());
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn names_twice_or_not_fit_to_be_one() {
    let whole = [
        "schema: gpusweep.matrix/1\nname: two words\nimages: []\n".to_owned(),
        "schema: gpusweep.matrix/1\nname: team/base\nimages: []\n".to_owned(),
        format!("{HEAD}images: [{{ name: a, ref: a }}, {{ name: a, ref: b }}]\n"),
        format!("{HEAD}images: [{{ name: '', ref: a }}]\n"),
        format!("{HEAD}images: [{{ name: (host), ref: a }}]\n"),
        format!("{HEAD}images: [{{ name: a*, ref: a }}]\n"),
        format!("{HEAD}images: [{{ name: {}, ref: a }}]\n", "a".repeat(65)),
        format!("{HEAD}images: [{{ name: a, ref: a, family: 'b,c' }}]\n"),
    ];
    let beside = beside_an_image(&[
        "variants: { a: {}, b: {}, a: {} }",
        "variants: { '-': {} }",
        "visibility: [none, nvidia-all, none]",
        "visibility: [{ name: a }, { name: a, gpus: all }]",
        "visibility: [{ name: nvidia-all, gpus: all }]",
        "visibility: [{ name: host }]",
        "hosts: [local, local]",
        "hosts: [local, { name: local, backend: host }]",
        "checks: { device: [0, cpu, 0] }",
    ]);
    insta::assert_snapshot!(format!("{}{beside}", errors(&whole)));
}

#[test]
fn empty_axes() {
    let images = errors(&[format!("{HEAD}images: []\n")]);
    let beside = beside_an_image(&[
        "variants: {}",
        "visibility: []",
        "visibility:",
        "hosts: []",
        "checks: { device: [] }",
        "expect: [{ when: { image: [] }, code: TIMEOUT }]",
        "expect: [{ code: [] }]",
        "exclude: [{}]",
    ]);
    insta::assert_snapshot!(format!("{images}{beside}"));
}

#[test]
fn references_and_placeholders() {
    let image = |reference: &str, variants: &str| {
        format!("{HEAD}images:\n  - name: a\n    ref: \"{reference}\"\n{variants}")
    };
    let variants = "variants: { Big: { stack: cuda, py: '3' }, small: {} }\n";
    let plain = "variants: { Big: { stack: cuda }, small: {} }\n";
    insta::assert_snapshot!(errors(&[
        image("Torch", ""),
        image("", ""),
        image("registry.example/torch 2.9", ""),
        image("https://registry.example/torch", ""),
        image("torch@sha256:1234", ""),
        image("torch:{variant}", ""),
        image("torch:{image}", variants),
        image("torch:{variant", variants),
        image("torch:variant}", variants),
        image("torch:{{variant}}", variants),
        image("torch:{variant.py}", variants),
        image("{variant}/torch:{variant}-x-/", plain),
        image("a/{variant}", plain),
        format!("{HEAD}images: [{{ name: a, ref: a, variant: smal }}]\n{plain}"),
        format!("{HEAD}images: [{{ name: a, ref: a, variant: cu128 }}]\n"),
    ]));
}

#[test]
fn exposures_that_cannot_be() {
    insta::assert_snapshot!(beside_an_image(&[
        "visibility: [nvidia-al]",
        "visibility: [cuda]",
        "visibility: [{ name: a, gpus: none }]",
        "visibility: [{ name: a, gpus: 0 }]",
        "visibility: [{ name: a, gpus: 'all,device=0' }]",
        "visibility: [{ name: a, gpus: '\"device=0,1' }]",
        "visibility: [{ name: a, gpus: 'all,options=a=b' }]",
        "visibility: [{ name: a, cdi: nvidia.com }]",
        "visibility: [{ name: a, runtime: '' }]",
        "visibility: [{ name: a, devices: kfd }]",
        "visibility: [{ name: a, devices: ['/dev/kfd:/dev/other'] }]",
        "visibility: [{ name: a, devices: ['/dev/kfd:/dev/other:rw'] }]",
        "visibility: [{ name: a, devices: ['/dev/kfd:rx'] }]",
        "visibility: [{ name: a, devices: ['/dev/kfd:/dev/kfd:'] }]",
        "visibility: [{ name: a, groups: [44, render] }]",
        "visibility: [{ name: a, env: { CUDA_VISIBLE_DEVICES: } }]",
        "visibility: [{ name: a, env: { 'A=B': 1 } }]",
        "visibility: [{ name: a, shm_size: 8 gigs }]",
        "visibility: [{ name: a, shm_size: 0 }]",
        "visibility: [{ name: a, ipc: hots }]",
        "visibility: [{ name: a, ulimits: { memlok: -1 } }]",
        "visibility: [{ name: a, ulimits: { memlock: '5:4' } }]",
        "visibility: [{ name: a, ulimits: { memlock: lots } }]",
        "visibility: [{ name: a, security: [label=disable, seccomp] }]",
        "visibility: [{ name: a, security: 'seccomp=' }]",
        "visibility: [{ name: a, security: [] , privileged: 1 }]",
    ]));
}

#[test]
fn hosts_that_cannot_be_reached() {
    insta::assert_snapshot!(beside_an_image(&[
        "hosts: ['ssh://-oProxyCommand=x']",
        "hosts: ['tcp://10.0.0.7:port']",
        "hosts: ['http://gpu-7']",
        "hosts: [lokal]",
        "hosts: [unix://relative.sock]",
        "hosts: [{ name: a, endpoint: 'two words' }]",
        "hosts: [{ name: a, endpoint: 'ssh://gpu-7', tls: { ca: ca.pem } }]",
        "hosts: [{ name: a, endpoint: 'tcp://gpu-7', tls: { cert: cert.pem } }]",
        "hosts: [{ name: a, endpoint: 'tcp://gpu-7', tls: { certificate: cert.pem } }]",
        "hosts: [{ name: a, backend: host, endpoint: local }]",
        "hosts: [{ name: a, backend: kubernetes }]",
        "hosts: [{ name: a, stacks: [cuda, hip] }]",
        "hosts: [{ name: a, slots: 0 }]",
        "backend: dokcer",
        "hosts: [local, { name: b }]\nplacement: any",
        "placement: all",
    ]));
}

#[test]
fn numbers_out_of_range() {
    insta::assert_snapshot!(beside_an_image(&[
        "checks: { timeout: 4s }",
        "checks: { timeout: 121 }",
        "checks: { timeout: 5500ms }",
        "checks: { timeout: soon }",
        "checks: { timeout: 99999999999999999999s }",
        "checks: { device: -1 }",
        "checks: { device: 128 }",
        "checks: { device: 4294967296 }",
        "checks: { device: 1.5 }",
        "checks: { device: 'cuda:1' }",
        "checks: { device: [gpu] }",
        "checks: { probe: pyhton }",
        "checks: { python: '' }",
        "limits: { cell_timeout: 0 }",
        "limits: { cell_timeout: 25h }",
        "limits: { memory: 5m }",
        "limits: { memory: 9999999t }",
        "limits: { pull: -1 }",
        "include: [{ image: torch, timeout: 1s }]",
    ]));
}

#[test]
fn rules_that_name_what_is_not_there() {
    insta::assert_snapshot!(beside_an_image(&[
        "expect: [{ code: GPU_UNAVAILABEL }]",
        "expect: [{ code: gpu_unavailable }]",
        "expect: [{ code: [TIMEOUT, 7] }]",
        "expect: [{ when: { image: torhc }, code: TIMEOUT }]",
        "expect: [{ when: { image: 'x*' }, code: TIMEOUT }]",
        "expect: [{ when: { image: '[x' }, code: TIMEOUT }]",
        "expect: [{ when: { variant: cu128 }, code: TIMEOUT }]",
        "expect: [{ when: { visibility: nvidia-all }, code: TIMEOUT }]",
        "expect: [{ when: { host: remote }, code: TIMEOUT }]",
        "expect: [{ when: { device: [0, cpu] }, code: TIMEOUT }]",
        "expect: [{ when: { stack: hip }, code: TIMEOUT }]",
        "expect: [{ when: { family: other }, code: TIMEOUT }]",
        "expect: [{ when: { image: (host) }, code: TIMEOUT }]",
        "expect: [{ when: { image: torch } }]",
        "exclude: [{ visibility: [none, nope] }]",
        "include: [{ image: torhc }]",
        "include: [{ image: torch, variant: x }]",
        "include: [{ image: torch, visibility: nvidia-two }]",
        "include: [{ image: torch, host: there }]",
        "include: [{ image: torch, expect: PASSED }]",
        "include: [{ image: torch, expect: {} }]",
        "hosts: [{ name: me, backend: host }]\ninclude: [{ image: torch, host: me }]",
        "hosts: [{ name: me, backend: host }]\ninclude: [{ image: (host), device: 1 }]",
    ]));
    insta::assert_snapshot!(
        "an_image_not_built_in_that_variant",
        errors(&[format!(
            "{HEAD}images: [{{ name: a, ref: a, variant: x }}]\nvariants: {{ x: , y: }}\n\
             include: [{{ image: a, variant: y }}]\n"
        )])
    );
}

#[test]
fn facts_that_no_report_can_hold() {
    let facts = [
        "pytroch.version: '2'",
        "pytorch.cuda: '12'",
        "pytorch.version.major: 2",
        "pytorch.devices.first.name: x",
        "pytorch.devices.0.nam: x",
        "pytorch.devices: '*'",
        "pytorch: '*'",
        "exposure.variables: x",
        "pytorch.version: null",
        "pytorch.gpu_available: yes",
        "pytorch.visible_device_count: two",
        "execution.loss: high",
        "code: TORCH_GONE",
        "stage: '*gone'",
        "pytorch.version: '[2'",
        "pytorch.version: [2, 3]",
        "'': x",
        "pytorch..version: x",
    ];
    let rests = facts.map(|fact| format!("expect: [{{ facts: {{ {fact} }} }}]"));
    insta::assert_snapshot!(beside_an_image(&rests.each_ref().map(String::as_str)));
}

#[test]
fn an_error_reads_as_the_contract_says() {
    let error = error(&format!("{HEAD}images: [{{ name: a, ref: a }}]\nchecks:\n    tiemout: 30s\n"));
    assert_eq!(
        error.to_string(),
        "m.yaml:5:5: unknown key `tiemout` in `checks`\nhint: did you mean `timeout`?"
    );
    assert_eq!((error.file(), error.line(), error.column()), ("m.yaml", 5, 5));
    assert_eq!(error.source_line(), "    tiemout: 30s");
}
