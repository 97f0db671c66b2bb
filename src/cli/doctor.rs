//! `gpusweep doctor`.

use std::path::Path;

use super::clean::endpoint;
use super::failure::Failure;
use super::options::{Color, DoctorOptions, DocumentFormat};
use super::sweep::{planned, read};
use super::{Outcome, terminal};
use crate::backend::docker::{self, Route};
use crate::doctor::{self, Examination, Examined, MachineFacts, is_this_machine};
use crate::exit::Exit;
use crate::model::{BackendKind, EngineFacts};
use crate::render::document;

/// A host to look at, as it was named.
type Wanted = (String, BackendKind);

/// Looks at each host, and says what it offers and what is missing.
pub(super) fn doctor(options: &DoctorOptions, color: Color) -> Outcome {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let wanted = wanted(options)?;
    let examine = |(name, backend): &Wanted| match backend {
        BackendKind::Docker(endpoint) => {
            let answer = runtime.block_on(docker::ask(endpoint)).map_err(|fault| fault.message);
            let here = match &answer {
                Ok(engine) => is_this_machine(engine),
                // An engine of this machine that is down is no reason not to look at it.
                Err(_) => matches!(docker::route(endpoint), Ok(Route::Unix(_))),
            };
            let machine = here.then(|| look(answer.as_ref().ok()));
            Examination::new(name, Some(answer), machine)
        }
        BackendKind::Host => Examination::new(name, None, Some(look(None))),
    };
    let hosts: Vec<Examination> = wanted.iter().map(examine).collect();
    let exit = exit(&hosts);
    let mut out = std::io::stdout().lock();
    match options.format {
        DocumentFormat::Table => doctor::write(&hosts, terminal::style(color).width, &mut out)?,
        DocumentFormat::Json => {
            let examined = Examined { schema: doctor::SCHEMA.to_owned(), hosts };
            document(&examined, &mut out)?;
        }
    }
    Ok(exit)
}

fn look(engine: Option<&EngineFacts>) -> MachineFacts {
    MachineFacts::look(Path::new("/"), engine)
}

fn wanted(options: &DoctorOptions) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    if let Some(matrix) = &options.matrix {
        let plan = planned(&read(matrix)?, &matrix.display().to_string(), &[], &[])?;
        wanted.extend(plan.hosts.into_iter().map(|host| (host.name, host.backend)));
    }
    for host in &options.hosts {
        wanted.push((host.clone(), BackendKind::Docker(endpoint(host)?)));
    }
    if wanted.is_empty() {
        wanted.push(("local".to_owned(), BackendKind::Docker(endpoint("local")?)));
    }
    Ok(wanted)
}

fn exit(hosts: &[Examination]) -> Exit {
    let silent = hosts.iter().filter(|host| host.unreachable.is_some()).count();
    match silent {
        0 => Exit::Green,
        silent if silent == hosts.len() => Exit::NoEngine,
        _ => Exit::NotGreen,
    }
}
