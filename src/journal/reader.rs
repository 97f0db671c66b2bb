//! Reads a run folder, finished or not.

use std::fs;
use std::path::Path;

use super::{Header, JOURNAL, JournalError, PLAN, SCHEMA};
use crate::event::Event;
use crate::plan::Plan;

/// What a run folder holds.
#[derive(Debug, PartialEq)]
pub struct Recorded {
    /// The plan.
    pub plan: Plan,
    /// Events in order; the last line may have been torn, and is then left out.
    pub events: Vec<Event>,
}

impl Recorded {
    /// Reads a run folder.
    ///
    /// # Errors
    /// Where it is none, or a file in it is damaged in more than the journal's last line.
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        let plan = parse_plan(folder)?;
        let text = read(folder, JOURNAL)?;
        let events = parse(&folder.join(JOURNAL), &text)?;
        Ok(Self { plan, events })
    }
}

pub(super) fn parse_plan(folder: &Path) -> Result<Plan, JournalError> {
    serde_json::from_slice(&read(folder, PLAN)?).map_err(|error| JournalError::Damaged {
        path: folder.join(PLAN),
        line: error.line(),
        what: error.to_string(),
    })
}

fn read(folder: &Path, name: &'static str) -> Result<Vec<u8>, JournalError> {
    let path = folder.join(name);
    fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            JournalError::NotARun(folder.to_owned(), name)
        }
        _ => JournalError::Read(path, error),
    })
}

/// The text up to its last end of a line: what comes behind it was torn off.
pub(super) fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Vec<Event>, JournalError> {
    let damaged =
        |line: usize, what: String| JournalError::Damaged { path: path.to_owned(), line: line + 1, what };
    let mut lines = whole_lines(text).split_inclusive(|byte| *byte == b'\n').enumerate();
    let Some((_, first)) = lines.next() else { return Ok(Vec::new()) };
    let header: Header = serde_json::from_slice(first).map_err(|error| damaged(0, error.to_string()))?;
    if header.schema != SCHEMA {
        return Err(damaged(
            0,
            format!("its schema is `{}`, and this version reads {SCHEMA}", header.schema),
        ));
    }
    lines
        .map(|(number, line)| {
            serde_json::from_slice(line).map_err(|error| damaged(number, error.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::EventKind;
    use crate::journal::RunFolder;
    use crate::plan::{RunLimits, Source};

    fn plan() -> Plan {
        Plan {
            schema: crate::plan::SCHEMA.into(),
            name: "test".into(),
            hosts: Vec::new(),
            source: Source::default(),
            limits: RunLimits::default(),
            cells: Vec::new(),
        }
    }

    fn event(seq: u64, name: &str) -> Event {
        let kind =
            EventKind::RunStarted { run: "r".into(), name: name.into(), cells: 3, checker: "c".into() };
        Event { seq, at: "2026-01-01T00:00:00.123Z".parse().unwrap(), kind }
    }

    fn written(names: &[String]) -> (tempfile::TempDir, Vec<Event>) {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(&folder.path().join("run"), "matrix", &plan()).unwrap();
        let events: Vec<Event> = names.iter().zip(0..).map(|(name, seq)| event(seq, name)).collect();
        events.iter().for_each(|event| run.append(event).unwrap());
        (folder, events)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_is_read_and_a_torn_end_loses_one_line_at_most(
            names in proptest::collection::vec(any::<String>(), 0..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let (folder, events) = written(&names);
            let run = folder.path().join("run");
            let read = Recorded::read(&run).unwrap();
            prop_assert_eq!(&read.events, &events);
            prop_assert_eq!(read.plan, plan());
            let journal = run.join(JOURNAL);
            let text = fs::read(&journal).unwrap();
            let kept = cut.index(text.len() + 1);
            fs::write(&journal, &text[..kept]).unwrap();
            let torn = Recorded::read(&run).unwrap().events;
            let whole_lines = text[..kept].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            prop_assert_eq!(&torn[..], &events[..whole_lines]);
        }
    }

    #[test]
    fn damage_elsewhere_is_an_error_that_names_the_line() {
        let (folder, _) = written(&["a".into(), "b".into()]);
        let journal = folder.path().join("run").join(JOURNAL);
        let text = fs::read_to_string(&journal).unwrap().replacen("run-started", "x", 1);
        fs::write(&journal, text).unwrap();
        let error = Recorded::read(&folder.path().join("run")).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
    }

    #[test]
    fn a_folder_in_use_is_never_touched() {
        let folder = tempfile::tempdir().unwrap();
        let error = RunFolder::create(folder.path(), "m", &plan()).err().unwrap();
        assert!(matches!(error, JournalError::Taken(_)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_folder_is_no_run() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Recorded::read(folder.path()), Err(JournalError::NotARun(_, PLAN))));
    }
}
