//! The checker's entry.
fn main() {}
