//! Where the static program does without a part of glibc.
//!
//! It must not know anything of the check.

/// `ENOSYS` of every architecture that there is a build for.
const NOT_SUPPORTED: i32 = 38;

/// In the place of glibc's own, which reads a thread's stack from /proc with `sscanf`, and so brings that, and the reading
/// of every kind of float, into the program: a sixteenth of it. Rust asks for the stack only to say "stack overflow"
/// before it ends; without an answer the signal alone tells it.
#[expect(unsafe_code, reason = "a symbol with this very name is what keeps glibc's own out")]
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_thread: usize, _attributes: usize) -> i32 {
    NOT_SUPPORTED
}
