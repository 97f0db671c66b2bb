//! The reader of frames: without the secret nothing is taken.
#![no_main]

use gpusweep_report::frame::{KEY_BYTES, Key};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|printed: &[u8]| {
    let key = Key::from_random(&[7; KEY_BYTES]);
    assert!(key.unwrap(printed).is_err());
    let _ = std::str::from_utf8(printed).map(Key::from_variable);
});
