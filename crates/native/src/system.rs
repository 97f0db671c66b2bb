//! Facts of the process that both probes tell.
//!
//! Main functions: [`libc_version`] and [`loaded_file`].

use std::ffi::{CStr, c_char, c_void};

use crate::loader::symbol_anywhere;

/// `glibc 2.36`; nothing with another C library.
pub(crate) fn libc_version() -> Option<String> {
    let found = symbol_anywhere("gnu_get_libc_version")?;
    // SAFETY: glibc declares it so, and the text is static.
    let text = unsafe {
        let version = std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(found);
        CStr::from_ptr(version())
    };
    Some(format!("glibc {}", text.to_string_lossy()))
}

/// Name of the file that was loaded for a library, behind its links: it carries the driver's version.
pub(crate) fn loaded_file(prefix: &str) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let name = line.rsplit('/').next().filter(|_| line.contains('/'))?;
        name.starts_with(prefix).then(|| name.to_owned())
    })
}
