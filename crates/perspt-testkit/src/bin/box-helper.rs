//! The sandbox's helper as a small program of its own: it starts for every command of every session in a test.

fn main() {
    std::process::exit(perspt_sandbox::helper_main());
}
