//! The readers of the loader's cache and of /proc.
#![no_main]

use gpusweep_checker::fuzzing::{cached, nvidia_version, place};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let cache = [b"glibc-ld.so.cache1.1".as_slice(), bytes].concat();
    assert!(cached(&cache).iter().all(|path| path.starts_with('/')));
    place(bytes);
    if let Some(version) = nvidia_version(&String::from_utf8_lossy(bytes)) {
        assert!(version.len() <= 32);
    }
});
