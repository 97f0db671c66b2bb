//! What the standard library wants of glibc and the oldest supported one does not export.
//!
//! Only in the build that is carried into containers, which is linked so that it starts with glibc 2.17.

use std::ffi::{c_char, c_int, c_long, c_void};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// `newfstatat` of the kernel, whose structure is that of glibc's `stat64` on 64-bit machines.
#[cfg(target_arch = "x86_64")]
const NEWFSTATAT: c_long = 262;
#[cfg(target_arch = "aarch64")]
const NEWFSTATAT: c_long = 79;

const AT_FDCWD: c_int = -100;
const AT_EMPTY_PATH: c_int = 0x1000;

/// Exported only since glibc 2.33.
///
/// # Safety
/// As `stat(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn stat64(path: *const c_char, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's path and buffer are what the kernel wants.
    unsafe { syscall(NEWFSTATAT, AT_FDCWD, path, buffer, 0) as c_int }
}

/// Exported only since glibc 2.33.
///
/// # Safety
/// As `fstat(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn fstat64(fd: c_int, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's buffer is what the kernel wants.
    unsafe { syscall(NEWFSTATAT, fd, c"".as_ptr(), buffer, AT_EMPTY_PATH) as c_int }
}

/// The unwinder's entry points, which are never reached with a purpose: a panic aborts, and its backtrace has no use.
macro_rules! no_unwinder {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[expect(non_snake_case, reason = "the name is libgcc's")]
            extern "C" fn $name() -> c_int {
                const END_OF_STACK: c_int = 5;
                END_OF_STACK
            }
        )*
    };
}

no_unwinder!(_Unwind_Backtrace _Unwind_DeleteException _Unwind_GetDataRelBase _Unwind_GetIP _Unwind_GetIPInfo
    _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase _Unwind_RaiseException
    _Unwind_Resume _Unwind_SetGR _Unwind_SetIP);
