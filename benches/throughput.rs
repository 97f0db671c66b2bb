//! The same 24 trivial cells through gpusweep, through a bare bollard loop, and through `docker run` in a shell,
//! interleaved in one run, so that whatever slows the machine slows all of them.
//!
//! `cargo bench --bench throughput [-- ROUNDS]`; needs an engine, and the image that `images/build.sh bare` makes.
//! Prints cells per second and ratios; it asserts nothing of time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions,
};
use bollard::query_parameters::{
    CreateContainerOptions, LogsOptions, RemoveContainerOptions, WaitContainerOptions,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use futures_util::{StreamExt as _, stream};
use gpusweep::backend::checker;

const CELLS: usize = 24;
const IMAGE: &str = "localhost/gpusweep/bare:1";
const ROUNDS: usize = 5;
const PLACE: &str = "/.gpusweep/gpusweep-checker";

fn main() {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    let work = tempfile::tempdir().expect("a temporary folder");
    let checker = checker::install(work.path()).expect("the checker can be written");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let volume = Volume::fill(&checker);
    let mut times: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for round in 0..rounds {
        let mut note = |name: &str, time: Duration| times.entry(name.to_owned()).or_default().push(time);
        note("gpusweep run", timed(|| gpusweep(work.path(), round)));
        for width in [2, 4, 8] {
            note(
                &format!("bare bollard loop, {width} at a time"),
                timed(|| runtime.block_on(bare(width, &volume.0))),
            );
        }
        note("docker run, one at a time", timed(|| shell(1, &volume.0)));
        note("docker run, eight at a time", timed(|| shell(8, &volume.0)));
    }
    print(&times);
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// The whole program, from reading the matrix to the printed table.
fn gpusweep(work: &Path, round: usize) {
    let mut matrix = format!(
        "schema: gpusweep.matrix/1\nname: bench\nimages: [{{ name: bare, ref: {IMAGE} }}]\nexpect: [{{ when: {{ image: bare }}, code: TORCH_MISSING }}]\nvisibility:\n"
    );
    for cell in 0..CELLS {
        let _ = writeln!(matrix, "  - {{ name: v{cell}, env: {{ CUDA_VISIBLE_DEVICES: \"{cell}\" }} }}");
    }
    let file = work.join("matrix.yaml");
    std::fs::write(&file, matrix).expect("the matrix can be written");
    let status = Command::new(env!("CARGO_BIN_EXE_gpusweep"))
        .args(["run", "--out"])
        .arg(work.join(format!("run-{round}")))
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("gpusweep starts").success(), "every cell is as expected");
}

/// What a person would write with bollard: no progress, no journal, no verdicts.
async fn bare(width: usize, volume: &str) {
    let docker = Docker::connect_with_unix(&socket(), 120, API_DEFAULT_VERSION).expect("a client");
    stream::iter(0..CELLS).for_each_concurrent(width, |cell| one(&docker, cell, volume)).await;
}

async fn one(docker: &Docker, cell: usize, volume: &str) {
    let name = format!("gpusweep-bench-{}-{cell}", std::process::id());
    let options = CreateContainerOptions { name: Some(name.clone()), ..CreateContainerOptions::default() };
    docker.create_container(Some(options), body(cell, volume)).await.expect("create");
    docker.start_container(&name, None).await.expect("start");
    let options = WaitContainerOptions { condition: "not-running".into() };
    let _ = docker.wait_container(&name, Some(options)).next().await;
    let options = LogsOptions { stdout: true, stderr: true, tail: "all".into(), ..LogsOptions::default() };
    let lines: Vec<_> = docker.logs(&name, Some(options)).collect().await;
    assert_eq!(lines.len(), 1, "one report");
    let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
    docker.remove_container(&name, Some(options)).await.expect("remove");
}

fn body(cell: usize, volume: &str) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(IMAGE.into()),
        entrypoint: Some(vec![PLACE.into()]),
        env: Some(vec![format!("CUDA_VISIBLE_DEVICES={cell}")]),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into()]),
            log_config: Some(HostConfigLogConfig { typ: Some("json-file".into()), config: None }),
            mounts: Some(vec![Mount {
                target: Some("/.gpusweep".into()),
                source: Some(volume.into()),
                typ: Some(MountType::VOLUME),
                read_only: Some(true),
                volume_options: Some(MountVolumeOptions {
                    no_copy: Some(true),
                    ..MountVolumeOptions::default()
                }),
                ..Mount::default()
            }]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

fn socket() -> String {
    match gpusweep::backend::docker::route(&gpusweep::model::Endpoint::Current) {
        Ok(gpusweep::backend::docker::Route::Unix(path)) => path,
        other => panic!("{other:?} is no unix socket"),
    }
}

fn shell(width: usize, volume: &str) {
    let line = format!(
        "seq {CELLS} | xargs -P {width} -I N docker run --rm --network none --cap-drop ALL --security-opt no-new-privileges \
         --env CUDA_VISIBLE_DEVICES=N --volume {volume}:/.gpusweep:ro --entrypoint {PLACE} {IMAGE} > /dev/null"
    );
    // xargs ends with 123, since the checker rightly finds no torch in the image.
    let status = Command::new("sh").args(["-c", &line]).status().expect("sh starts");
    assert_eq!(status.code(), Some(123), "every container ran");
}

/// A volume with the checker, made once for the two loops that have to be handed one.
struct Volume(String);

impl Volume {
    fn fill(checker: &Path) -> Self {
        let name = format!("gpusweep-bench-{}", std::process::id());
        let docker = |arguments: &[&str]| {
            let status = Command::new("docker").args(arguments).stdout(Stdio::null()).status();
            assert!(status.expect("docker starts").success(), "docker {arguments:?}");
        };
        docker(&["volume", "create", &name]);
        let volume = Self(name.clone());
        docker(&[
            "create",
            "--name",
            &name,
            "--volume",
            &format!("{name}:/.gpusweep"),
            "--entrypoint",
            PLACE,
            IMAGE,
        ]);
        docker(&["cp", &checker.display().to_string(), &format!("{name}:{PLACE}")]);
        docker(&["rm", &name]);
        volume
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["volume", "rm", &self.0]).stdout(Stdio::null()).status();
    }
}

fn print(times: &BTreeMap<String, Vec<Duration>>) {
    let rate = |times: &[Duration]| {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "24 is exact")]
        let cells = CELLS as f64;
        cells / sorted[sorted.len() / 2].as_secs_f64()
    };
    for (name, times) in times {
        println!("{name:32} {:5.2} cells/s (median of {})", rate(times), times.len());
    }
    let best = |prefix: &str| {
        let fitting = times.iter().filter(|(name, _)| name.starts_with(prefix));
        fitting.map(|(_, times)| rate(times)).fold(0.0, f64::max)
    };
    println!("gpusweep / best bare loop:  {:.2}", best("gpusweep") / best("bare"));
    println!("gpusweep / best shell loop: {:.2}", best("gpusweep") / best("docker run"));
}
