//! Options: what is refused with exit status 2 and a word on stderr, and nothing on stdout.

use crate::harness::Checker;

fn refused(arguments: &[&str]) -> String {
    let (mut command, _folder, _) = Checker::new().args(arguments).into_command();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed on stdout");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn usage_errors_have_status_2_and_no_report() {
    for arguments in [
        ["--timeout", "4"].as_slice(),
        &["--timeout", "121"],
        &["--timeout", "-5"],
        &["--timeout", "5.5"],
        &["--timeout", "thirty"],
        &["--timeout"],
        &["--device-index", "-1"],
        &["--device-index", "x"],
        &["--device-index", "0", "--device", "cpu"],
        &["--probe", "magic"],
        &["--unknown"],
        &["positional"],
    ] {
        assert!(refused(arguments).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn a_gpu_by_device_is_refused_with_what_to_use() {
    for device in ["cuda", "cuda:0", "0", "gpu"] {
        assert!(refused(&["--device", device]).contains("--device-index N"));
    }
}

#[test]
fn the_bounds_of_the_timeout_are_accepted() {
    for timeout in ["5", "120"] {
        let outcome = Checker::on_cpu().args(["--timeout", timeout]).run();
        assert_eq!(outcome.report.request.timeout_s.to_string(), timeout);
        assert!(outcome.report.code.passed());
    }
}

#[test]
fn help_and_version_are_no_checks() {
    for (argument, text) in [("--help", "--device-index"), ("--version", env!("CARGO_PKG_VERSION"))] {
        let (mut command, _folder, _) = Checker::new().args([argument]).into_command();
        let output = command.output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(text));
    }
}
