//! The command line: one file per command, the layers of configuration, and the ways of showing a
//! session. The only crate that reads flags, environment and home; it wires everything together.
//!
//! Start reading at `commands`, then `wire` (how a session is put together) and `view` (how it is shown).

mod args;
mod check_session;
mod commands;
mod config;
mod console;
mod demo;
mod fail;
mod interrupts;
mod machine;
mod models;
mod out;
mod own;
mod pick;
mod session_id;
mod view;
mod wire;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Runs the program.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    // The sandbox's helper is this same program; it must not read anything of ours first.
    if words.nth(1).is_some_and(|word| word == wire::BOX) {
        return ExitCode::from(u8::try_from(perspt_sandbox::helper_main()).unwrap_or(1));
    }
    interrupts::outlive_file_limit();
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let usage = error.use_stderr();
            // A closed terminal is no reason to fail differently.
            if let Err(error) = error.print() {
                out::not_written(&error);
            }
            return ExitCode::from(if usage { 2 } else { 0 });
        }
    };
    match commands::run(args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            out::error(&failure);
            ExitCode::from(failure.code)
        }
    }
}
