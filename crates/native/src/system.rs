//! Facts of the process that both probes tell.
//!
//! Main function: [`libc_version`].

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
