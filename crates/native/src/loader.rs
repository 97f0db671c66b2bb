//! Loading libraries and looking up their entry points.
//!
//! Main type: [`Library`]; [`symbol_anywhere`] looks through all that are loaded.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// RTLD_NOW | RTLD_GLOBAL, as in glibc's `dlfcn.h`.
const NOW_AND_GLOBAL: c_int = 0x102;

/// A library that stays loaded until the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library(*mut c_void);

impl Library {
    /// Loads a library by its path, or by its name through the loader's rules; the error is the loader's text.
    pub(crate) fn open(name: &str) -> Result<Self, String> {
        let text = CString::new(name).map_err(|_| "the library's name has a zero byte".to_owned())?;
        // SAFETY: the name ends in a zero byte; what the library's initializers do is the image's business.
        let handle = unsafe { dlopen(text.as_ptr(), NOW_AND_GLOBAL) };
        if handle.is_null() { Err(last_error()) } else { Ok(Self(handle)) }
    }

    /// The address of an entry point, looked up in this library and those that it needs.
    pub(crate) fn symbol(self, name: &str) -> Option<*mut c_void> {
        let text = CString::new(name).ok()?;
        // SAFETY: the handle is of a loaded library or the one that means all of them, and the name ends in a zero byte.
        let found = unsafe { dlsym(self.0, text.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

/// The address of an entry point of the first loaded library that has it.
pub(crate) fn symbol_anywhere(name: &str) -> Option<*mut c_void> {
    // RTLD_DEFAULT of glibc.
    Library(std::ptr::null_mut()).symbol(name)
}

fn last_error() -> String {
    // SAFETY: dlerror gives null or a text that stays until the next call of this thread; there is only one thread.
    let text = unsafe {
        let text = dlerror();
        if text.is_null() {
            return "the loader gives no reason".to_owned();
        }
        CStr::from_ptr(text)
    };
    text.to_string_lossy().into_owned()
}

/// An entry point of a library with the type that is wanted, or the error that it is missing.
macro_rules! function {
    ($library:expr, $name:literal) => {{
        let found = $library.symbol($name).ok_or_else(|| format!("it has no {}", $name))?;
        // SAFETY: the vendor's header declares it with the type of the field that it is put into.
        #[expect(clippy::missing_transmute_annotations, reason = "the field has the type")]
        unsafe {
            std::mem::transmute::<*mut std::ffi::c_void, _>(found)
        }
    }};
}
/// The same, where a library may do without.
macro_rules! optional {
    ($library:expr, $name:literal) => {
        $library.symbol($name).map(|found| {
            // SAFETY: as above.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, _>(found) }
        })
    };
}
pub(crate) use {function, optional};
