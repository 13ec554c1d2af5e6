//! What surrounds the product: everything CI does, the acceptance table, the requirements map, long runs of
//! the heavy suites, and benchmarks that decide nothing. Start reading at `ci`.

// This program starts cargo, git and python for a developer and prints to them; the rule that only the
// sandbox starts processes is about the product.
#![allow(clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

mod accept;
mod bench;
mod ci;
mod deny;
mod heavy;
mod kept;
mod packages;
mod place;
mod play;
mod process;
mod requirements;
mod table;
mod testrun;
mod tools;

use std::process::ExitCode;

use process::Failed;

const USAGE: &str = "\
cargo xtask <command>

  ci                                      everything CI does; installs what it needs
  test                                    all tests once, output kept for the two below
  accept [FILE]                           the acceptance table against the kept test output
  requirements [FILE]                     docs/requirements.md against its ids and the kept test output
  heavy <suite> [--seed N] [--minutes M]  a long run of `crash`, `fold` or `disk`
  play [SCENE] [--json]                   the real program against a scripted model; leaves the project
  bench [--clone]                         times and ratios; decides nothing";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("xtask: FAILED: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<(), Failed> {
    match words {
        ["ci"] => ci::run_all(),
        ["test"] => testrun::by_hand(),
        ["accept", rest @ ..] => accept::by_hand(rest),
        ["requirements", rest @ ..] => requirements::by_hand(rest),
        ["heavy", rest @ ..] => heavy::by_hand(rest),
        ["play", rest @ ..] => play::by_hand(rest),
        ["bench", rest @ ..] => bench::run(rest),
        [] | ["help" | "--help" | "-h", ..] => {
            println!("{USAGE}");
            Ok(())
        }
        [other, ..] => Err(Failed(format!("there is no command `{other}`\n\n{USAGE}"))),
    }
}
