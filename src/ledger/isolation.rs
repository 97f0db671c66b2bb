//! Whether a cell saw exactly what of a GPU it was given, whatever its code says.
//!
//! Main function: [`breach`]. Pure. It reads the grants and the checker's report; which step of an engine let a GPU in
//! is not its business.

use gpusweep_report::{Code as CheckCode, Exposure, Report};

use super::nodes;
use super::verdict::report;
use crate::matrix::BASELINE_VISIBILITY;
use crate::model::{Asks, Cell, Device, Grant, Observation, Visibility, is_plain_runtime};

/// A way in which a cell's isolation does not hold. The texts are sentences without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// It saw more than it was given.
    Leak(String),
    /// It was given one GPU, and that one is not there.
    Absent(String),
    /// The checker could not look.
    Unproven(String),
}

/// What a visibility promises of a container.
enum Promise<'a> {
    /// No GPU.
    Nothing,
    /// At most so many GPUs, whichever they are.
    AtMost(u32),
    /// These device nodes, or what lies in these folders, and no other.
    Only(Vec<&'a str>),
}

/// How the isolation of a cell does not hold; none where it does, where nothing was promised, or where no checker
/// looked: a cell for the CPU does not ask for the state of a GPU.
#[must_use]
pub fn breach(cell: &Cell, observation: &Observation) -> Option<Breach> {
    if cell.device == Device::Cpu || cell.visibility.name == BASELINE_VISIBILITY {
        return None;
    }
    let report = report(observation)?;
    let promise = promise(&cell.visibility)?;
    let Some(exposure) = &report.exposure else {
        return Some(Breach::Unproven("the checker could not see what of a GPU reached it".to_owned()));
    };
    if let Some(strangers @ 1..) = observation.applied().and_then(|applied| applied.strangers) {
        let what = format!("GPUs were asked for by UUID, and {} there has another one", gpus(strangers));
        return Some(Breach::Leak(what));
    }
    match promise {
        Promise::Nothing => nothing(exposure, report),
        Promise::AtMost(given) => at_most(given, exposure, report),
        Promise::Only(given) => only(&given, exposure, report),
    }
}

/// None where a grant may let in anything, or where the image decides.
fn promise(visibility: &Visibility) -> Option<Promise<'_>> {
    let grants = &visibility.grants;
    if grants.iter().any(opens_everything) {
        return None;
    }
    let gpu_node = |grant: &'_ Grant| matches!(grant, Grant::DeviceNode { path, .. } if nodes::is_gpu(path));
    let asked: Vec<Option<u32>> = grants.iter().filter_map(asked).collect();
    let runtime = grants.iter().any(|grant| matches!(grant, Grant::Runtime(_)) && grant.vendor().is_some());
    match (asked.is_empty() && !runtime, grants.iter().any(gpu_node)) {
        (true, false) => Some(Promise::Nothing),
        (true, true) => Some(Promise::Only(grants.iter().filter_map(node).collect())),
        (false, true) => None,
        // A runtime without a variable gives what the image asks for.
        (false, false) => asked.into_iter().sum::<Option<u32>>().filter(|n| *n > 0).map(Promise::AtMost),
    }
}

/// Privileges, and runtimes of which nothing is known.
fn opens_everything(grant: &Grant) -> bool {
    if let Grant::Runtime(name) = grant {
        return grant.vendor().is_none() && !is_plain_runtime(name);
    }
    *grant == Grant::Privileged
}

/// How many GPUs a grant asks for: `Some(None)` is all, or as many as only the host knows.
fn asked(grant: &Grant) -> Option<Option<u32>> {
    Some(match grant.asks()? {
        Asks::All => None,
        Asks::Count(count) => Some(count),
        Asks::Named(ids) => counted(&ids),
    })
}

/// AMD's variable takes ranges too, and a name of a CDI device may stand for several: those are not counted.
fn counted(ids: &[&str]) -> Option<u32> {
    let is_one = |id: &str| {
        let uuid = id.starts_with("GPU-") || id.starts_with("MIG-");
        let index = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        uuid || index
    };
    ids.iter().all(|id| is_one(id.trim())).then(|| u32::try_from(ids.len()).ok()).flatten()
}

fn node(grant: &Grant) -> Option<&str> {
    if let Grant::DeviceNode { path, .. } = grant { Some(path) } else { None }
}

fn nothing(exposure: &Exposure, report: &Report) -> Option<Breach> {
    let opened: Vec<&str> = nodes::opened(exposure).collect();
    let mut seen: Vec<String> = Vec::new();
    if !opened.is_empty() {
        seen.push(format!("the checker opened {}", opened.join(", ")));
    }
    seen.extend(found(exposure, report).map(|(count, by)| format!("{by} found {}", gpus(count))));
    (!seen.is_empty()).then(|| Breach::Leak(format!("no GPU was given, and {}", seen.join("; "))))
}

fn at_most(given: u32, exposure: &Exposure, report: &Report) -> Option<Breach> {
    let single = nodes::opened(exposure).filter(|node| nodes::is_one_gpu(node));
    let opened = u32::try_from(single.count()).unwrap_or(u32::MAX);
    let by_probe = found(exposure, report);
    let most = by_probe.map_or(opened, |(count, _)| count.max(opened));
    let seen = match by_probe {
        Some((count, by)) if count > opened => format!("{by} found {}", gpus(count)),
        Some(_) | None => format!("the checker opened the nodes of {}", gpus(opened)),
    };
    if most > given {
        return Some(Breach::Leak(format!("{} given, and {seen}", gpus_were(given))));
    }
    (given == 1 && most == 0).then(|| Breach::Absent("one GPU was given, and none is there".to_owned()))
}

fn only(given: &[&str], exposure: &Exposure, report: &Report) -> Option<Breach> {
    let within = |node: &str| {
        given.iter().any(|path| {
            let rest = node.strip_prefix(path.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let stray: Vec<&str> = nodes::opened(exposure).filter(|node| !within(node)).collect();
    if !stray.is_empty() {
        let stray = stray.join(", ");
        return Some(Breach::Leak(format!("{} given, and the checker opened {stray}", given.join(", "))));
    }
    let single = given.iter().filter(|path| nodes::is_one_gpu(path)).count();
    let single = u32::try_from(single).unwrap_or(u32::MAX);
    let folder = given.iter().any(|path| path.trim_end_matches('/') == "/dev/dri");
    match found(exposure, report) {
        Some((count, by)) if count > single && single > 0 && !folder => {
            Some(Breach::Leak(format!("{} given, and {by} found {}", given.join(", "), gpus(count))))
        }
        Some(_) | None => {
            let absent = single == 1 && !folder && !nodes::opened(exposure).any(nodes::is_one_gpu);
            absent.then(|| Breach::Absent("the node of one GPU was given, and it does not open".to_owned()))
        }
    }
}

/// The most GPUs that any way of looking found, and which way; none where none found one.
fn found(exposure: &Exposure, report: &Report) -> Option<(u32, &'static str)> {
    let torch = report.pytorch.as_ref();
    let counts = [
        (torch.and_then(|torch| torch.visible_device_count), "torch"),
        (torch.and_then(|torch| torch.gpu_available).map(u32::from), "torch"),
        (report.driver.as_ref().and_then(|driver| driver.device_count), "the driver"),
        (exposure.devices_without_variables, "the same probe without visibility variables"),
        (Some(u32::from(report.code == CheckCode::GpuCheckPassed)), "the computation"),
    ];
    let found = counts.into_iter().filter_map(|(count, by)| Some((count?, by)));
    // The first of equals, so that the most telling one is named.
    found.filter(|(count, _)| *count > 0).reduce(|best, next| if next.0 > best.0 { next } else { best })
}

fn gpus(count: u32) -> String {
    if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

fn gpus_were(count: u32) -> String {
    format!("{} {}", gpus(count), if count == 1 { "was" } else { "were" })
}
