//! The libtorch probe on real libtorch, held against the Python probe on the same one.

use serde_json::Value;

use crate::engine::sweep;

/// Sweeps an image with each probe, on the CPU and with a GPU asked for, and holds the reports against each other.
fn agreed(image: &str) -> [Value; 2] {
    let reports = |probe: &str| -> [Value; 2] {
        let run = sweep(&format!(
            "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"localhost/gpusweep/{image}:1\" }}]\n\
             checks: {{ probe: {probe}, device: [cpu, 0] }}\n"
        ));
        ["cpu", "0"].map(|device| run.report(run.cell(&[("device", device)])))
    };
    let (python, libtorch) = (reports("python"), reports("libtorch"));
    for (one, other) in python.iter().zip(&libtorch) {
        for pointer in
            ["/code", "/stage", "/execution", "/pytorch/cuda_build", "/pytorch/visible_device_count"]
        {
            assert_eq!(one.pointer(pointer), other.pointer(pointer), "{pointer}: {other:#}");
        }
        assert_eq!(other["runtime"]["binding"], "ops");
        assert_eq!(other["runtime"]["python_version"], Value::Null);
    }
    assert_eq!(libtorch[0]["execution"]["loss"], 196.0);
    libtorch
}

/// Debian's torch 1.13, which has no backend for a GPU.
#[test]
fn both_probes_agree_on_an_old_torch() {
    let [cpu, gpu] = agreed("torch-cpu");
    assert_eq!(
        (&cpu["code"], &gpu["code"]),
        (&Value::from("CPU_CHECK_PASSED"), &Value::from("GPU_BACKEND_ABSENT"))
    );
}

/// The wheel of torch 2.15 with CUDA's libraries, on a machine without a GPU.
#[test]
#[ignore = "its image is large"]
fn both_probes_agree_on_the_newest_torch() {
    let [cpu, gpu] = agreed("torch-cuda");
    assert_eq!(
        (&cpu["code"], &gpu["code"]),
        (&Value::from("CPU_CHECK_PASSED"), &Value::from("GPU_UNAVAILABLE"))
    );
}
