//! Plans: what a matrix becomes, what is pruned and why, what each cell must yield, and what selections leave.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gpusweep::plan::{Expr, Plan, plan, select};
use proptest::prelude::*;

use crate::matrix::{HEAD, shipped};

fn planned(source: &str) -> Plan {
    plan(&gpusweep::matrix::parse(source, "m.yaml").unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

/// One line a cell: coordinates, reference, expectation, reason.
fn listing(plan: &Plan) -> String {
    let mut text = String::new();
    for planned in &plan.cells {
        let cell = &planned.cell;
        let codes: Vec<&str> = cell.expect.codes.iter().map(|code| code.as_str()).collect();
        let facts: Vec<String> =
            cell.expect.facts.iter().map(|fact| format!("{}={}", fact.path, fact.value)).collect();
        let place = format!("{} {} {}", cell.visibility.name, cell.host, cell.device);
        let (image, variant) = (&cell.image, &cell.variant.name);
        let _ = write!(text, "{} {variant} {place} | {} | {}", image.name, image.reference, codes.join("/"));
        let _ = match &planned.pruned {
            Some(reason) => writeln!(text, " | pruned: {reason}"),
            None if facts.is_empty() => writeln!(text),
            None => writeln!(text, " | {}", facts.join(" ")),
        };
    }
    text
}

#[test]
fn every_matrix_of_the_repository_has_its_cells() {
    let counts: Vec<(String, usize, usize)> = shipped()
        .into_iter()
        .map(|(name, source)| {
            let plan = planned(&source);
            insta::assert_snapshot!(format!("shipped-{name}"), listing(&plan));
            (name, plan.cells.len(), plan.runnable().count())
        })
        .collect();
    let expected = [
        ("cuda-vs-mi300x.yaml", 20, 12),
        ("local-images.yaml", 14, 14),
        ("pytorch-official.yaml", 15, 10),
        ("quickstart.yaml", 8, 8),
    ];
    assert_eq!(counts, expected.map(|(name, cells, runnable)| (name.to_owned(), cells, runnable)));
}

#[test]
fn the_product_follows_the_order_of_the_axes() {
    let plan = planned(&format!(
        "{HEAD}images:
  - {{ name: a, ref: 'r/a:{{variant}}-{{variant.toolkit}}' }}
  - {{ name: b, ref: r/b, variant: y, family: f }}
variants: {{ x: {{ toolkit: 1.10 }}, y: {{ toolkit: '2' }} }}
visibility: [none, nvidia-all]
hosts: [local, 'unix:///run/other.sock']
checks: {{ device: [0, cpu] }}
"
    ));
    insta::assert_snapshot!(listing(&plan));
}

#[test]
fn what_cannot_apply_is_listed_with_its_reason() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: 'a:{{variant}}' }}]
variants: {{ cu: {{ stack: cuda }}, ro: {{ stack: rocm }}, c: {{ stack: cpu }}, open: }}
visibility:
  - none
  - nvidia-0
  - amd-all
  - {{ name: both, gpus: all, devices: [/dev/kfd] }}
  - {{ name: any, privileged: true }}
hosts: [{{ name: h, stacks: [cuda] }}]
checks: {{ device: [0, cpu] }}
"
    ));
    insta::assert_snapshot!(listing(&plan));
}

#[test]
fn expectations_come_from_the_first_rule_that_matches() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: a }}, {{ name: b, ref: b, family: a }}, {{ name: c, ref: c }}]
variants: {{ cu: {{ stack: cuda }}, cpu: {{ stack: cpu }} }}
visibility: [none, nvidia-all]
expect:
  - when: {{ image: c, stack: cuda }}
    code: [CHECK_FAILED, TIMEOUT, TIMEOUT]
  - when: {{ family: '[a-b]', visibility: 'nvidia*' }}
    facts: {{ pytorch.version: 2.10, pytorch.gpu_available: true }}
  - when: {{ family: a }}
    code: LAUNCH_REFUSED
  - when: {{ image: c }}
    code: TORCH_MISSING
"
    ));
    insta::assert_snapshot!(listing(&plan));
}

#[test]
fn a_probe_that_needs_a_gpu_is_pruned_where_the_cpu_is_asked_for() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: a }}]\nchecks: {{ probe: driver, device: [0, cpu] }}\n"
    ));
    let pruned: Vec<Option<&str>> = plan.cells.iter().map(|planned| planned.pruned.as_deref()).collect();
    assert_eq!(
        pruned,
        [None, Some("the probe `driver` computes on GPUs only, and this cell asks for the CPU")]
    );
    let python = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: a }}]\nchecks: {{ probe: python, device: cpu }}\n"
    ));
    assert_eq!(python.runnable().count(), 1);
}

#[test]
fn what_is_excluded_is_gone_and_what_is_included_is_there_and_not_pruned() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: 'a:{{variant}}' }}]
variants: {{ cu: {{ stack: cuda }}, ro: {{ stack: rocm }} }}
visibility: [none, nvidia-all]
exclude: [{{ variant: ro, visibility: none }}]
include:
  - {{ image: a, variant: ro, visibility: nvidia-all, expect: GPU_UNAVAILABLE }}
  - {{ image: a, variant: cu, visibility: nvidia-all, device: 7, expect: [DEVICE_INDEX_INVALID], timeout: 5, probe: python }}
  - {{ image: a, variant: cu, visibility: nvidia-cdi }}
  - {{ image: a, variant: cu, visibility: none, expect: {{ facts: {{ status: failed }} }}, python: /opt/python }}
"
    ));
    insta::assert_snapshot!(listing(&plan));
    let asked = |device: &str| {
        let cell = plan.runnable().find(|cell| cell.device.to_string() == device).unwrap();
        (cell.checks.timeout_s, cell.checks.probe.as_str(), cell.checks.python.clone())
    };
    assert_eq!(asked("7"), (5, "python", None));
    assert_eq!(asked("0"), (30, "auto", Some("/opt/python".to_owned())));
}

#[test]
fn this_machine_itself_is_a_baseline() {
    let source = format!(
        "{HEAD}images: [{{ name: a, ref: a }}]
backend: host
checks: {{ device: [0, cpu] }}
expect: [{{ when: {{ image: (host), device: cpu }}, code: TORCH_MISSING }}]
"
    );
    insta::assert_snapshot!(listing(&planned(&source)), @r"
    (host) - host host 0 |  | GPU_CHECK_PASSED
    (host) - host host cpu |  | TORCH_MISSING
    ");
}

const SELECTABLE: &str = "images: [{ name: alpha, ref: a }, { name: beta, ref: b, family: alpha }]
variants: { cu: { stack: cuda }, ro: { stack: rocm } }
visibility: [none, nvidia-all]
hosts: [local, { name: this-machine, backend: host }]
checks: { device: [0, cpu] }
";

fn selected(only: &[&str], skip: &[&str]) -> (usize, usize, Vec<String>) {
    let parse = |texts: &[&str]| texts.iter().map(|text| text.parse::<Expr>().unwrap()).collect::<Vec<_>>();
    let plan = select(planned(&format!("{HEAD}{SELECTABLE}")), &parse(only), &parse(skip));
    (plan.cells.len(), plan.runnable().count(), plan.hosts.into_iter().map(|host| host.name).collect())
}

#[test]
fn selections_narrow_the_plan() {
    let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (local, both) = (hosts(&["local"]), hosts(&["local", "this-machine"]));
    assert_eq!(selected(&[], &[]), (18, 16, both.clone()));
    assert_eq!(selected(&["image=alpha"], &[]), (8, 7, local.clone()));
    assert_eq!(selected(&["image=alpha,device=cpu"], &[]), (4, 4, local.clone()));
    assert_eq!(selected(&["image=alpha,device=cpu", "host=this-machine"], &[]), (6, 6, both));
    assert_eq!(selected(&["image={alpha,beta},stack=rocm"], &["visibility=nvidia-*"]), (4, 4, local.clone()));
    assert_eq!(selected(&["family=alpha"], &["image=alpha"]), (8, 7, local.clone()));
    assert_eq!(selected(&["Beta.CU"], &["id=*gpu0-*"]), (2, 2, local.clone()));
    assert_eq!(selected(&["alpha*none*gpu0-????????????"], &[]), (2, 2, local.clone()));
    assert_eq!(selected(&["variant=ro,visibility=nvidia-all,device=0"], &[]), (2, 0, local));
    assert_eq!(selected(&["image=gamma"], &[]), (0, 0, Vec::new()));
}

#[test]
fn selections_that_cannot_be_read_say_why() {
    let said = |text: &str| {
        let error = text.parse::<Expr>().unwrap_err();
        format!("{error}\nhint: {}", error.hint())
    };
    assert_eq!(said("imgae=a"), "unknown key `imgae` in a selection\nhint: did you mean `image`?");
    assert!(said("colour=a").ends_with("`family`, `id`"));
    assert!(said("image=a,,").starts_with("the selection `image=a,,` has an empty part"));
    assert!(said("image=").starts_with("the selection `image=` has an empty part"));
    assert!(said("image=[a").starts_with("`[a` is no pattern"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Names that look alike once they are cut, lowered and joined still give cells of their own.
    #[test]
    fn different_combinations_never_share_an_id(
        images in prop::collection::btree_set("[aA][a.A_-]{0,3}(aaaaaaaaaaaaaaaaaaaaaaaaaa)?[bB.]?", 1..12),
        variants in prop::collection::btree_set("[xX][x.X_-]{0,3}", 1..6),
    ) {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
        let entries: Vec<String> =
            list(&images).iter().map(|name| format!("{{ name: '{name}', ref: a }}")).collect();
        let keys: Vec<String> = list(&variants).iter().map(|name| format!("'{name}': {{}}")).collect();
        let plan = planned(&format!(
            "{HEAD}images: [{}]\nvariants: {{ {} }}\nchecks: {{ device: [0, 1, cpu] }}\n",
            entries.join(", "),
            keys.join(", "),
        ));
        let ids: BTreeSet<&str> = plan.cells.iter().map(|planned| planned.cell.id().as_str()).collect();
        prop_assert_eq!(ids.len(), images.len() * variants.len() * 3);
        prop_assert!(ids.iter().all(|id| id.len() <= 72));
    }
}

#[test]
fn a_plan_survives_its_file() {
    for (_, source) in shipped() {
        let plan = planned(&source);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn exposures_become_the_grants_that_docker_run_would_ask_for() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: a }}]
visibility:
  - none
  - nvidia-all
  - nvidia-0
  - nvidia-cdi
  - nvidia-runtime
  - amd-all
  - amd-no-group
  - amd-cdi
  - amd-runtime
  - {{ name: plain }}
  - {{ name: two, gpus: 'device=0,1' }}
  - name: everything
    gpus: driver=amd,count=2
    cdi: nvidia.com/gpu=0
    runtime: crun
    devices: [/dev/kfd, '/dev/dri:rw', '/dev/dri/renderD128:/dev/dri/renderD128:r', amd.com/gpu=1]
    groups: [44, host]
    env: {{ CUDA_VISIBLE_DEVICES: '', HIP_VISIBLE_DEVICES: 0, HSA_OVERRIDE_GFX_VERSION: 9.40, FLAG: true,
           ROCR_VISIBLE_DEVICES: null, GPU_DEVICE_ORDINAL: ~, WORD: 'null' }}
    shm_size: 8g
    ipc: host
    ulimits: {{ memlock: -1, nofile: '1024:4096', stack: 67108864 }}
    security: seccomp=unconfined
    privileged: true
"
    ));
    let lines: Vec<String> = plan
        .cells
        .iter()
        .map(|planned| {
            let grants =
                planned.cell.visibility.grants.iter().map(|grant| serde_json::to_string(grant).unwrap());
            format!("{}\n  {}", planned.cell.visibility.name, grants.collect::<Vec<_>>().join("\n  "))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn bounds_and_checks_arrive_in_every_cell() {
    let plan = planned(&format!(
        "{HEAD}images: [{{ name: a, ref: a }}]
hosts: [{{ name: h, endpoint: 'unix:///run/h.sock', stacks: [cuda, cpu], slots: 3 }}]
checks: {{ device: cpu, timeout: 1m30s, probe: python, host_check: true, python: /opt/venv/bin/python }}
limits: {{ jobs: 4, per_host: 2, pull: 1, cell_timeout: 1h, memory: 512m }}
"
    ));
    insta::assert_json_snapshot!(plan);
}

/// Were planning not linear, the test runner's own limit would end this.
#[test]
fn a_hundred_thousand_cells_are_planned() {
    let images: Vec<String> =
        (0..1000).map(|n| format!("  - {{ name: image-{n}, ref: 'r/i{n}:{{variant}}' }}\n")).collect();
    let variants: Vec<String> = (0..10).map(|n| format!("  v{n}: {{ stack: cuda }}\n")).collect();
    let rules: Vec<String> = (0..10)
        .map(|n| format!("  - {{ when: {{ image: 'image-{n}*', variant: v{n} }}, code: TIMEOUT }}\n"))
        .collect();
    let source = format!(
        "{HEAD}images:\n{}variants:\n{}visibility: [none, nvidia-all, amd-all, nvidia-0, amd-cdi]\n\
         hosts: [local, 'unix:///run/b.sock']\nexpect:\n{}",
        images.concat(),
        variants.concat(),
        rules.concat(),
    );
    let plan = planned(&source);
    assert_eq!(plan.cells.len(), 100_000);
}
