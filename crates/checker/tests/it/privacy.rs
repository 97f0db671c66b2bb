//! Canaries in every place that a report must not tell of.

use gpusweep_report::{Code, Stage};

use crate::harness::{Checker, doubles};

/// Words that stand for a path, a user, a secret and so on.
const CANARIES: [&str; 8] = [
    "canary-path",
    "canaryuser",
    "canary-home",
    "canary-value",
    "canary-token",
    "canary-package",
    "canary-line",
    "canary-out",
];

#[test]
fn no_canary_leaves_with_a_report() {
    let points = ["import", "init", "allocate", "product", "gradient", "synchronize"];
    for point in points {
        let text = "cannot open /srv/canary-path/libx.so for canaryuser in /home/canary-home \
                    with canary-value, canary-line (HF_TOKEN=canary-token)";
        let checker = Checker::with_gpus(1).fault(&format!("{point}=raise:RuntimeError:{text}"));
        let packages = checker.folder.path().join("canary-package");
        std::fs::create_dir_all(packages.join("canary-package-1.0.dist-info")).unwrap();
        let path = std::env::join_paths([packages, doubles()]).unwrap();
        let outcome = checker
            .env("PYTHONPATH", path)
            .env("USER", "canaryuser")
            .env("HOME", "/home/canary-home")
            .env("SETTING", "canary-value")
            .env("TEXT", "canary-line\nmore")
            .args(["--output", "/nowhere/canary-path/report.json"])
            .run();
        outcome.expect(Code::OutputWriteFailed, Stage::Output);
        for canary in CANARIES {
            assert!(!outcome.line.contains(canary), "{canary} at {point}: {}", outcome.line);
        }
    }
}

#[test]
fn an_error_keeps_what_names_the_fault() {
    let text = "/srv/canary-path/libcudart.so.13: cannot open shared object file: No such file or directory";
    let outcome = Checker::with_gpus(1).fault(&format!("import=raise:ImportError:{text}")).run();
    outcome.expect(Code::TorchImportFailed, Stage::Import);
    outcome.expect_error("ImportError", "libcudart.so.13: cannot open shared object file");
    assert!(!outcome.line.contains("canary"));
}

#[test]
fn crashes_and_warnings_are_cleaned_too() {
    let text = "CUDA error: canary-value in /srv/canary-path/kernel.cu";
    let checker = Checker::with_gpus(1).env("SETTING", "canary-value");
    let outcome = checker.fault(&format!("product=signal:SIGABRT:{text}")).run();
    outcome.expect(Code::RuntimeError, Stage::Product).expect_error("Signal", "CUDA error");
    assert!(!outcome.line.contains("canary"), "{}", outcome.line);
    let checker =
        Checker::with_gpus(0).env("SETTING", "canary-value").fault("available=warn:old canary-value");
    let outcome = checker.run();
    outcome.expect(Code::GpuUnavailable, Stage::Device);
    assert!(!outcome.line.contains("canary"), "{}", outcome.line);
}

#[test]
fn a_traceback_in_a_message_becomes_one_short_line() {
    let text = "a\nTraceback (most recent call last):\n  File \"/srv/x/canary.py\", line 1\n".repeat(100);
    let outcome = Checker::with_gpus(1).fault(&format!("product=raise:RuntimeError:{text}")).run();
    outcome.expect(Code::RuntimeError, Stage::Product);
    assert!(outcome.report.first_error.unwrap().message.chars().count() <= 300);
}

#[test]
fn a_long_text_without_blanks_is_dropped_whole() {
    let text = format!("{}canary", "a:".repeat(1999));
    let outcome = Checker::with_gpus(1).fault(&format!("product=raise:RuntimeError:{text}more")).run();
    outcome.expect(Code::RuntimeError, Stage::Product);
    assert_eq!(outcome.report.first_error.unwrap().message, "…");
}

/// A torch whose every text is a variable's value.
const TELLTALE: &str = r#"
import os
class version:
    cuda = "12-" + os.environ["SETTING"]
    hip = os.environ["SETTING"]
__version__ = "2.9+" + os.environ["SETTING"].replace("-", "_")
def tensor(*args, **kwargs):
    raise type(os.environ["SETTING"], (Exception,), {})("no")
device, float32 = str, None
"#;

#[test]
fn no_field_of_the_worker_tells_a_value() {
    let checker = Checker::new().args(["--device", "cpu"]).env("SETTING", "Canary-value.7");
    let site = checker.folder.path().join("site");
    std::fs::create_dir_all(site.join("torch")).unwrap();
    std::fs::write(site.join("torch/__init__.py"), TELLTALE).unwrap();
    let outcome = checker.env("PYTHONPATH", site).run();
    outcome.expect(Code::RuntimeError, Stage::Allocate).expect_error("redacted", "no");
    assert!(!outcome.line.contains("Canary"), "{}", outcome.line);
    assert_eq!(outcome.report.pytorch.unwrap().version, "2.9+redacted");
}
