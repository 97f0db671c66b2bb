//! The reader of a worker's messages: the same bytes in one piece or in many are the same messages.
#![no_main]

use gpusweep_checker::fuzzing::messages;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    assert_eq!(messages(bytes, bytes.len().max(1)), messages(bytes, 1));
});
