//! What holds for every bundle, in whatever form it came.

use std::collections::BTreeMap;

use perspt_core::bundle::{Artifact, Bundle};
use serde_json::Value;

use super::notes::Notes;
use super::wanted::{Payload, Rejection};

/// The most commands of an answer.
const COMMANDS: usize = 10;
/// The most tests an answer may declare one by one; more are declared by file.
const DECLARED: usize = 40;

/// The payload if it holds something, and not the same file twice with different texts.
pub(super) fn checked(payload: Payload, notes: &mut Notes) -> Result<Payload, Rejection> {
    Ok(match payload {
        Payload::Bundle(bundle) => Payload::Bundle(bundle_checked(bundle, notes)?),
        Payload::PlanWithBundle { plan, bundle } if tasks(&plan) != 1 => {
            notes.add(format!("the files beside a plan of {} tasks left out", tasks(&plan)));
            bundle_checked(bundle, notes)?;
            Payload::Plan(plan)
        }
        Payload::PlanWithBundle { plan, bundle } => {
            Payload::PlanWithBundle { plan, bundle: bundle_checked(bundle, notes)? }
        }
        Payload::Plan(_) | Payload::Analysis(_) | Payload::ContextRequests(_) | Payload::Replan(_) => payload,
    })
}

/// How many tasks a plan has, in whatever object they are.
fn tasks(plan: &Value) -> usize {
    match plan {
        Value::Array(tasks) => tasks.len(),
        Value::Object(object) => {
            let inner = ["tasks", "nodes", "plan"].iter().find_map(|name| object.get(*name));
            inner.map_or(1, tasks)
        }
        _ => 0,
    }
}

fn bundle_checked(bundle: Bundle, notes: &mut Notes) -> Result<Bundle, Rejection> {
    if bundle.artifacts.is_empty() && bundle.commands.is_empty() {
        return Err(Rejection::invalid("the bundle holds no artifact"));
    }
    for (what, count, most) in [
        ("commands", bundle.commands.len(), COMMANDS),
        ("changes_tests", bundle.changes_tests.len(), DECLARED),
        ("leaves_red", bundle.leaves_red.len(), DECLARED),
    ] {
        if count > most {
            return Err(Rejection::invalid(format!("`{what}` has {count} entries; {most} is the most")));
        }
    }
    let artifacts = written_once(bundle.artifacts, notes)?;
    Ok(Bundle { artifacts, ..bundle })
}

/// The artifacts without a write that says the same as one before it. Two writes that differ are refused: which one is
/// meant cannot be known.
fn written_once(artifacts: Vec<Artifact>, notes: &mut Notes) -> Result<Vec<Artifact>, Rejection> {
    // The text of each path, or that it was changed since it was written.
    let mut written: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut out = Vec::new();
    for artifact in artifacts {
        match &artifact {
            Artifact::Write { path, content } => match written.get(path) {
                Some(Some(before)) if before == content => {
                    notes.add(format!("`{path}` was written twice with the same text"));
                    continue;
                }
                Some(_) => {
                    let line = format!("`{path}` is written twice, with different texts; write it once");
                    return Err(Rejection::invalid(line));
                }
                None => {
                    written.insert(path.clone(), Some(content.clone()));
                }
            },
            Artifact::Edit { path, .. } | Artifact::Diff { path, .. } => {
                written.entry(path.clone()).and_modify(|text| *text = None);
            }
            Artifact::Delete { path } => {
                written.remove(path);
            }
            Artifact::Move { from, to } => {
                written.remove(from);
                written.remove(to);
            }
        }
        out.push(artifact);
    }
    Ok(out)
}
