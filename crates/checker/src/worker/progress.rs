//! Which stage a worker is in, and how long each took.
//!
//! Main type: [`Progress`]. Times are the supervisor's own, so a worker that dies has told them all the same.

use std::time::Instant;

use gpusweep_report::{Check, Outcome, Stage};

/// The stages of a probe, in order.
pub(crate) type Route = &'static [Stage];

/// The stages of the Python probe.
pub(crate) const PYTHON: Route = &[
    Stage::Interpreter,
    Stage::Import,
    Stage::Backend,
    Stage::Device,
    Stage::Allocate,
    Stage::Product,
    Stage::Gradient,
    Stage::Synchronize,
];

/// The stages of the libtorch probe, which needs no interpreter.
pub(crate) const LIBTORCH: Route = PYTHON.split_at(1).1;

/// The stages of the driver probe.
pub(crate) const DRIVER: Route =
    &[Stage::Driver, Stage::Allocate, Stage::Product, Stage::Gradient, Stage::Synchronize];

/// Those that ask for a GPU.
const GPU_STAGES: [Stage; 2] = [Stage::Backend, Stage::Device];

/// The way through the stages so far.
#[derive(Debug)]
pub(super) struct Progress {
    route: Route,
    wants_gpu: bool,
    current: Stage,
    since: Instant,
    /// When the last stage ended, where that was before [`Self::finish`].
    ended: Option<Instant>,
    checks: Vec<Check>,
}

impl Progress {
    pub(super) fn start(route: Route, wants_gpu: bool) -> Self {
        Self { route, wants_gpu, current: route[0], since: Instant::now(), ended: None, checks: Vec::new() }
    }

    pub(super) const fn current(&self) -> Stage {
        self.current
    }

    /// Goes on to a stage. False where it is not the one that follows: a worker neither skips nor goes back.
    pub(super) fn enter(&mut self, next: Stage) -> bool {
        let mut following = self.route.iter().copied().skip_while(|stage| *stage != self.current).skip(1);
        let mut skipped = Vec::new();
        let expected = following.find(|stage| {
            let skip = !self.wants_gpu && GPU_STAGES.contains(stage);
            skipped.extend(skip.then_some(*stage));
            !skip
        });
        if expected != Some(next) {
            return false;
        }
        self.close(Outcome::Passed);
        let skipped = skipped.into_iter();
        self.checks.extend(skipped.map(|name| Check { name, outcome: Outcome::Skipped, elapsed_ms: 0 }));
        self.current = next;
        true
    }

    /// The last stage is over; what the worker's end takes is no part of it.
    pub(super) fn stop(&mut self) {
        self.ended = Some(Instant::now());
    }

    fn close(&mut self, outcome: Outcome) {
        let now = self.ended.unwrap_or_else(Instant::now);
        let elapsed = now.duration_since(self.since).as_millis();
        let elapsed_ms = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.checks.push(Check { name: self.current, outcome, elapsed_ms });
        self.since = now;
    }

    /// Every stage that was tried; `failed` are those that did not hold.
    pub(super) fn finish(mut self, failed: &[Stage]) -> Vec<Check> {
        self.close(Outcome::Passed);
        for check in self.checks.iter_mut().filter(|check| failed.contains(&check.name)) {
            check.outcome = Outcome::Failed;
        }
        self.checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(checks: &[Check], outcome: Outcome) -> Vec<Stage> {
        checks.iter().filter(|check| check.outcome == outcome).map(|check| check.name).collect()
    }

    #[test]
    fn a_gpu_check_goes_through_every_stage_in_order() {
        let mut progress = Progress::start(PYTHON, true);
        assert!(!progress.enter(Stage::Allocate), "skipping is refused");
        for stage in &PYTHON[1..] {
            assert!(progress.enter(*stage));
        }
        assert!(!progress.enter(Stage::Import), "going back is refused");
        let checks = progress.finish(&[Stage::Gradient]);
        assert_eq!(checks.iter().map(|check| check.name).collect::<Vec<_>>(), PYTHON);
        assert_eq!(names(&checks, Outcome::Failed), [Stage::Gradient]);
    }

    #[test]
    fn a_cpu_check_skips_what_asks_for_a_gpu() {
        let mut progress = Progress::start(PYTHON, false);
        assert!(progress.enter(Stage::Import));
        assert!(!progress.enter(Stage::Backend));
        assert!(progress.enter(Stage::Allocate));
        assert_eq!(names(&progress.finish(&[]), Outcome::Skipped), GPU_STAGES);
    }
}
