//! `perspt ledger --node`: what became of one node, attempt by attempt.

use perspt_core::event::Certificate;
use perspt_core::ids::SessionId;
use perspt_core::tree::{Change, Entry};
use perspt_core::view::{AttemptView, CommitView, NodeView, SessionView};
use perspt_store::Home;

use super::ledger::SessionReads;
use crate::fail::Failure;
use crate::out;
use crate::pick::view_of;
use crate::view::{energy_words, slug};

/// Shows the node of the first session that has it in its plan; the newest comes first.
pub fn show(home: &Home, sessions: &[SessionId], name: &str) -> Result<u8, Failure> {
    let mut reads = SessionReads::default();
    for id in sessions {
        let Some(view) = reads.take(id, view_of(home, id)) else { continue };
        if let Some(node) = view.nodes.iter().find(|node| node.id.as_str() == name) {
            lines(id, &view, node).iter().for_each(|line| out::line(&out::plain(line)));
            return Ok(0);
        }
    }
    reads.finish()?;
    Err(Failure::usage(
        "the node was not found",
        format!("no session has a node `{name}`"),
        "`perspt status` lists the nodes of a session",
    ))
}

fn lines(id: &SessionId, view: &SessionView, node: &NodeView) -> Vec<String> {
    let workspace = view.started.as_ref().map_or("", |started| started.workspace.as_str());
    let mut lines = vec![
        format!("session    {id}  {}", view.status),
        format!("workspace  {workspace}"),
        format!("node       {}  {}", node.id, node.state_words()),
        format!("goal       {}", node.goal),
    ];
    node.attempts.iter().for_each(|attempt| lines.extend(attempt_lines(attempt)));
    let commits = view.commits.iter().filter(|commit| commit.node == node.id);
    commits.for_each(|commit| lines.extend(commit_lines(commit)));
    lines.extend(node.certificate.iter().flat_map(certificate_lines));
    if node.certificate.is_none() && ["blocked", "rejected"].contains(&node.state) {
        lines.push(format!("{:<10} without an attempt of its own", node.state));
    }
    lines
}

fn attempt_lines(attempt: &AttemptView) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(class) = attempt.retry {
        let why = attempt.violations.first().map_or("", String::as_str);
        lines.push(format!("answer     {}: {why}", class.words()));
    }
    if !attempt.rebased.is_empty() {
        let paths: Vec<&str> = attempt.rebased.iter().map(|path| path.as_str()).collect();
        lines.push(format!("rebased    {}", paths.join(", ")));
    }
    if let (Some(number), Some(energy), Some(verdict)) = (attempt.candidate, &attempt.energy, attempt.verdict)
    {
        let finding = attempt.findings.first().map(|line| format!("  {line}")).unwrap_or_default();
        lines.push(format!("attempt {number:<2} {:<10} {}{finding}", slug(&verdict), energy_words(energy)));
    }
    lines
}

fn commit_lines(commit: &CommitView) -> Vec<String> {
    let consents = match commit.consents.len() {
        0 => String::new(),
        _ => {
            let all = commit.consents.iter().map(|need| format!("{}:{}", need.kind, need.subject));
            format!(" consents={}", out::value(&all.collect::<Vec<_>>().join(",")))
        }
    };
    let head = format!(
        "commit     {} merkle={} retries={} evidence={}{consents} model={}",
        commit.id.short(),
        commit.merkle.short(),
        commit.corrections,
        commit.grade.as_str(),
        out::value(&commit.model)
    );
    std::iter::once(head).chain(commit.files.iter().map(file_line)).collect()
}

fn file_line(change: &Change) -> String {
    let hash = |entry: &Option<Entry>| entry.map_or("none".to_owned(), |entry| entry.hash.short());
    format!("  file     {} {} -> {}", change.path, hash(&change.before), hash(&change.after))
}

fn certificate_lines(certificate: &Certificate) -> Vec<String> {
    let mut lines = vec![format!(
        "given up   {} ({}) answers={} corrections={}",
        slug(&certificate.reason),
        certificate.category.as_str(),
        certificate.answers,
        certificate.corrections
    )];
    lines.extend(certificate.energy.iter().map(|energy| format!("best       {}", energy_words(energy))));
    lines.extend(certificate.residuals.iter().map(|line| format!("  found    {line}")));
    lines.push(format!("next       {}", certificate.next));
    lines
}
