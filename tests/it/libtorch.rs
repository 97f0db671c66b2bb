//! The libtorch probe on real libtorch, held against the Python probe on the same one.

use serde_json::Value;

use crate::engine::sweep;

/// Debian's torch 1.13, by both probes, on the CPU and with a GPU asked for.
#[test]
fn both_probes_agree_on_one_torch() {
    let reports: Vec<Vec<Value>> = ["python", "libtorch"]
        .into_iter()
        .map(|probe| {
            let run = sweep(&format!(
                "schema: gpusweep.matrix/1\nname: test\nimages: [{{ name: it, ref: \"localhost/gpusweep/torch-cpu:1\" }}]\n\
                 checks: {{ probe: {probe}, device: [cpu, 0] }}\n"
            ));
            let of = |device: &str| run.report(run.cell(&[("device", device)]));
            vec![of("cpu"), of("0")]
        })
        .collect();
    let [python, libtorch] = &reports[..] else { panic!() };
    for (one, other) in python.iter().zip(libtorch) {
        for field in ["code", "stage", "execution"] {
            assert_eq!(one[field], other[field], "{other:#}");
        }
    }
    assert_eq!(libtorch[0]["code"], "CPU_CHECK_PASSED");
    assert_eq!(libtorch[0]["execution"]["loss"], 196.0);
    assert_eq!(
        (&libtorch[0]["runtime"]["binding"], &libtorch[0]["runtime"]["python_version"]),
        (&Value::from("ops"), &Value::Null)
    );
    assert_eq!(libtorch[1]["code"], "GPU_BACKEND_ABSENT");
}
