//! The driver probe, with the programs as they are shipped, beside a double of NVIDIA's driver library.
//!
//! The double stands for hardware: results of cuInit, devices, and the way through a computation. It proves what gpusweep
//! makes of them, and nothing of the kernels themselves. NVIDIA's real library, and AMD's real compiler, come last.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpusweep::backend::checker;
use gpusweep_report::frame::{self, KEY_BYTES, Key};
use gpusweep_report::{Chosen, Code, DRIVER_RESULTS, Probe, Report, Stage};
use object::{Object as _, ObjectSymbol as _};

use crate::exposure::report_on;

/// Both programs and the double. Made for each run: a static would never be dropped, and its folder would stay.
struct Bench {
    folder: tempfile::TempDir,
    checker: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/native/tests/doubles/libcuda.c");
        let library = folder.path().join("libcuda.so.1");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
        assert!(built.unwrap().success());
        let checker = checker::install(folder.path()).unwrap();
        Self { folder, checker }
    }
}

/// Runs the checker with the double on the loader's path and no interpreter in reach.
fn check(variables: &[(&str, &str)], arguments: &[&str]) -> Report {
    let bench = Bench::new();
    let mut command = Command::new(&bench.checker);
    command.env_clear().env("LD_LIBRARY_PATH", bench.folder.path()).args(arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let report = Report::parse(String::from_utf8(output.stdout).unwrap().trim_end()).unwrap();
    assert_eq!(output.status.code(), Some(i32::from(report.exit_code)));
    report
}

fn driver(variables: &[(&str, &str)]) -> Report {
    check(variables, &["--probe", "driver"])
}

fn message(report: &Report) -> &str {
    report.first_error.as_ref().map_or("", |error| error.message.as_str())
}

#[test]
fn every_result_of_cu_init_has_its_own_text_and_cause() {
    let causes = DRIVER_RESULTS.iter().filter(|result| result.cause.is_some());
    for result in causes {
        let report = driver(&[("FAKE_CUINIT", &result.code.to_string())]);
        assert_eq!((report.code, report.stage), (Code::GpuUnavailable, Stage::Driver), "{}", result.name);
        let told = report.driver.as_ref().unwrap();
        assert_eq!((told.init_result, told.init_name.as_deref()), (Some(result.code), Some(result.name)));
        assert_eq!(report.first_error.as_ref().unwrap().kind, result.name);
        assert!(
            message(&report).contains(&format!("cuInit gives {}: ", result.code)),
            "{}",
            message(&report)
        );
        assert_eq!(report.cause.unwrap().id, result.cause.unwrap().0);
    }
    let report = driver(&[("FAKE_CUINIT", "4242")]);
    assert_eq!((report.code, report.cause), (Code::GpuUnavailable, None));
}

#[test]
fn a_computation_through_the_driver_is_verified() {
    let report = driver(&[("FAKE_GPUS", "2")]);
    assert_eq!((report.code, report.stage), (Code::GpuCheckPassed, Stage::Complete), "{}", message(&report));
    let runtime = report.runtime.unwrap();
    assert_eq!(
        (runtime.probe, runtime.chosen, runtime.binding.as_deref()),
        (Probe::Driver, Chosen::Asked, Some("cuda"))
    );
    let told = report.driver.unwrap();
    assert_eq!(
        (told.device_count, told.version, told.library.as_deref()),
        (Some(2), Some(13000), Some("libcuda.so.1"))
    );
    assert_eq!(told.devices.unwrap()[1].architecture.as_deref(), Some("sm_90"));
    let run = report.execution.unwrap();
    assert!(run.product_verified && run.gradient_verified);
    assert_eq!(run.loss, Some(196.0));
}

/// The double's UUIDs end in the device's index.
#[test]
fn a_uuid_is_told_by_what_stands_for_it_and_only_to_whoever_gave_a_key() {
    let key = Key::from_random(&[9; KEY_BYTES]);
    let bench = Bench::new();
    let output = Command::new(&bench.checker)
        .env_clear()
        .env("LD_LIBRARY_PATH", bench.folder.path())
        .envs([("FAKE_GPUS", "2"), (frame::VARIABLE, key.to_variable().as_str())])
        .args(["--probe", "driver"])
        .output()
        .unwrap();
    let report = Report::parse(key.unwrap(&output.stdout).unwrap()).unwrap();
    let told: Vec<Option<String>> =
        report.driver.unwrap().devices.unwrap().into_iter().map(|device| device.uuid).collect();
    let expected =
        [0, 1].map(|index| Some(key.pseudonym(&format!("GPU-00000000-0000-0000-0000-{index:012}"))));
    assert_eq!(told, expected);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("00000000-0000"));
    let alone = driver(&[("FAKE_GPUS", "1")]).driver.unwrap().devices.unwrap();
    assert_eq!(alone[0].uuid, None);
}

#[test]
fn a_fault_of_each_call_is_told_at_its_stage() {
    let cases = [
        ("cuDeviceGetCount=999", Code::GpuUnavailable, Stage::Driver),
        ("cuDevicePrimaryCtxRetain=2", Code::OutOfMemory, Stage::Driver),
        ("cuModuleLoadData=222", Code::CheckFailed, Stage::Allocate),
        ("cuModuleLoadData=209", Code::CheckFailed, Stage::Allocate),
        ("cuMemAlloc=2", Code::OutOfMemory, Stage::Allocate),
        ("cuLaunchKernel=719", Code::RuntimeError, Stage::Product),
        ("cuMemcpyDtoH=700", Code::RuntimeError, Stage::Synchronize),
        ("wrong", Code::CheckFailed, Stage::Product),
        ("abort", Code::WorkerFailed, Stage::Product),
    ];
    for (fault, code, stage) in cases {
        let report = driver(&[("FAKE_FAULT", fault)]);
        assert_eq!((report.code, report.stage), (code, stage), "{fault}: {}", message(&report));
    }
}

#[test]
fn no_device_and_an_index_beyond_are_told_apart() {
    let report = driver(&[("FAKE_GPUS", "0")]);
    assert_eq!((report.code, report.stage), (Code::GpuUnavailable, Stage::Driver));
    let report = check(&[("FAKE_GPUS", "2")], &["--probe", "driver", "--device-index", "2"]);
    assert_eq!((report.code, report.stage), (Code::DeviceIndexInvalid, Stage::Driver));
}

#[test]
fn left_to_itself_the_checker_takes_the_driver_where_there_is_no_torch() {
    let report = check(&[("PATH", "/nowhere")], &["--python", "/nowhere/python"]);
    assert_eq!(report.code, Code::GpuCheckPassed, "{}", message(&report));
    assert_eq!(report.runtime.unwrap().chosen, Chosen::Driver);
}

/// The double hides its devices where the variable is set and empty, as the real driver does.
#[test]
fn variables_that_hide_devices_are_found_out() {
    let report = driver(&[("CUDA_VISIBLE_DEVICES", ""), ("FAKE_GPUS", "3")]);
    assert_eq!(report.code, Code::GpuUnavailable, "the verdict stays");
    assert_eq!(report.exposure.unwrap().devices_without_variables, Some(3));
    let cause = report.cause.unwrap();
    assert_eq!(cause.id, "visibility-variables");
    assert!(cause.summary.contains("CUDA_VISIBLE_DEVICES") && !cause.summary.contains("HIP_VISIBLE_DEVICES"));
    let report = driver(&[("CUDA_VISIBLE_DEVICES", "0"), ("FAKE_GPUS", "0")]);
    assert_eq!(report.exposure.unwrap().devices_without_variables, Some(0));
    assert_ne!(report.cause.map(|cause| cause.id).as_deref(), Some("visibility-variables"));
    let report = driver(&[("FAKE_GPUS", "0")]);
    assert_eq!(report.exposure.unwrap().devices_without_variables, None, "nothing was set");
}

/// No double: the library is Debian's libcuda1, on a machine without a GPU. What the double says for 100 is what it says.
#[test]
fn the_real_library_without_a_gpu_says_what_the_double_says() {
    let double = driver(&[("FAKE_CUINIT", "100")]);
    for arguments in ["--probe driver", ""] {
        let real = report_on("", "localhost/gpusweep/cuda-driver:1", arguments);
        assert_eq!((real.code, real.stage), (Code::GpuUnavailable, Stage::Driver), "{}", message(&real));
        assert_eq!((&real.cause, &real.first_error), (&double.cause, &double.first_error));
        let told = real.driver.unwrap();
        assert_eq!((told.api.as_str(), told.init_result), ("cuda", Some(100)));
        assert!(told.library.unwrap().starts_with("libcuda.so.5"), "a version suffix");
        assert!(told.version.is_some_and(|version| version >= 12_000), "{:?}", told.version);
        assert!(
            real.exposure.unwrap().libraries.iter().any(|library| library.name.starts_with("libcuda.so.5"))
        );
    }
}

/// No double: the compiler is ROCm 5.2's, from Debian, which needs no GPU for it. What it makes was never run.
#[test]
fn the_hip_kernels_compile() {
    let work = tempfile::tempdir().unwrap();
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/native");
    let program = work.path().join("hiprtc");
    let built =
        Command::new("cc").arg("-o").arg(&program).arg(native.join("tests/hiprtc.c")).arg("-ldl").status();
    assert!(built.unwrap().success());
    std::fs::copy(native.join("src/driver/kernels.hip"), work.path().join("kernels.hip")).unwrap();
    for architecture in ["gfx906", "gfx908", "gfx90a", "gfx1030"] {
        let mount = format!("{}:/work:ro", work.path().display());
        let output = Command::new("docker")
            .args([
                "run",
                "--rm",
                "--network",
                "none",
                "--volume",
                &mount,
                "localhost/gpusweep/rocm-userland:1",
            ])
            .args(["/work/hiprtc", "/work/kernels.hip", architecture])
            .output()
            .unwrap();
        assert!(output.status.success(), "{architecture}: {}", String::from_utf8_lossy(&output.stderr));
        let object =
            object::read::elf::ElfFile64::<object::Endianness>::parse(output.stdout.as_slice()).unwrap();
        let names: Vec<_> = object.symbols().filter_map(|symbol| symbol.name().ok()).collect();
        assert!(["product.kd", "gradient.kd"].iter().all(|name| names.contains(name)), "{names:?}");
    }
}
