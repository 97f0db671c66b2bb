//! What a person reads of an examination.
//!
//! Main function: [`write()`]. Everything from an engine or a file is spelled out where it would steer a terminal.

use std::io::{self, Write};

use super::{CdiSpec, Examination, MachineFacts, NodeFacts, Weight};
use crate::model::EngineFacts;
use crate::summary::{visible, wrapped};

/// Columns where there is no terminal.
const WIDE: u16 = 100;

/// Width of the names of facts.
const NAMES: usize = 14;

/// Writes one section per host.
///
/// # Errors
/// Where `out` cannot be written to.
pub fn write(hosts: &[Examination], width: Option<u16>, out: &mut dyn Write) -> io::Result<()> {
    let width = usize::from(width.unwrap_or(WIDE).clamp(40, 200));
    for (index, host) in hosts.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let mut page = Page { out, width };
        page.title(host)?;
        if let Some(engine) = &host.engine {
            page.engine(engine)?;
        }
        match (&host.machine, &host.engine) {
            (Some(machine), _) => page.machine(machine)?,
            (None, Some(_)) => {
                page.fact("GPU nodes", "not visible from here: its engine is on another machine")?;
            }
            (None, None) => {}
        }
        page.findings(host)?;
    }
    Ok(())
}

struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
}

impl Page<'_> {
    fn title(&mut self, host: &Examination) -> io::Result<()> {
        let said = match (&host.engine, &host.unreachable) {
            (Some(engine), _) => format!(
                "{} {}, API {}",
                engine.name,
                known(engine.version.as_deref()),
                known(engine.api_version.as_deref())
            ),
            (None, Some(_)) => "no answer".to_owned(),
            (None, None) => "this machine, without an engine".to_owned(),
        };
        writeln!(self.out, "{}: {}", visible(&host.host), visible(&said))
    }

    fn engine(&mut self, engine: &EngineFacts) -> io::Result<()> {
        let word = |text: &Option<String>| known(text.as_deref()).to_owned();
        let system =
            format!("{}, kernel {}, {}", word(&engine.system), word(&engine.kernel), word(&engine.arch));
        self.fact("system", &system)?;
        self.fact(
            "cgroups",
            &format!("version {}, {}", word(&engine.cgroup_version), word(&engine.cgroup_driver)),
        )?;
        self.fact("rootless", if engine.rootless { "yes" } else { "no" })?;
        self.fact("storage", &word(&engine.storage))?;
        self.fact("security", &list(&engine.security))?;
        let runtimes: Vec<String> = engine
            .runtimes
            .iter()
            .map(|runtime| {
                let default = engine.default_runtime.as_ref() == Some(&runtime.name);
                format!("{}{}", runtime.name, if default { " (default)" } else { "" })
            })
            .collect();
        self.fact("runtimes", &list(&runtimes))?;
        if engine.is_podman() {
            return self.fact("CDI", "Podman does not say; it looks in /etc/cdi and /var/run/cdi");
        }
        self.fact("CDI folders", &list(&engine.cdi_directories))?;
        self.fact("CDI devices", &list(&engine.cdi_devices))
    }

    fn machine(&mut self, machine: &MachineFacts) -> io::Result<()> {
        if let Some(version) = &machine.nvidia_driver {
            self.fact("NVIDIA driver", version)?;
        }
        if let Some(gpus) = &machine.kfd_gpus {
            self.fact("AMD GPUs", &list(gpus))?;
        }
        self.rows("GPU nodes", machine.nodes.iter().map(node))?;
        self.rows("CDI specs", machine.cdi_specs.iter().map(spec))
    }

    fn findings(&mut self, host: &Examination) -> io::Result<()> {
        for finding in &host.findings {
            let weight = match finding.weight {
                Weight::Fault => "FAULT",
                Weight::Note => "note",
            };
            self.wrapped(&format!("  {weight:<6} "), &format!("{} [{}]", finding.seen, finding.id))?;
            self.wrapped("  next:  ", &finding.next_action)?;
        }
        Ok(())
    }

    fn fact(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.wrapped(&format!("  {name:<NAMES$} "), text)
    }

    /// One line each, the first beside the name.
    fn rows(&mut self, name: &str, rows: impl Iterator<Item = String>) -> io::Result<()> {
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            return self.fact(name, "none");
        }
        rows.iter()
            .enumerate()
            .try_for_each(|(index, row)| self.fact(if index == 0 { name } else { "" }, row))
    }

    fn wrapped(&mut self, first: &str, text: &str) -> io::Result<()> {
        let lines = wrapped(text, self.width, first, &" ".repeat(first.len()));
        lines.iter().try_for_each(|line| writeln!(self.out, "{}", line.trim_end()))
    }
}

fn known(text: Option<&str>) -> &str {
    text.filter(|text| !text.is_empty()).unwrap_or("unknown")
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn node(node: &NodeFacts) -> String {
    let number = node.number.as_deref().unwrap_or("no device");
    format!("{} mode {} uid {} gid {} ({number})", node.node, node.mode, node.uid, node.gid)
}

fn spec(spec: &CdiSpec) -> String {
    match (&spec.problem, spec.stale.is_empty()) {
        (Some(_), _) => format!("{} (unreadable)", spec.file),
        (None, true) => format!("{}: {}", spec.file, list(&spec.devices)),
        (None, false) => format!("{} (stale): {}", spec.file, list(&spec.devices)),
    }
}
