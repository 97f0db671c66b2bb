//! Every variable that hides GPUs reaches the checker as the matrix has it: unset, empty, or with its value, whatever the
//! image sets. Engine and containers are real.

use gpusweep_report::VISIBILITY_VARIABLES;
use serde_json::{Map, Value, json};

use crate::engine::{Image, Sweep, sweep};

/// A value for each variable that is not the image's, among them what is easily cleaned, cut or taken for a number.
const VALUES: [(&str, &str); 8] = [
    ("CUDA_VISIBLE_DEVICES", "1,0"),
    ("HIP_VISIBLE_DEVICES", "-1"),
    ("ROCR_VISIBLE_DEVICES", "0, 2"),
    ("GPU_DEVICE_ORDINAL", "007"),
    ("NVIDIA_VISIBLE_DEVICES", "void"),
    ("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
    ("AMD_VISIBLE_DEVICES", "none"),
    ("HSA_OVERRIDE_GFX_VERSION", "10.30"),
];

/// What the image of the first row sets each of them to.
const OF_IMAGE: &str = "of-the-image";

fn all(value: impl Fn(&str, &str) -> Value) -> Value {
    VALUES.iter().map(|(name, text)| ((*name).to_owned(), value(name, text))).collect::<Map<_, _>>().into()
}

/// Visibilities with what they set.
fn forms() -> [(&'static str, Value); 4] {
    [
        ("as-it-is", json!({})),
        ("unset", all(|_, _| Value::Null)),
        ("empty", all(|_, _| "".into())),
        ("valued", all(|_, text| text.into())),
    ]
}

/// What the checker is to see in an image that sets the variables so.
fn seen(env: &Value, image: &Value) -> Value {
    all(|name, _| env.get(name).unwrap_or(image).clone())
}

fn masked(image: &Image) -> Sweep {
    let rows: Vec<Value> =
        forms().into_iter().map(|(name, env)| json!({ "name": name, "env": env })).collect();
    sweep(
        &json!({
            "schema": "gpusweep.matrix/1",
            "name": "test",
            "images": [{ "name": "sets", "ref": image.reference }, { "name": "plain", "ref": "localhost/gpusweep/bare:1" }],
            "visibility": rows,
            "expect": [{ "code": "TORCH_MISSING" }],
        })
        .to_string(),
    )
}

#[test]
fn unset_empty_and_valued_forms_of_every_variable_reach_the_checker() {
    assert_eq!(VALUES.map(|(name, _)| name), VISIBILITY_VARIABLES);
    let lines: String = VALUES.iter().map(|(name, _)| format!("ENV {name}={OF_IMAGE}\n")).collect();
    let image = Image::on("bare", "masks", &[], &lines);
    let run = masked(&image);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    for (image, sets) in [("sets", json!(OF_IMAGE)), ("plain", Value::Null)] {
        for (visibility, env) in forms() {
            let cell = run.cell(&[("image", image), ("visibility", visibility)]);
            let expected = seen(&env, &sets);
            let context = format!("{image} {visibility}");
            assert_eq!(run.report(cell)["exposure"]["variables"], expected, "{context}");
            assert_eq!(cell["requested"].get("env").unwrap_or(&json!({})), &env, "{context}");
            assert_eq!(cell["parted"], json!([]), "{context}");
            let applied = cell["applied"]["env"].as_object().cloned().unwrap_or_default();
            let set = expected.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            let set: Map<String, Value> = set.map(|(name, value)| (name.clone(), value.clone())).collect();
            assert_eq!(applied, set, "{context}");
            // A row lists what is set, and the report beside it what is not.
            assert_eq!(cell["observed"]["variables"], Value::Object(set), "{context}");
        }
    }
}
