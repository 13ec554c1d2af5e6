//! Checks a session for damage: the hash chain of its log, the blobs that its events name, and its commits.

use std::collections::BTreeSet;

use perspt_core::event::{Commit, Ended, Event, KeptPlace, merkle};
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, SessionId};
use perspt_core::state::SessionState;
use perspt_store::{Home, Traces, check_log};

/// Checks one session. `Ok` counts what was checked; `Err` says what is damaged.
pub fn check_session(home: &Home, id: &SessionId) -> Result<String, String> {
    let mut cited: BTreeSet<BlobId> = BTreeSet::new();
    let mut texts: BTreeSet<BlobId> = BTreeSet::new();
    let mut state = SessionState::default();
    let mut released = 0;
    let mut commits: Vec<(u64, Commit)> = Vec::new();
    let mut base = Sha::ZERO;
    let mut unknown = 0u64;
    let verified = check_log(home, id, &mut |record| match record.decode() {
        Ok(event) => {
            cite(&event, &mut cited);
            state.apply(record.at, &event);
            if state.releases_texts(&event) {
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
        Err(_) => unknown += 1,
    })
    .map_err(|error| error.to_string())?;
    if let Some(torn) = verified.torn.as_ref().filter(|torn| torn.ended) {
        let record = verified.records + 1;
        return Err(format!("record {record}: the last record was changed or torn: {}", torn.why));
    }
    let traces = home.traces(id).map_err(|error| error.to_string())?;
    if verified.records == 0 && traces == Traces::Blobs {
        return Err("its log is missing or empty, but its blobs are there".to_owned());
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
    let unknown = if unknown > 0 { format!(", {unknown} of a newer perspt") } else { String::new() };
    Ok(format!(
        "{} records, {} blobs, {released} texts released, {} commits{unknown}{torn}",
        verified.records,
        cited.len() + texts.len(),
        commits.len()
    ))
}

/// Adds the permanent blobs that an event names.
fn cite(event: &Event, cited: &mut BTreeSet<BlobId>) {
    let outcome = match event {
        Event::EffectEnded { outcome, .. } => outcome,
        Event::BytesKept { place: KeptPlace::Blob(blob), .. } => {
            cited.insert(*blob);
            return;
        }
        _ => return,
    };
    cited.extend(outcome.runs().iter().filter_map(|run| run.output));
    match outcome {
        Ended::Snapshotted { tree, since, .. } => {
            cited.insert(tree.manifest);
            cited.extend(since.iter().flat_map(|since| [since.tree.manifest, since.changes]));
        }
        Ended::BaseMoved { head: tree, .. } => {
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
        Ended::Judged { judgement } => {
            cited.insert(judgement.blob);
        }
        Ended::BundleParsed { changes, .. } => cited.extend(changes),
        Ended::NewTestsRan { reading, .. } => cited.extend([*reading]),
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
        | Ended::TooLargeForModel { .. }
        | Ended::PlannedLocally
        | Ended::AnalysisParsed { .. }
        | Ended::Answered { .. }
        | Ended::AskFailed { .. }
        | Ended::PlanParsed { .. }
        | Ended::Decided { .. }
        | Ended::LayoutRefused { .. }
        | Ended::Overtaken { .. }
        | Ended::Lost
        | Ended::Cancelled
        | Ended::Broke { .. } => {}
    }
}
