//! One file per command.

mod abort;
mod agent;
mod answer;
mod config;
mod demo;
mod doctor;
mod ledger;
mod node;
mod resume;
mod simple_chat;
mod status;
mod verify;

use perspt_agent::ports::View;
use perspt_core::outcome::Outcome;
use perspt_core::state::SessionState;

use crate::args::{Args, Command};
use crate::fail::Failure;
use crate::view::{Json, Lines};

/// Runs a command; gives the exit code.
pub fn run(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::Agent(args) => agent::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Approve(args) => answer::approve(&args),
        Command::Deny(args) => answer::deny(&args),
        Command::Abort(args) => abort::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::SimpleChat(args) => simple_chat::run(&args),
        Command::Demo(args) => demo::run(&args),
    }
}

/// How a session is printed: lines for people, or JSON.
enum Output {
    Lines(Box<Lines>),
    Json(Json),
}

impl Output {
    fn new(json: bool) -> Output {
        if json { Output::Json(Json::default()) } else { Output::Lines(Box::default()) }
    }

    fn view(&mut self) -> &mut dyn View {
        match self {
            Output::Lines(lines) => lines.as_mut(),
            Output::Json(json) => json,
        }
    }
}

/// The exit code a finished session has.
fn exit_code(state: &SessionState) -> u8 {
    state.end.as_ref().map_or(Outcome::InternalError, |end| end.outcome).exit_code()
}
