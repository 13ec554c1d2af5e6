//! `perspt ledger`: committed work, and the check that nothing in it was changed.

use std::collections::BTreeSet;

use perspt_agent::open::{decode, read};
use perspt_core::event::{Commit, Ended, Event, KeptPlace, merkle};
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, Millis, SessionId};
use perspt_store::{Home, Traces, verify};

use super::node;
use crate::args::LedgerArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::pick::{Which, pick};
use crate::{out, wire};

const RECENT: usize = 20;

/// Runs it.
pub fn run(args: &LedgerArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    let sessions: Vec<SessionId> = match &args.session {
        Some(begin) => vec![pick(&home, &Which::Named(begin))?],
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

fn commits(home: &Home, id: &SessionId) -> Result<Vec<(Millis, Commit)>, Failure> {
    let mut commits = Vec::new();
    read(home, id, &mut |record, event, _| {
        if let Some(Event::EffectEnded { outcome: Ended::Published { commit, .. }, .. }) = event {
            commits.push((record.at, (**commit).clone()));
        }
    })?;
    Ok(commits)
}

fn recent(home: &Home, sessions: &[SessionId]) -> Result<u8, Failure> {
    let mut shown = 0;
    for id in sessions {
        for (_, commit) in commits(home, id)?.into_iter().rev() {
            if shown == RECENT {
                return Ok(0);
            }
            shown += 1;
            out::line(&format!(
                "{}  {}  {}  merkle={} files={} retries={}  {}",
                commit.id().short(),
                id,
                commit.node,
                commit.merkle.short(),
                commit.artifacts.len(),
                commit.retries,
                out::plain(&commit.goal)
            ));
        }
    }
    if shown == 0 {
        out::line("nothing has been committed yet");
    }
    Ok(0)
}

fn stats(home: &Home, sessions: &[SessionId]) -> Result<u8, Failure> {
    let (mut events, mut committed, mut files, mut calls, mut tokens, mut ended) =
        (0u64, 0u64, 0u64, 0u64, 0u64, 0u64);
    for id in sessions {
        let state = read(home, id, &mut |_, _, _| events += 1)?;
        for (_, commit) in commits(home, id)? {
            committed += 1;
            files += commit.artifacts.len() as u64;
        }
        calls += state.account.used.steps;
        tokens += state.account.used.tokens;
        ended += u64::from(state.end.is_some());
    }
    out::line(&format!(
        "sessions={} ended={ended} events={events} commits={committed} files={files} calls={calls} tokens={tokens}",
        sessions.len()
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
        match verify_session(home, id) {
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

fn verify_session(home: &Home, id: &SessionId) -> Result<String, String> {
    let mut cited: BTreeSet<BlobId> = BTreeSet::new();
    let mut texts: BTreeSet<BlobId> = BTreeSet::new();
    let mut released = 0;
    let mut commits: Vec<(u64, Commit)> = Vec::new();
    let mut base = Sha::ZERO;
    let mut unknown = 0u64;
    let mut bad = None;
    let verified = verify(home, id, &mut |record| match decode(&record) {
        Ok(event) => {
            cite(&event, &mut cited);
            if event.releases_texts() {
                released += texts.len();
                texts.clear();
            }
            texts.extend(event.text());
            if let Event::EffectEnded { outcome, .. } = &event {
                match outcome {
                    Ended::Snapshotted { tree, .. } => base = tree.id.0,
                    Ended::BaseMoved { head, .. } if commits.is_empty() => base = head.id.0,
                    Ended::Published { commit, .. } => commits.push((record.seq, (**commit).clone())),
                    _ => {}
                }
            }
        }
        Err(perspt_agent::AgentError::TooNew { .. }) => unknown += 1,
        Err(error) => bad = bad.take().or(Some(error.to_string())),
    })
    .map_err(|error| error.to_string())?;
    if let Some(why) = bad {
        return Err(why);
    }
    if let Some(torn) = verified.torn.as_ref().filter(|torn| torn.ended) {
        let record = verified.records + 1;
        return Err(format!("record {record}: the last record was changed or torn: {}", torn.why));
    }
    let traces = home.traces(id).map_err(|error| error.to_string())?;
    if verified.records == 0 && traces == Traces::Blobs {
        return Err("its log is missing or empty, and blobs of it are there".to_owned());
    }
    let blobs = home.blobs(id).map_err(|error| error.to_string())?;
    for blob in &cited {
        blobs.get(*blob).map_err(|error| format!("a cited blob: {error}"))?;
    }
    let shelf = home.texts(id).map_err(|error| error.to_string())?;
    for text in &texts {
        shelf.get(*text).map_err(|error| format!("a prompt or answer that is still needed: {error}"))?;
    }
    let mut parent = base;
    for (seq, commit) in &commits {
        if commit.parent != parent {
            return Err(format!("record {seq}: the commit of `{}` does not follow its parent", commit.node));
        }
        if merkle(&commit.artifacts) != commit.merkle {
            return Err(format!("record {seq}: the Merkle root of `{}` is wrong", commit.node));
        }
        parent = commit.id().0;
    }
    let torn =
        verified.torn.map(|torn| format!(", torn last record of {} bytes", torn.bytes)).unwrap_or_default();
    let unknown = if unknown > 0 { format!(", {unknown} of a newer schema") } else { String::new() };
    Ok(format!(
        "{} records, {} blobs, {released} texts released, {} commits{unknown}{torn}",
        verified.records,
        cited.len() + texts.len(),
        commits.len()
    ))
}

/// The blobs an event cites that are kept for good.
fn cite(event: &Event, cited: &mut BTreeSet<BlobId>) {
    let outcome = match event {
        Event::EffectEnded { outcome, .. } => outcome,
        Event::BytesKept { place: KeptPlace::Blob(blob), .. } => {
            cited.insert(*blob);
            return;
        }
        _ => return,
    };
    match outcome {
        Ended::Snapshotted { tree, .. } | Ended::BaseMoved { head: tree, .. } => {
            cited.insert(tree.manifest);
        }
        Ended::Probed { detail, .. } => {
            cited.insert(*detail);
        }
        Ended::LaidOut { changes, .. } => {
            cited.insert(*changes);
        }
        Ended::Measured { reading, .. } => {
            cited.insert(reading.blob);
        }
        Ended::BundleParsed { changes, .. } => cited.extend(changes),
        Ended::Published { commit, head } => {
            cited.insert(head.manifest);
            cited.extend(&commit.evidence);
            cited.extend(
                commit
                    .artifacts
                    .iter()
                    .flat_map(|change| [change.before, change.after])
                    .flatten()
                    .map(|entry| BlobId(entry.hash)),
            );
        }
        Ended::Unworkable { .. }
        | Ended::Fetched { .. }
        | Ended::Calibrated { .. }
        | Ended::Assembled { .. }
        | Ended::Answered { .. }
        | Ended::AskFailed { .. }
        | Ended::PlanParsed { .. }
        | Ended::Decided { .. }
        | Ended::Lost
        | Ended::Cancelled
        | Ended::Broke { .. } => {}
    }
}
