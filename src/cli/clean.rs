//! `gpusweep clean`.

use std::io::Write as _;

use super::Outcome;
use super::failure::Failure;
use super::options::CleanOptions;
use super::terminal::say;
use crate::backend::docker::{self, Cleaned};
use crate::exit::Exit;
use crate::model::{Endpoint, NoEndpoint};

/// Removes what crashed sweeps left on the named engines.
pub(super) fn clean(options: &CleanOptions) -> Outcome {
    let endpoints: Vec<Endpoint> =
        options.hosts.iter().map(|host| endpoint(host)).collect::<Result<_, _>>()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let (mut reached, mut failed) = (false, false);
    for (host, endpoint) in options.hosts.iter().zip(&endpoints) {
        match runtime.block_on(docker::clean(endpoint, options.force)) {
            Ok(cleaned) => {
                reached = true;
                failed |= !cleaned.failed.is_empty();
                tell(host, &cleaned)?;
            }
            Err(fault) => {
                failed = true;
                say(&format!("error: {host}: {}", fault.message));
            }
        }
    }
    Ok(match (reached, failed) {
        (false, _) => Exit::NoEngine,
        (true, true) => Exit::NotGreen,
        (true, false) => Exit::Green,
    })
}

/// The endpoint that `--host` names.
pub(super) fn endpoint(host: &str) -> Result<Endpoint, Failure> {
    host.parse().map_err(|error: NoEndpoint| Failure::usage(error.message).hint(error.hint))
}

fn tell(host: &str, cleaned: &Cleaned) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for name in &cleaned.removed {
        writeln!(out, "removed {name}")?;
    }
    for name in &cleaned.in_use {
        say(&format!(
            "left {name}: its sweep is still at work, as far as can be seen from here; --force removes it all the same"
        ));
    }
    for problem in &cleaned.failed {
        say(&format!("error: {problem}"));
    }
    say(&format!(
        "{host}: {} removed, {} in use, {} failed",
        cleaned.removed.len(),
        cleaned.in_use.len(),
        cleaned.failed.len()
    ));
    Ok(())
}
