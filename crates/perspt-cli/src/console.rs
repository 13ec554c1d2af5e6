//! The person at the terminal: questions over plan, policy and consents, and progress while a model writes.

use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};

use perspt_agent::ports::{Asked, BoxFuture, Console};
use perspt_agent::question::texts;
use perspt_core::consent::Need;
use perspt_core::event::Decision;
use perspt_core::inventory::Inventory;
use perspt_core::state::SessionState;

use crate::out::{self, plain};

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

fn is_no(answer: &str) -> bool {
    let answer = answer.trim();
    answer.is_empty() || ["n", "no"].iter().any(|no| answer.eq_ignore_ascii_case(no))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

/// What is typed next, on a line.
async fn typed(question: &str) -> Option<String> {
    forget_what_was_typed();
    out::prompt(question);
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    })
    .await;
    answer.ok()?.ok()
}

fn show_policy(state: &SessionState) {
    let tools: Vec<String> = state
        .probed
        .iter()
        .flatten()
        .flat_map(|root| root.stages.iter().map(|stage| stage.tool.clone()))
        .collect();
    let tools = if tools.is_empty() {
        "no tools: there is no language here that perspt knows".to_owned()
    } else {
        format!("{} (and what they start), confined", tools.join(", "))
    };
    out::note("");
    out::note("Policy of this session:");
    out::note(&format!("  runs       {tools}"));
    out::note("  network    only to fetch dependencies, before any of their code runs");
    out::note("  writes     a copy of the project; your files change only by verified commits");
}

fn show_needs(needs: &[Need], inventory: &Inventory) {
    for need in needs {
        out::note("");
        out::note(&format!("{} {}", need.kind, plain(&need.subject)));
        out::note(&format!("  {}", plain(&need.why)));
        let told = need.weaker.iter().map(|line| format!("weaker: {line}")).chain(need.notes.iter().cloned());
        told.for_each(|line| out::note(&format!("  {}", plain(&line))));
        if let Some((old, new)) = texts(need, inventory) {
            show_text("before", old);
            show_text("now", if new.is_empty() { "(removed)" } else { new });
        }
    }
}

fn show_text(title: &str, text: &str) {
    const LINES: usize = 40;
    out::note(&format!("  {title}:"));
    text.lines().take(LINES).for_each(|line| out::note(&format!("    | {}", plain(line))));
    let more = text.lines().count().saturating_sub(LINES);
    if more > 0 {
        out::note(&format!("    | … {more} more lines"));
    }
}

impl Console for Person {
    fn ask<'a>(&'a self, asked: &'a Asked, state: &'a SessionState) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match asked {
                Asked::Plan => {
                    show_policy(state);
                    match typed("Work on this plan? [y/N] ").await {
                        Some(line) if is_yes(&line) => Decision::Yes,
                        _ => Decision::No,
                    }
                }
                Asked::Consents { node, needs, inventory } => {
                    show_needs(needs, inventory);
                    let node = node.as_ref().map_or_else(String::new, |node| format!(" of {node}"));
                    let question = format!("Allow this{node}? [y/N, or say what is to be done instead] ");
                    match typed(&question).await {
                        Some(line) if is_yes(&line) => Decision::Yes,
                        Some(line) if !is_no(&line) => Decision::Correct(line.trim().to_owned()),
                        _ => Decision::No,
                    }
                }
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
