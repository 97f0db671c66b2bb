//! The `gpusweep` program.
fn main() {}
