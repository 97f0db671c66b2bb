//! `gpusweep plan`.

use std::io::Write as _;

use super::Outcome;
use super::failure::Failure;
use super::options::{Color, PlanFormat, PlanOptions};
use super::sweep::{commands, load};
use crate::exit::Exit;
use crate::model::Visibility;
use crate::plan::{Plan, PlannedCell};

/// Shows what would be done.
pub(super) fn plan(options: &PlanOptions, _color: Color) -> Outcome {
    let plan = load(&options.matrix)?.plan;
    let mut out = std::io::stdout().lock();
    match options.format {
        PlanFormat::Table => out.write_all(table(&plan).as_bytes())?,
        PlanFormat::Json => {
            let text = serde_json::to_string_pretty(&plan).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
        }
        PlanFormat::Docker => {
            let lines = commands(&plan, None);
            for cell in plan.runnable() {
                writeln!(out, "# {}\n{}", cell.id(), lines[cell.id()])?;
            }
        }
    }
    Ok(Exit::Green)
}

/// One row a cell, then what was pruned, then the count.
fn table(plan: &Plan) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["image", "variant", "visibility", "host", "device", "expects", "reference"]);
    for cell in plan.runnable() {
        let codes: Vec<&str> = cell.expect.codes.iter().map(|code| code.as_str()).collect();
        let facts = cell.expect.facts.iter().map(|fact| format!("{} = {}", fact.path, fact.value));
        let expects: Vec<String> = std::iter::once(codes.join(" or ")).chain(facts).collect();
        table.add_row([
            cell.image.name.clone(),
            cell.variant.name.clone(),
            marked(&cell.visibility),
            cell.host.clone(),
            cell.device.to_string(),
            expects.join("\n"),
            cell.image.reference.clone(),
        ]);
    }
    let pruned: Vec<String> = plan.cells.iter().filter_map(pruned_line).collect();
    let count = plan.cells.len();
    format!(
        "{table}\n{}\n{count} cell{}: {} to run, {} pruned\n",
        pruned.join(""),
        if count == 1 { "" } else { "s" },
        count - pruned.len(),
        pruned.len()
    )
}

fn marked(visibility: &Visibility) -> String {
    if visibility.privileged() {
        format!("{} (privileged)", visibility.name)
    } else {
        visibility.name.clone()
    }
}

fn pruned_line(planned: &PlannedCell) -> Option<String> {
    let cell = &planned.cell;
    let coordinates =
        [&cell.image.name, &cell.variant.name, &cell.visibility.name, &cell.host].map(String::as_str);
    let reason = planned.pruned.as_ref()?;
    Some(format!("pruned: {} {}: {reason}\n", coordinates.join(" "), cell.device))
}
