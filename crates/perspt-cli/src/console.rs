//! The person at the terminal: one question over plan and policy, and progress while a model writes.

use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};

use perspt_agent::ports::{BoxFuture, Console};
use perspt_core::event::Decision;
use perspt_core::state::SessionState;

use crate::out;

/// The terminal.
#[derive(Default)]
pub struct Person {
    streamed: AtomicUsize,
}

/// How much must have come before progress is drawn again.
const STEP: usize = 2048;

/// Drops what was typed before the question: nobody can have meant it as an answer. Where it cannot be dropped there
/// is no terminal any more, and then nothing is read as an answer either.
fn forget_what_was_typed() {
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

impl Console for Person {
    fn approve_plan<'a>(&'a self, state: &'a SessionState) -> BoxFuture<'a, Decision> {
        let tools: Vec<String> = state
            .probed
            .iter()
            .flatten()
            .flat_map(|root| root.stages.iter().map(|stage| stage.tool.clone()))
            .collect();
        Box::pin(async move {
            out::note("");
            out::note("Policy of this session:");
            out::note(&format!("  runs       {} (and what they start), confined", tools.join(", ")));
            out::note("  network    only to fetch dependencies, before any of their code runs");
            out::note("  writes     a copy of the project; your files change only by verified commits");
            forget_what_was_typed();
            out::prompt("Work on this plan? [y/N] ");
            let answer = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map(|_| line)
            })
            .await;
            match answer {
                Ok(Ok(line)) if is_yes(&line) => Decision::Yes,
                _ => Decision::No,
            }
        })
    }

    fn streamed(&self, bytes: usize) {
        let before = self.streamed.fetch_add(bytes, Ordering::Relaxed);
        if out::progress_shown() && before / STEP != (before + bytes) / STEP {
            out::prompt(&format!("\r\x1b[K… the model writes: {} KB", (before + bytes) / 1024));
        }
    }
}
