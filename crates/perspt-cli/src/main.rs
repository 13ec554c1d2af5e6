//! The binary `perspt`. Everything is in the library beside it.

fn main() -> std::process::ExitCode {
    perspt_cli::main()
}
