//! `--output`: a new file, whole, or exit status 12 with the report on stdout all the same.

use std::path::Path;

use gpusweep_report::{Code, Outcome as CheckOutcome, Stage};

use crate::harness::{Checker, Outcome, nothing_is_left, read};

fn save_to(path: &Path) -> Outcome {
    Checker::on_cpu().args(["--output".into(), path.as_os_str().to_owned()]).run()
}

#[track_caller]
fn refused(path: &Path, errno: &str) -> Outcome {
    let outcome = save_to(path);
    outcome.expect(Code::OutputWriteFailed, Stage::Output).expect_error(errno, "cannot be written");
    assert_eq!(outcome.report.exit_code, 12);
    assert_eq!(outcome.stages(CheckOutcome::Failed), [Stage::Output]);
    // What was found stays in the report.
    assert!(outcome.report.execution.as_ref().unwrap().gradient_verified);
    outcome
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_file_holds_what_stdout_holds() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["report.json".to_owned(), "n".repeat(255)] {
        let outcome = save_to(&folder.path().join(&name));
        outcome.expect(Code::CpuCheckPassed, Stage::Complete);
        let saved = std::fs::read_to_string(folder.path().join(&name)).unwrap();
        assert_eq!(saved, format!("{}\n", outcome.line));
    }
    assert_eq!(names_in(folder.path()).len(), 2, "something was left beside the reports");
}

#[test]
fn a_relative_name_is_below_the_working_directory() {
    let (outcome, folder) = Checker::on_cpu().args(["--output", "report.json"]).run_keeping_folder();
    outcome.expect(Code::CpuCheckPassed, Stage::Complete);
    assert_eq!(names_in(folder.path()), ["report.json"]);
}

#[test]
fn what_exists_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.json");
    std::fs::write(&file, "old").unwrap();
    refused(&file, "EEXIST");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    let directory = folder.path().join("directory");
    std::fs::create_dir(&directory).unwrap();
    refused(&directory, "EEXIST");
    let dangling = folder.path().join("dangling");
    std::os::unix::fs::symlink("target", &dangling).unwrap();
    refused(&dangling, "EEXIST");
    assert_eq!(names_in(folder.path()), ["dangling", "directory", "old.json"]);
    assert_eq!(names_in(&directory), Vec::<String>::new());
}

#[test]
fn places_where_no_file_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    refused(&folder.path().join("missing/report.json"), "ENOENT");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused(&file.join("report.json"), "ENOTDIR");
    refused(Path::new("/dev/full"), "EEXIST");
    let outcome = save_to(Path::new("/proc/report.json"));
    outcome.expect(Code::OutputWriteFailed, Stage::Output);
    refused(Path::new("/"), "EISDIR");
    assert_eq!(names_in(folder.path()), ["file"]);
}

/// A limit on file sizes stands for a full disk: the file can be made, and not be written.
#[test]
fn a_full_disk_leaves_no_half_a_report() {
    let (command, folder, mark) = Checker::on_cpu().args(["--output", "report.json"]).into_command();
    let mut limited = std::process::Command::new("/bin/sh");
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_str().unwrap()).collect();
    let program = command.get_program().to_str().unwrap();
    let shell = format!("ulimit -f 0; exec {program} {}", arguments.join(" "));
    limited.args(["-c", &shell]).env_clear().current_dir(folder.path());
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap());
    }
    let output = limited.output().unwrap();
    nothing_is_left(&mark);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let outcome = read(&stdout, output.status.code(), std::time::Duration::ZERO);
    outcome.expect(Code::OutputWriteFailed, Stage::Output).expect_error("EFBIG", "report.json");
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
}

#[test]
fn a_failed_check_that_cannot_be_saved_keeps_its_stages() {
    let folder = tempfile::tempdir().unwrap();
    let checker = Checker::new().args(["--output".into(), folder.path().join("no/x").into_os_string()]);
    let outcome = checker.run();
    outcome.expect(Code::OutputWriteFailed, Stage::Output);
    assert_eq!(outcome.stages(CheckOutcome::Failed), [Stage::Import, Stage::Output]);
}

#[test]
fn a_reader_that_went_away_changes_no_exit_status() {
    for (target, arguments, status) in
        [("/dev/full", "--device cpu", 0), ("/dev/full", "", 5), ("&-", "--device cpu", 0)]
    {
        let (command, _folder, mark) = Checker::new().double().into_command();
        let shell = format!("{} {arguments} >{target}", command.get_program().to_str().unwrap());
        let mut other = std::process::Command::new("/bin/sh");
        other.args(["-c", &shell]).env_clear();
        for (name, value) in command.get_envs() {
            other.env(name, value.unwrap());
        }
        assert_eq!(other.status().unwrap().code(), Some(status), "{target} {arguments}");
        nothing_is_left(&mark);
    }
}

#[test]
fn links_are_never_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "old").unwrap();
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let targets = [file.as_path(), elsewhere.as_path(), Path::new("/dev/full"), Path::new("/dev/null")];
    for (number, target) in targets.into_iter().enumerate() {
        let link = folder.path().join(format!("link-{number}"));
        std::os::unix::fs::symlink(target, &link).unwrap();
        refused(&link, "EEXIST");
        assert_eq!(std::fs::read_link(&link).unwrap(), target, "the link is as it was");
    }
    refused(Path::new("/dev/stdout"), "EEXIST");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names_in(&elsewhere), Vec::<String>::new());
}

/// A folder may be named through a link: that is whoever asks for the file, and not the image, who says where it goes.
#[test]
fn a_folder_may_be_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
    save_to(&folder.path().join("link/report.json")).expect(Code::CpuCheckPassed, Stage::Complete);
    assert_eq!(names_in(&real), ["report.json"]);
    std::os::unix::fs::symlink("gone", folder.path().join("dangling")).unwrap();
    refused(&folder.path().join("dangling/report.json"), "ENOENT");
}
