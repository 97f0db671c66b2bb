//! `gpusweep doctor` on the real engine, held against what `docker` itself says of it.

use serde_json::Value;

use crate::engine::{docker, gpusweep};

fn doctor(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = gpusweep().arg("doctor").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn examined(arguments: &[&str]) -> (Option<i32>, Value) {
    let (status, stdout, stderr) = doctor(&[&["--format", "json"], arguments].concat());
    let value: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let schema = gpusweep().args(["schema", "doctor"]).output().unwrap().stdout;
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    (status, value)
}

#[test]
fn it_says_of_the_engine_what_docker_says() {
    let (status, value) = examined(&[]);
    assert_eq!((status, &value["schema"]), (Some(0), &Value::from("gpusweep.doctor/1")));
    let host = &value["hosts"][0];
    let engine = &host["engine"];
    let info: Value = serde_json::from_str(&docker(&["info", "--format", "{{json .}}"])).unwrap();
    for (ours, theirs) in [
        ("version", "ServerVersion"),
        ("system", "OperatingSystem"),
        ("kernel", "KernelVersion"),
        ("arch", "Architecture"),
        ("cgroup_version", "CgroupVersion"),
        ("cgroup_driver", "CgroupDriver"),
        ("storage", "Driver"),
        ("default_runtime", "DefaultRuntime"),
    ] {
        assert_eq!(engine[ours], info[theirs], "{ours}");
    }
    assert_eq!(engine["api_version"], docker(&["version", "--format", "{{.Server.APIVersion}}"]));
    let runtimes: Vec<&str> = engine["runtimes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|runtime| runtime["name"].as_str().unwrap())
        .collect();
    let theirs: Vec<&str> = info["Runtimes"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(runtimes, theirs);
    assert_eq!(
        engine["cdi_directories"].as_array().unwrap().len(),
        info["CDISpecDirs"].as_array().map_or(0, Vec::len)
    );
    // The engine of the tests runs here, so its machine can be looked at.
    assert!(host["machine"].is_object(), "{host:#}");
    assert_eq!(engine.get("machine"), None, "the name of the machine stays inside");
}

#[test]
fn a_host_that_does_not_answer_is_a_finding_and_the_others_are_shown() {
    let gone = "unix:///nowhere/docker.sock";
    let (status, value) = examined(&["--host", gone]);
    assert_eq!((status, &value["hosts"][0]["findings"][0]["id"]), (Some(3), &"engine-unreachable".into()));
    assert!(
        value["hosts"][0]["machine"].is_object(),
        "its machine is this one, whether the engine answers or not"
    );
    let (status, stdout, _) = doctor(&["--host", "local", "--host", gone]);
    assert_eq!(status, Some(1));
    assert!(
        stdout.starts_with("local: Docker Engine ")
            && stdout.contains("unix:///nowhere/docker.sock: no answer"),
        "{stdout}"
    );
    assert!(stdout.contains("there is no such socket"), "{stdout}");
}

#[test]
fn the_hosts_of_a_matrix_are_looked_at() {
    let work = tempfile::tempdir().unwrap();
    let matrix = work.path().join("m.yaml");
    let text = "schema: gpusweep.matrix/1\nname: it\nimages: [{ name: a, ref: a }]\nhosts: [local, host]\n";
    std::fs::write(&matrix, text).unwrap();
    let (status, value) = examined(&[matrix.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    let hosts: Vec<(&Value, bool, bool)> = value["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| (&host["host"], host["engine"].is_object(), host["machine"].is_object()))
        .collect();
    assert_eq!(hosts, [(&"local".into(), true, true), (&"host".into(), false, true)]);
    let (status, _, stderr) = doctor(&["--host", "http://nonsense"]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("`http://nonsense`"), "{stderr}");
}
