//! The `gpusweep` program.

fn main() -> std::process::ExitCode {
    gpusweep::cli::main()
}
