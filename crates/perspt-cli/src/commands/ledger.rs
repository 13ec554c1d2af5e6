//! `perspt ledger`: committed work, and the check that nothing in it was changed.

use perspt_core::ids::SessionId;
use perspt_store::{Home, Traces};

use super::node;
use crate::args::LedgerArgs;
use crate::check_session::check_session;
use crate::config::Config;
use crate::fail::Failure;
use crate::pick::{SessionChoice, pick, view_of};
use crate::{out, wire};

const RECENT: usize = 20;

pub fn run(args: &LedgerArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    let sessions: Vec<SessionId> = match &args.session {
        Some(begin) => vec![pick(&home, &SessionChoice::Named(begin))?],
        None => home.sessions()?.into_iter().map(|session| session.id).collect(),
    };
    if args.verify {
        return verify_all(&home, &sessions);
    }
    if args.stats {
        return stats(&home, &sessions);
    }
    match &args.node {
        Some(node) => node::show(&home, &sessions, node),
        None => recent(&home, &sessions),
    }
}

/// The reads of a listing. A session that cannot be read is left out with a note, so that one damaged log does not hide
/// the others.
#[derive(Default)]
pub struct SessionReads {
    read: usize,
    first_failure: Option<Failure>,
}

impl SessionReads {
    /// What was read of a session, or a note that it is left out.
    pub fn take<T>(&mut self, id: &SessionId, result: Result<T, Failure>) -> Option<T> {
        match result {
            Ok(value) => {
                self.read += 1;
                Some(value)
            }
            Err(failure) => {
                let why = out::plain(&failure.trouble.why);
                out::note(&format!("note: session {id} is left out: {why}; see `perspt ledger --verify`"));
                self.first_failure.get_or_insert(failure);
                None
            }
        }
    }

    /// How many sessions were read. A failure where there are sessions and none could be read.
    pub fn finish(self) -> Result<usize, Failure> {
        match self.first_failure {
            Some(failure) if self.read == 0 => Err(failure),
            _ => Ok(self.read),
        }
    }
}

fn recent(home: &Home, sessions: &[SessionId]) -> Result<u8, Failure> {
    let mut reads = SessionReads::default();
    let mut shown = 0;
    for id in sessions {
        let Some(view) = reads.take(id, view_of(home, id)) else { continue };
        for commit in view.commits.iter().rev() {
            if shown == RECENT {
                return Ok(0);
            }
            shown += 1;
            out::line(&format!(
                "{}  {}  {}  merkle={} files={} retries={} evidence={}  {}",
                commit.id.short(),
                id,
                commit.node,
                commit.merkle.short(),
                commit.files.len(),
                commit.corrections,
                commit.grade.as_str(),
                out::plain(&commit.goal)
            ));
        }
    }
    reads.finish()?;
    if shown == 0 {
        out::line("nothing has been committed yet");
    }
    Ok(0)
}

fn stats(home: &Home, sessions: &[SessionId]) -> Result<u8, Failure> {
    let mut reads = SessionReads::default();
    let (mut events, mut committed, mut files, mut calls, mut tokens, mut ended) = (0, 0, 0, 0, 0, 0);
    for id in sessions {
        let Some(view) = reads.take(id, view_of(home, id)) else { continue };
        events += view.records;
        committed += view.commits.len();
        files += view.commits.iter().map(|commit| commit.files.len()).sum::<usize>();
        calls += view.budget.used.steps;
        tokens += view.budget.used.tokens;
        ended += u64::from(view.exit_code.is_some());
    }
    let sessions = reads.finish()?;
    out::line(&format!(
        "sessions={sessions} ended={ended} events={events} commits={committed} files={files} calls={calls} tokens={tokens}"
    ));
    Ok(0)
}

/// Checks every chain, every blob an event cites, and every commit's parent and Merkle root.
fn verify_all(home: &Home, sessions: &[SessionId]) -> Result<u8, Failure> {
    let (mut looked_at, mut damaged) = (0, 0);
    for id in sessions {
        if home.traces(id)? == Traces::Nothing {
            continue;
        }
        looked_at += 1;
        match check_session(home, id) {
            Ok(line) => out::line(&format!("ok       {id}  {line}")),
            Err(why) => {
                damaged += 1;
                out::line(&format!("DAMAGED  {id}  {}", out::plain(&why)));
            }
        }
    }
    if looked_at == 0 {
        out::line("there is no session to verify");
    }
    Ok(u8::from(damaged > 0))
}
