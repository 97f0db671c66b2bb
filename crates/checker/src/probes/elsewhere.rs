//! Another interpreter of the image that has torch, where the image's own has none.
//!
//! Main function: [`find`]. It only asks whether torch would be found: importing is slow, and no part of this question.

use std::path::Path;
use std::time::{Duration, Instant};

use gpusweep_report::is_shared_interpreter;

use crate::interpreter::{How, Interpreter};
use crate::process::{Job, Listener};
use crate::worker::Context;

const SCRIPT: &str = include_str!("elsewhere.py");

/// For one interpreter, and for all of them.
const ONE: Duration = Duration::from_secs(5);
const ALL: Duration = Duration::from_secs(15);

/// The first of these that has torch, as text that may stand in a report.
pub(super) fn find(context: Context<'_>, others: &[Interpreter]) -> Option<String> {
    let until = Instant::now() + ALL;
    let has_torch = |interpreter: &&Interpreter| {
        let deadline = until.min(Instant::now() + ONE);
        let running = context.supervisor.stop().is_none() && Instant::now() < until;
        running && asks(context, interpreter, deadline)
    };
    others.iter().find(has_torch).map(place)
}

fn asks(context: Context<'_>, interpreter: &Interpreter, deadline: Instant) -> bool {
    let job = Job {
        program: interpreter.path.clone(),
        arguments: vec!["-".into()],
        input: &|fd| format!("FD = {fd}\n{SCRIPT}"),
        without: &[],
    };
    let mut answer = Answer { deadline, first: None };
    let asked = context.supervisor.supervise(&job, &mut answer, context.limits.settle);
    asked.is_ok() && answer.first == Some(b'1')
}

struct Answer {
    deadline: Instant,
    first: Option<u8>,
}

impl Listener for Answer {
    fn report(&mut self, bytes: &[u8]) {
        self.first = self.first.or(bytes.first().copied());
    }

    fn printed(&mut self, _bytes: &[u8]) {}

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_finished(&self) -> bool {
        self.first.is_some()
    }
}

/// The path where it is one of those that images share; a path below a home is its owner's.
fn place(interpreter: &Interpreter) -> String {
    told(&interpreter.path).unwrap_or_else(|| {
        let words = match interpreter.how {
            How::Configured => "the configured interpreter",
            How::Entrypoint => "the interpreter of ENTRYPOINT",
            How::Venv => "the interpreter of VIRTUAL_ENV",
            How::Conda => "the interpreter of CONDA_PREFIX",
            How::Path => "an interpreter on PATH",
            How::Search => "an interpreter in a hidden place",
        };
        words.to_owned()
    })
}

fn told(path: &Path) -> Option<String> {
    path.to_str().filter(|path| is_shared_interpreter(path)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_places_are_told() {
        let place = |path: &str, how| place(&Interpreter { path: path.into(), how });
        assert_eq!(place("/opt/app/.venv/bin/python", How::Search), "/opt/app/.venv/bin/python");
        assert_eq!(place("/usr/bin/python3.9", How::Path), "/usr/bin/python3.9");
        assert_eq!(place("/home/me/venv/bin/python", How::Venv), "the interpreter of VIRTUAL_ENV");
        assert_eq!(place("/opt/my \u{1b}[2J/bin/python", How::Search), "an interpreter in a hidden place");
    }
}
