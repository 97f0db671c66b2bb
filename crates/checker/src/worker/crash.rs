//! Finding the reason of a death in what the worker printed.
//!
//! Main function: [`first_error`]. Only lines of known kinds are taken: anything else that an image prints is its own.

/// Texts of CUDA's, ROCm's and torch's own libraries.
const BACKEND: [&str; 17] = [
    "CUDA error",
    "CUDA driver",
    "cudaError",
    "HIP error",
    "hipError",
    "CUBLAS_STATUS",
    "CUDNN_STATUS",
    "MIOPEN_STATUS",
    "HSA_STATUS_ERROR",
    "rocBLAS error",
    "rocblas_status",
    "Memory access fault by GPU",
    "NCCL error",
    "c10::",
    "at::native",
    "torch::",
    "Unable to find code object",
];

/// Texts of runtimes below them, which say something of the death but not that a backend is at fault.
const OTHER: [&str; 9] = [
    "terminate called",
    "what():",
    "Fatal Python error",
    "error while loading shared libraries",
    "GLIBC_",
    "MKL FATAL ERROR",
    "MKL ERROR",
    "OMP: Error",
    "std::bad_alloc",
];

/// A recognised line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) line: String,
    pub(super) is_backend: bool,
}

/// The first line that names a backend's error, or else the first of another known kind.
pub(super) fn first_error(stderr: &str) -> Option<Recognised> {
    let find = |texts: &[&str]| {
        let line = stderr.lines().position(|line| texts.iter().any(|text| line.contains(text)))?;
        Some(with_what(stderr, line))
    };
    find(&BACKEND)
        .map(|line| Recognised { line, is_backend: true })
        .or_else(|| find(&OTHER).map(|line| Recognised { line, is_backend: false }))
}

/// C++ splits its last words: the class in one line, what it says in the next.
fn with_what(stderr: &str, number: usize) -> String {
    let mut lines = stderr.lines().skip(number);
    let line = lines.next().unwrap_or_default().trim();
    let what = lines.next().map(str::trim).filter(|next| next.starts_with("what():"));
    match what {
        Some(what) if line.starts_with("terminate called") => format!("{line}: {what}"),
        Some(_) | None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_error_wins_over_other_last_words() {
        let text = "noise\nterminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: x\nmore";
        let found = first_error(text).unwrap();
        assert!(found.is_backend);
        assert_eq!(
            found.line,
            "terminate called after throwing an instance of 'c10::Error': what():  CUDA error: x"
        );
        let text = "Fatal Python error: Aborted\nhipErrorNoBinaryForGpu: Unable to find code object";
        assert_eq!(first_error(text).unwrap().line, "hipErrorNoBinaryForGpu: Unable to find code object");
    }

    #[test]
    fn other_deaths_are_no_backend_errors() {
        let text = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  disk";
        assert!(!first_error(text).unwrap().is_backend);
        assert_eq!(first_error("my application says hello\nat /home/me"), None);
    }
}
