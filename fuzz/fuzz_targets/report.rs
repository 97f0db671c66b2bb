//! The reader of reports: whatever it takes is written and read back as the same.
#![no_main]

use gpusweep_report::Report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(report) = Report::parse(text) {
        let written = serde_json::to_string(&report).expect("a report is JSON");
        assert_eq!(Report::parse(&written).expect("its own words"), report);
    }
});

