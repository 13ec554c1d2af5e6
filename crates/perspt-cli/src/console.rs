//! The person at the terminal. Asks about the plan, the policy and consents, and shows progress while a model writes.

use std::io::{BufRead, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use perspt_agent::ports::{BoxFuture, Console};
use perspt_core::consent::Need;
use perspt_core::event::Decision;
use perspt_core::inventory::Inventory;
use perspt_core::question::{Asked, texts};
use perspt_core::state::SessionState;
use tokio::task::JoinHandle;

use crate::out::{self, plain};
use crate::view::plan_lines;

#[derive(Default)]
pub struct Person {
    streamed: AtomicUsize,
    /// The pending read of a line. A question that was answered from elsewhere leaves it to the next question.
    line: Mutex<Option<JoinHandle<Option<String>>>>,
}

/// Progress is drawn again after this many bytes.
const STEP: usize = 2048;

/// Input typed before the prompt is ignored: it cannot have been meant as an answer. An error here means that there is
/// no terminal any more; then no answer is read either.
fn discard_pending_input() {
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

fn is_no(answer: &str) -> bool {
    let answer = answer.trim();
    answer.is_empty() || ["n", "no"].iter().any(|no| answer.eq_ignore_ascii_case(no))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok().map(|_| line)
}

impl Person {
    /// The next line that is typed. Without a terminal this waits for ever, and somebody answers from elsewhere.
    async fn typed(&self, question: &str, state: &SessionState) -> Option<String> {
        if !std::io::stdin().is_terminal() {
            let session = state.meta.as_ref().map(|meta| meta.session.to_string()).unwrap_or_default();
            out::note(&format!(
                "{question}waiting for `perspt approve {session}` or `perspt deny {session}`"
            ));
            return std::future::pending().await;
        }
        discard_pending_input();
        out::prompt(question);
        let mut reader = LineReader { held: &self.line, line: None };
        // A line that came while nothing was asked is no answer to this question.
        let waiting = self.line.lock().unwrap_or_else(PoisonError::into_inner).take();
        let waiting = waiting.filter(|line| !line.is_finished());
        let line = reader.line.insert(waiting.unwrap_or_else(|| tokio::task::spawn_blocking(read_line)));
        let typed = line.await;
        reader.line = None;
        typed.ok().flatten()
    }
}

/// Hands a pending read on to the next question.
struct LineReader<'a> {
    held: &'a Mutex<Option<JoinHandle<Option<String>>>>,
    line: Option<JoinHandle<Option<String>>>,
}

impl Drop for LineReader<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            out::note("");
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        }
    }
}

fn show_policy(state: &SessionState) {
    let tools: Vec<String> = state
        .probed
        .iter()
        .flatten()
        .flat_map(|root| root.stages.iter().map(|stage| stage.tool.clone()))
        .collect();
    let tools = if tools.is_empty() {
        "no tools: perspt knows none of the languages here".to_owned()
    } else {
        format!("{} (and what they start), in a sandbox", tools.join(", "))
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
        let details =
            need.weaker.iter().map(|line| format!("weaker: {line}")).chain(need.notes.iter().cloned());
        details.for_each(|line| out::note(&format!("  {}", plain(&line))));
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

/// Shows a question with everything needed to decide it.
pub fn show_question(asked: &Asked, state: &SessionState) {
    match asked {
        Asked::Plan => {
            plan_lines(state, out::note);
            show_policy(state);
        }
        Asked::Consents { needs, inventory, .. } => show_needs(needs, inventory),
    }
}

impl Console for Person {
    fn ask<'a>(&'a self, asked: &'a Asked, state: &'a SessionState) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match asked {
                Asked::Plan => {
                    show_policy(state);
                    match self.typed("Work on this plan? [y/N] ", state).await {
                        Some(line) if is_yes(&line) => Decision::Yes,
                        _ => Decision::No,
                    }
                }
                Asked::Consents { node, needs, inventory } => {
                    show_needs(needs, inventory);
                    let node = node.as_ref().map_or_else(String::new, |node| format!(" of {node}"));
                    let question = format!("Allow this{node}? [y/N, or say what to do instead] ");
                    match self.typed(&question, state).await {
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
