//! Layouts, and places on which several cells fall.

use gpusweep_report::Code as CheckCode;

use super::*;
use crate::ledger::Verdict;
use crate::model::{Cell, Device, Stack};
use crate::summary::Summary;
use crate::testing::{Story, mixed, parts, plan, reported, variant};

/// Two images, two hosts and two devices under one exposure; one cell alone fails.
fn fleet() -> Summary {
    let mut cells = Vec::new();
    for image in ["a", "b"] {
        for host in ["h1", "h2"] {
            for device in [Device::Gpu(0), Device::Cpu] {
                let mut parts = parts(image, "nvidia-all", &[CheckCode::GpuCheckPassed.into()]);
                parts.host = host.into();
                parts.device = device;
                cells.push(Cell::new(parts));
            }
        }
    }
    let ids: Vec<_> = cells.iter().map(|cell| cell.id().clone()).collect();
    let mut story = Story::of(plan(cells));
    story.begin();
    for (index, id) in ids.iter().enumerate() {
        let code = if index == 5 { CheckCode::GpuUnavailable } else { CheckCode::GpuCheckPassed };
        story.attempt(id, reported(code));
    }
    story.end(false).summary()
}

fn labels(headers: &[Header]) -> Vec<String> {
    headers.iter().map(|header| header.labels.join(" ")).collect()
}

#[test]
fn the_usual_layout_has_image_and_variant_down_and_visibility_across() {
    let summary = mixed().summary();
    let table = Table::build(&summary, &Layout::of(&summary));
    assert_eq!(labels(&table.rows), ["torch-cuda cu128", "torch-cpu cu128", "python cu128"]);
    assert_eq!(labels(&table.columns), ["none", "nvidia-all", "privileged"]);
    assert_eq!(
        table.columns.iter().map(|column| column.privileged).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(table.cell(0, 1).unwrap().text, "LAUNCH_REFUSED 23");
    assert_eq!(table.cell(2, 2).unwrap().text, "-");
}

#[test]
fn host_and_device_come_in_where_there_is_more_than_one() {
    let summary = fleet();
    let layout = Layout::of(&summary);
    assert_eq!(layout.rows, [Axis::Image, Axis::Host]);
    assert_eq!(layout.columns, [Axis::Visibility, Axis::Device]);
    let table = Table::build(&summary, &layout);
    assert_eq!(labels(&table.rows), ["a h1", "a h2", "b h1", "b h2"]);
    assert_eq!(labels(&table.columns), ["nvidia-all 0", "nvidia-all cpu"]);
}

#[test]
fn the_worst_cell_stands_for_a_place_and_says_of_how_many() {
    let summary = fleet();
    let layout = Layout::choose(&summary, Some(Axis::Image), Some(Axis::Visibility), None);
    let table = Table::build(&summary, &layout);
    let alike = table.cell(0, 0).unwrap();
    assert_eq!((alike.cells, alike.failing, alike.verdict), (4, 0, Verdict::Expected));
    let worst = table.cell(1, 0).unwrap();
    assert_eq!((worst.cells, worst.failing, worst.verdict, worst.shown), (4, 1, Verdict::Unexpected, 5));
    assert_eq!(worst.text, "GPU_UNAVAILABLE 6");
}

#[test]
fn a_combination_that_the_plan_does_not_have_is_empty() {
    let cell = |image: &str, visibility: &str| {
        Cell::new(parts(image, visibility, &[CheckCode::TorchMissing.into()]))
    };
    let summary = Story::of(plan([cell("a", "none"), cell("b", "nvidia-all")])).summary();
    let table = Table::build(&summary, &Layout::of(&summary));
    assert_eq!(table.cells.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
}

#[test]
fn any_axis_may_stand_on_either_side_without_standing_on_both() {
    let summary = mixed().summary();
    for rows in Axis::ALL {
        let layout = Layout::choose(&summary, Some(rows), None, None);
        assert_eq!(layout.rows, [rows]);
        assert!(!layout.columns.contains(&rows) && !layout.columns.is_empty());
        let layout = Layout::choose(&summary, None, Some(rows), None);
        assert!(!layout.rows.contains(&rows) && !layout.rows.is_empty());
    }
}

#[test]
fn every_value_has_its_text() {
    let summary = mixed().summary();
    let shown = |value| {
        let layout = Layout::choose(&summary, None, None, Some(value));
        Table::build(&summary, &layout).cell(1, 0).unwrap().text.clone()
    };
    let texts: Vec<String> = Value::ALL.into_iter().map(shown).collect();
    assert_eq!(texts, ["GPU_BACKEND_ABSENT 5", "5", "import", "GPU_BACKEND_ABSENT", "1.2s"]);
}

#[test]
fn stack_and_family_are_axes_too() {
    let mut parts = parts("a", "none", &[CheckCode::TorchMissing.into()]);
    parts.variant = variant("rocm644", Stack::Rocm);
    let summary = Story::of(plan([Cell::new(parts)])).summary();
    let layout = Layout::choose(&summary, Some(Axis::Family), Some(Axis::Stack), None);
    let table = Table::build(&summary, &layout);
    assert_eq!((labels(&table.rows), labels(&table.columns)), (vec!["a".into()], vec!["rocm".into()]));
}

#[test]
fn names_parse_back_and_others_list_what_there_is() {
    for axis in Axis::ALL {
        assert_eq!(axis.as_str().parse(), Ok(axis));
    }
    for value in Value::ALL {
        assert_eq!(value.as_str().parse(), Ok(value));
    }
    let error = "colour".parse::<Value>().unwrap_err();
    assert_eq!(error.to_string(), "`colour` is not one of code, exit, stage, cause, time");
}

#[test]
fn times_are_told_in_the_unit_that_suits_them() {
    let told: Vec<String> =
        [0, 1234, 59_999, 60_000, 3_599_000, 7_260_000].into_iter().map(duration).collect();
    assert_eq!(told, ["0.0s", "1.2s", "59.9s", "1m00s", "59m59s", "2h01m"]);
}
