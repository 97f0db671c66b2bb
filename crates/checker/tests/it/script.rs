//! The worker's script: old enough for every interpreter that it may meet.

use std::process::Command;

#[test]
fn the_script_is_python_3_6() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/probes/worker.py");
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))";
    let status = Command::new("python3").args(["-c", parse, script]).status().expect("python3");
    assert!(status.success());
    // It goes to the interpreter over a pipe, whose encoding is the image's affair.
    assert!(std::fs::read(script).unwrap().is_ascii());
}
