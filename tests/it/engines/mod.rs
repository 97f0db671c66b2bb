//! The contract that every container engine has to keep, on real ones of several versions.
//!
//! Main type: [`Engine`]. `scripts/engines.sh` starts them, and `GPUSWEEP_TEST_ENGINES` names its folder. Each engine and
//! behaviour is a test of its own, so that the runner shows which was tested; all are ignored unless asked for, and fail
//! where their engine cannot be had. scripts/test.sh asks for those that can be had, and names the others.
//!
//! Doubles: the CDI specs of `tests/fixtures/cdi` inject real device nodes with the number of /dev/null in place of a
//! GPU's; the images of `tests/fixtures/contract` have a double of torch. The engines are real.

mod cdi;
mod doctor;
mod ends;
mod exposure;
mod leftovers;
mod refusals;
mod reports;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::{Sweep, prepare_on};

/// How an engine takes something that it does not know: the tests of each version say what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It does what was asked.
    Does,
    /// It says no.
    Refuses,
    /// It answers as if all were well, and leaves it out.
    Drops,
}

/// An engine of the list, and how it differs from the others.
struct Engine {
    /// As `scripts/engines.sh` calls it.
    name: &'static str,
    /// `--device vendor.com/class=name`.
    cdi: Answer,
    /// A runtime that it does not have, and GPUs without a toolkit.
    unknown: Answer,
}

const DOCKER_20_10: Engine = Engine { name: "docker-20.10", cdi: Answer::Refuses, unknown: Answer::Refuses };
const DOCKER_26: Engine = Engine { name: "docker-26", cdi: Answer::Does, unknown: Answer::Refuses };
const DOCKER_28: Engine = Engine { name: "docker-28", cdi: Answer::Does, unknown: Answer::Refuses };
const PODMAN_4_3: Engine = Engine { name: "podman-4.3", cdi: Answer::Drops, unknown: Answer::Drops };
const PODMAN_5: Engine = Engine { name: "podman-5", cdi: Answer::Does, unknown: Answer::Drops };

const ENGINES: [&Engine; 5] = [&DOCKER_20_10, &DOCKER_26, &DOCKER_28, &PODMAN_4_3, &PODMAN_5];

macro_rules! contract {
    ($($engine:ident $module:ident),+) => {$(
        mod $module {
            use super::{$engine as ENGINE, cdi, doctor, ends, exposure, leftovers, refusals, reports};

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn every_cell_has_its_row_and_its_report() {
                reports::hold(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn what_is_exposed_is_set_and_seen() {
                exposure::holds(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn what_cannot_be_is_refused_or_found_to_be_dropped() {
                refusals::hold(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn cdi_devices_are_seen_refused_or_found_to_be_dropped() {
                cdi::holds(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn every_end_is_told_from_the_others() {
                ends::hold(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn a_killed_sweep_is_cleaned_up_after() {
                leftovers::hold(&ENGINE);
            }

            #[test]
            #[ignore = "needs more engines; scripts/test.sh starts them"]
            fn the_doctor_knows_it() {
                doctor::knows(&ENGINE);
            }
        }
    )+

        /// The modules with tests, as the runner names them.
        const TESTED: [(&str, &Engine); ENGINES.len()] = [$((stringify!($module), &$engine)),+];
    };
}

contract!(
    DOCKER_20_10 docker_20_10,
    DOCKER_26 docker_26,
    DOCKER_28 docker_28,
    PODMAN_4_3 podman_4_3,
    PODMAN_5 podman_5
);

/// An image with an interpreter, and without torch.
const PYTHON: &str = "localhost/gpusweep/python:1";
/// The same with the double of torch.
const CONTRACT: &str = "localhost/gpusweep-test/contract:root";
/// The same for a user without rights.
const CONTRACT_USER: &str = "localhost/gpusweep-test/contract:user";

fn folder() -> PathBuf {
    let folder = std::env::var_os("GPUSWEEP_TEST_ENGINES");
    folder.expect("GPUSWEEP_TEST_ENGINES is not set: run scripts/test.sh, which starts the engines").into()
}

impl Engine {
    /// What came of starting it: `unix://…`, `missing: …` or `failed: …`.
    fn outcome(&self, folder: &Path) -> String {
        let file = folder.join(format!("{}.engine", self.name));
        let outcome = std::fs::read_to_string(&file);
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        outcome.trim().to_owned()
    }

    fn socket(&self) -> String {
        let outcome = self.outcome(&folder());
        assert!(outcome.starts_with("unix://"), "{} cannot be had: {outcome}", self.name);
        outcome
    }

    /// A folder that has the same path for the engine.
    fn folder(&self) -> PathBuf {
        folder().join(self.name)
    }

    /// A matrix on this engine alone.
    fn matrix(&self, more: &str) -> String {
        format!(
            "schema: gpusweep.matrix/1\nname: contract\nhosts: [{{ name: {}, endpoint: \"{}\", slots: 2 }}]\n{more}\n",
            self.name,
            self.socket()
        )
    }

    /// Sweeps such a matrix to its end; nothing may be left of it.
    fn sweep(&self, more: &str) -> Sweep {
        let sweep = prepare_on(Some(&self.socket()), &self.matrix(more)).run();
        for cell in sweep.cells() {
            assert_eq!(cell["host"], self.name);
            assert_eq!(cell["attempts"], 1, "{cell:#}");
        }
        sweep
    }
}

/// What the checker saw of a node, such as `ok`; none where it did not look.
fn opened<'a>(report: &'a Value, node: &str) -> Option<&'a str> {
    let nodes = report["exposure"]["nodes"].as_array().expect("the checker looked at nodes");
    nodes.iter().find(|found| found["node"] == node).and_then(|found| found["open"].as_str())
}

/// What of a cell's request was lost, as pairs of a layer and what was asked for.
fn lost(cell: &Value) -> Vec<(&str, &str)> {
    let parts = cell["parted"].as_array().unwrap().iter();
    parts.map(|part| (part["layer"].as_str().unwrap(), part["requested"].as_str().unwrap())).collect()
}

fn message(cell: &Value) -> &str {
    cell["first_error"]["message"].as_str().unwrap_or_else(|| panic!("no first error: {cell:#}"))
}

#[test]
fn every_engine_of_the_list_has_its_tests() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/engines.sh");
    let output = std::process::Command::new(script).arg("list").output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed.lines().collect::<Vec<_>>(), ENGINES.map(|engine| engine.name));
    for (module, engine) in TESTED {
        assert_eq!(module, engine.name.replace(['-', '.'], "_"), "scripts/test.sh skips tests by this name");
    }
}

#[test]
#[ignore = "needs more engines; scripts/test.sh starts them"]
fn every_engine_is_tested_or_named_with_the_reason() {
    let folder = folder();
    for engine in ENGINES {
        let outcome = engine.outcome(&folder);
        eprintln!("{}: {outcome}", engine.name);
        let why = outcome.strip_prefix("missing: ").is_some_and(|why| !why.is_empty());
        assert!(outcome.starts_with("unix:///") || why, "{}: {outcome}", engine.name);
    }
}
