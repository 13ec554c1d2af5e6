//! The helper as a program of its own, for tests of crates that have no other binary to pass.

fn main() {
    std::process::exit(perspt_sandbox::helper_main());
}
