//! Every code that needs no deadline and no death: which facts lead to it, and what the report then says.

use gpusweep_report::{Code, Outcome, Stage};

use crate::harness::Checker;

const GPU_STAGES: [Stage; 9] = [
    Stage::Exposure,
    Stage::Interpreter,
    Stage::Import,
    Stage::Backend,
    Stage::Device,
    Stage::Allocate,
    Stage::Product,
    Stage::Gradient,
    Stage::Synchronize,
];

#[test]
fn a_gpu_that_computes_rightly_passes() {
    let outcome = Checker::with_gpus(2).args(["--device-index", "1"]).run();
    outcome.expect(Code::GpuCheckPassed, Stage::Complete);
    assert_eq!(outcome.stages(Outcome::Passed), GPU_STAGES);
    let report = &outcome.report;
    assert_eq!(report.request.device, "cuda:1");
    let execution = report.execution.as_ref().unwrap();
    assert_eq!((execution.device.as_str(), execution.loss), ("cuda:1", Some(196.0)));
    let torch = report.pytorch.as_ref().unwrap();
    assert_eq!((torch.backend.as_str(), torch.cuda_build.as_deref()), ("cuda", Some("12.8")));
    assert_eq!((torch.gpu_available, torch.visible_device_count), (Some(true), Some(2)));
    assert_eq!(torch.arch_list.as_deref(), Some(["sm_80".to_owned(), "sm_90".to_owned()].as_slice()));
    let devices = torch.devices.as_ref().unwrap();
    assert_eq!((devices.len(), devices[1].index, devices[1].name.as_str()), (2, 1, "Double of a GPU 1"));
    assert_eq!(devices[1].architecture.as_deref(), Some("sm_90"));
    assert_eq!((devices[1].memory_bytes, &devices[1].uuid), (Some(8 << 30), &None));
    let runtime = report.runtime.as_ref().unwrap();
    assert_eq!(runtime.os_family, "Linux");
    assert!(runtime.python_version.as_deref().unwrap().starts_with("3."));
    assert!(report.exposure.is_some() && report.host_check.is_none() && report.cause.is_none());
}

#[test]
fn a_rocm_build_is_not_taken_for_a_cpu_build() {
    let checker = Checker::new().double().env("FAKE_HIP", "6.3.42133").env("FAKE_GPUS", "1");
    let outcome = checker.run();
    outcome.expect(Code::GpuCheckPassed, Stage::Complete);
    let torch = outcome.report.pytorch.unwrap();
    assert_eq!((torch.backend.as_str(), torch.cuda_build), ("rocm", None));
    assert_eq!(torch.hip_build.as_deref(), Some("6.3.42133"));
    assert_eq!(torch.devices.unwrap()[0].architecture.as_deref(), Some("gfx942"));
}

#[test]
fn the_cpu_passes_only_as_the_cpu_and_no_gpu_is_asked() {
    // Were the GPU state asked, the double would fail.
    let faults =
        "available=raise:RuntimeError:asked&count=raise:RuntimeError:asked&init=raise:RuntimeError:asked";
    let outcome = Checker::on_cpu().env("FAKE_CUDA", "12.8").env("FAKE_GPUS", "1").fault(faults).run();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert_eq!(outcome.stages(Outcome::Skipped), [Stage::Exposure, Stage::Backend, Stage::Device]);
    assert_eq!(outcome.report.exposure, None);
    assert_eq!(outcome.report.execution.unwrap().loss, Some(196.0));
    let torch = outcome.report.pytorch.unwrap();
    assert_eq!(torch.cuda_build.as_deref(), Some("12.8"));
    assert_eq!((torch.gpu_available, torch.visible_device_count), (None, None));
    assert_eq!((torch.arch_list, torch.devices), (None, None));
}

#[test]
fn no_torch_is_told_from_a_broken_one() {
    let outcome = Checker::new().run();
    outcome.expect(Code::TorchMissing, Stage::Import).expect_error("ModuleNotFoundError", "torch");
    assert_eq!(outcome.report.pytorch, None);
    for (fault, kind) in [
        ("raise:ImportError:libcudart.so.13: cannot open shared object file", "ImportError"),
        ("raise:ModuleNotFoundError:No module named 'typing_extensions'", "ModuleNotFoundError"),
        ("raise:ValueError:libcublasLt.so.*[0-9] not found in the system path", "ValueError"),
        ("raise:UnboundLocalError:x", "UnboundLocalError"),
        ("raise:SystemExit:3", "SystemExit"),
        ("raise:KeyboardInterrupt:", "KeyboardInterrupt"),
        ("raise:MemoryError:", "MemoryError"),
    ] {
        let outcome = Checker::with_gpus(1).fault(&format!("import={fault}")).run();
        outcome.expect(Code::TorchImportFailed, Stage::Import).expect_error(kind, "");
        assert_eq!(outcome.stages(Outcome::Failed), [Stage::Import]);
    }
}

#[test]
fn a_leftover_folder_is_no_torch() {
    let checker = Checker::new();
    let packages = checker.folder.path().join("packages");
    std::fs::create_dir_all(packages.join("torch/lib")).unwrap();
    let outcome = checker.env("PYTHONPATH", packages).run();
    outcome.expect(Code::TorchImportFailed, Stage::Import).expect_error("ImportError", "no __version__");
}

#[test]
fn an_error_inside_torch_that_names_torch_is_no_missing_torch() {
    let checker = Checker::new();
    let packages = checker.folder.path().join("packages");
    std::fs::create_dir_all(packages.join("torch")).unwrap();
    std::fs::write(packages.join("torch/__init__.py"), "from torch import nothing\n").unwrap();
    let outcome = checker.env("PYTHONPATH", packages).run();
    outcome.expect(Code::TorchImportFailed, Stage::Import).expect_error("ImportError", "nothing");
}

#[test]
fn a_build_without_backend_is_absent_and_never_the_cpu() {
    let outcome = Checker::new().double().run();
    outcome.expect(Code::GpuBackendAbsent, Stage::Backend).expect_error("BackendAbsent", "None");
    assert_eq!(outcome.report.pytorch.unwrap().backend, "none");
    assert_eq!(outcome.report.execution, None);
}

#[test]
fn no_usable_gpu_is_told_with_the_reason_of_torch() {
    let text = "Found no NVIDIA driver on your system.";
    let outcome = Checker::with_gpus(0).fault(&format!("init=raise:RuntimeError:{text}")).run();
    outcome.expect(Code::GpuUnavailable, Stage::Device).expect_error("RuntimeError", text);
    let torch = outcome.report.pytorch.as_ref().unwrap();
    assert_eq!((torch.gpu_available, torch.visible_device_count), (Some(false), Some(0)));
    assert_eq!(outcome.stages(Outcome::Failed), [Stage::Device]);

    let outcome = Checker::with_gpus(0).fault("available=warn:The NVIDIA driver is too old").run();
    outcome.expect(Code::GpuUnavailable, Stage::Device).expect_error("UserWarning", "too old");

    let outcome = Checker::with_gpus(0).run();
    outcome.expect(Code::GpuUnavailable, Stage::Device).expect_error("Unavailable", "no reason");

    let outcome =
        Checker::with_gpus(1).fault("init=raise:RuntimeError:CUDA driver initialization failed").run();
    outcome.expect(Code::GpuUnavailable, Stage::Device).expect_error("RuntimeError", "initialization");
}

#[test]
fn an_index_outside_the_visible_devices_is_invalid() {
    let outcome = Checker::with_gpus(2).args(["--device-index", "2"]).run();
    outcome.expect(Code::DeviceIndexInvalid, Stage::Device).expect_error("IndexError", "cuda:2");
    assert_eq!(outcome.report.pytorch.unwrap().visible_device_count, Some(2));
}

#[test]
fn wrong_values_fail_the_check_at_their_stage() {
    let product = Checker::with_gpus(1).fault("product=wrong").run();
    product.expect(Code::CheckFailed, Stage::Product).expect_error("WrongValue", "[10.0, 9.0]");
    let execution = product.report.execution.as_ref().unwrap();
    assert!(!execution.product_verified);

    let gradient = Checker::with_gpus(1).fault("gradient=wrong").run();
    gradient.expect(Code::CheckFailed, Stage::Gradient).expect_error("WrongValue", "NaN");
    let execution = gradient.report.execution.as_ref().unwrap();
    assert!(execution.product_verified && !execution.gradient_verified);
    assert_eq!(gradient.stages(Outcome::Failed), [Stage::Gradient]);

    let loss = Checker::with_gpus(1).fault("loss=inf").run();
    loss.expect(Code::CheckFailed, Stage::Product).expect_error("WrongValue", "loss is inf");
    assert_eq!(loss.report.execution.unwrap().loss, None);
}

#[test]
fn a_gpu_result_that_was_made_elsewhere_fails_the_check() {
    let product = Checker::with_gpus(1).fault("product_device=cpu").run();
    product.expect(Code::CheckFailed, Stage::Product).expect_error("WrongDevice", "cpu, not on cuda:0");
    let gradient = Checker::with_gpus(1).fault("gradient_device=cuda:1").run();
    gradient.expect(Code::CheckFailed, Stage::Gradient).expect_error("WrongDevice", "cuda:1");
}

#[test]
fn a_kernel_that_was_not_built_for_the_device_fails_the_check() {
    let steps = [
        ("product", Stage::Product, "CUDA error: no kernel image is available for execution on the device"),
        ("allocate", Stage::Allocate, "HIP error: invalid device function"),
        ("gradient", Stage::Gradient, "hipErrorNoBinaryForGpu: Unable to find code object"),
    ];
    for (point, stage, text) in steps {
        let outcome = Checker::with_gpus(1).fault(&format!("{point}=raise:RuntimeError:{text}")).run();
        outcome.expect(Code::CheckFailed, stage).expect_error("RuntimeError", text);
    }
}

#[test]
fn memory_and_other_errors_are_told_apart_at_every_stage() {
    let points = [
        ("allocate", Stage::Allocate),
        ("product", Stage::Product),
        ("gradient", Stage::Gradient),
        ("synchronize", Stage::Synchronize),
    ];
    for (point, stage) in points {
        for error in ["OutOfMemoryError:tried to allocate", "RuntimeError:CUDA error: out of memory"] {
            let outcome = Checker::with_gpus(1).fault(&format!("{point}=raise:{error}")).run();
            outcome.expect(Code::OutOfMemory, stage);
            assert_eq!(outcome.report.exit_code, 9);
        }
        let error = "RuntimeError:CUDA error: an illegal memory access was encountered";
        let outcome = Checker::with_gpus(1).fault(&format!("{point}=raise:{error}")).run();
        outcome.expect(Code::RuntimeError, stage).expect_error("RuntimeError", "illegal memory access");
        assert_eq!(outcome.stages(Outcome::Failed), [stage]);
    }
    let outcome = Checker::with_gpus(1).fault("properties=raise:RuntimeError:device lost").run();
    outcome.expect(Code::RuntimeError, Stage::Device).expect_error("RuntimeError", "device lost");
}

#[test]
fn a_probe_that_has_nothing_to_load_says_so() {
    let outcome = Checker::with_gpus(1).args(["--probe", "libtorch"]).run();
    outcome.expect(Code::TorchMissing, Stage::Import).expect_error("NotFound", "libtorch");
    let outcome = Checker::with_gpus(1).args(["--probe", "driver"]).run();
    outcome.expect(Code::GpuUnavailable, Stage::Driver).expect_error("NotFound", "libcuda.so.1");
    Checker::with_gpus(1).args(["--probe", "python"]).run().expect(Code::GpuCheckPassed, Stage::Complete);
}
