//! `perspt status`: what a session is doing, from its log alone.

use perspt_core::consent::Need;
use perspt_core::ids::SessionId;
use perspt_core::outcome::NodeEnd;
use perspt_core::state::{Node, SessionState, Work};
use perspt_store::Home;
use serde_json::json;

use crate::args::StatusArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::pick::{Which, pick, read_session, state_of};
use crate::view::{energy_words, kept_place, need_words, session_word};
use crate::{out, wire};

/// Runs it.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    if args.all {
        return list(&home, args.json);
    }
    let id = pick(&home, &args.session.as_deref().map_or(Which::LastHere, Which::Named))?;
    let mut unknown = 0u64;
    let state = read_session(&home, &id, &mut |_, event, _| unknown += u64::from(event.is_none()))?;
    let running = home.holder(&id)?.is_some();
    if args.json {
        let mut told = as_json(&id, &state, running);
        told["unknown_records"] = json!(unknown);
        out::json_line(&told.to_string());
    } else {
        show(&id, &state, running);
        if unknown > 0 {
            out::line(&format!("unknown    {unknown} of the records, written by a newer perspt"));
        }
    }
    Ok(0)
}

fn list(home: &Home, as_lines_of_json: bool) -> Result<u8, Failure> {
    for session in home.sessions()? {
        let running = home.holder(&session.id)?.is_some();
        match state_of(home, &session.id) {
            Ok(state) if as_lines_of_json => {
                out::json_line(&as_json(&session.id, &state, running).to_string())
            }
            Ok(state) => {
                let Some(meta) = &state.meta else {
                    out::line(&format!("{}  never begun", session.id));
                    continue;
                };
                let (word, folder) = (session_word(&state, running), out::plain(&meta.workspace));
                out::line(&format!("{}  {word:<18} {folder}  {}", session.id, out::plain(&meta.task)));
            }
            Err(failure) if as_lines_of_json => {
                let line = json!({"session": session.id, "state": "unreadable", "why": failure.trouble.why});
                out::json_line(&line.to_string())
            }
            Err(failure) => {
                out::line(&format!("{}  unreadable: {}", session.id, out::plain(&failure.trouble.why)))
            }
        }
    }
    Ok(0)
}

fn tools(state: &SessionState) -> String {
    let stages = state.probed.iter().flatten().flat_map(|root| {
        let working = root.stages.iter().map(|stage| format!("{} ok", stage.tool));
        let missing = root.missing.iter().map(|missing| format!("{} not usable", missing.tool));
        working.chain(missing).collect::<Vec<_>>()
    });
    stages.collect::<Vec<_>>().join(", ")
}

fn show(id: &SessionId, state: &SessionState, running: bool) {
    let meta = state.meta.as_ref();
    let settings = state.settings();
    let text = |get: fn(&perspt_core::event::SessionStarted) -> &str| meta.map_or("", get);
    out::line(&format!("session    {id}  {}", session_word(state, running)));
    out::line(&format!("task       {}", out::plain(text(|meta| &meta.task))));
    out::line(&format!("workspace  {}", out::plain(text(|meta| &meta.workspace))));
    out::line(&format!("model      {}", out::plain(text(|meta| &meta.model))));
    out::line(&format!("sensors    {}", tools(state)));
    out::line(&format!(
        "budget     calls {}/{}, tokens {}/{}, minutes {}/{}",
        state.account.used.steps,
        settings.limits.steps,
        state.account.used.tokens,
        settings.limits.tokens,
        state.active_ms() / 60_000,
        settings.limits.time_ms / 60_000
    ));
    if let Some(missing) = &state.degraded {
        out::line(&format!("degraded   {}: {}", missing.tool, out::plain(&missing.why)));
    }
    for id in &state.order {
        if let Some(node) = state.nodes.get(id) {
            show_node(state, node);
        }
    }
    for (path, place) in &state.kept {
        out::line(&format!("kept       your bytes of {path} are in {}", kept_place(id, place)));
    }
    for grant in &state.consents.grants {
        out::line(&format!("allowed    {} (by {})", out::plain(&grant.to_string()), grant.by.as_str()));
    }
    if let Some(trouble) = state.end.as_ref().and_then(|end| end.trouble.as_ref()) {
        out::line(&format!("stopped    {}: {}", out::plain(&trouble.what), out::plain(&trouble.why)));
        out::line(&format!("do         {}", out::plain(&trouble.todo)));
    }
}

/// Where a node stands: once its session is over, nothing is being done for it any more.
fn node_word(state: &SessionState, node: &Node) -> &'static str {
    let over = state.end.as_ref().is_some_and(|end| !end.reason.is_resumable());
    match node.end {
        None | Some(NodeEnd::Open) if over => "unfinished",
        _ => node.state().as_str(),
    }
}

fn show_node(state: &SessionState, node: &Node) {
    let energy = node.best.as_ref().and_then(|best| best.energy());
    let energy = energy.map_or("not measured".to_owned(), energy_words);
    out::line(&format!(
        "node       {:<20} {:<11} attempts {} corrections {} {energy}",
        node.spec.id.as_str(),
        node_word(state, node),
        node.attempts,
        node.corrections
    ));
    if !node.changed_since.is_empty() {
        let paths: Vec<&str> = node.changed_since.iter().map(|path| path.as_str()).collect();
        out::line(&format!("           changed by you since: {}", paths.join(", ")));
    }
    for need in needs_of(node) {
        out::line(&format!("           waits for {}", out::plain(&need_words(need))));
    }
    if let Some(failure) = &node.failure {
        out::line(&format!("           {}: {}", failure.class.as_str(), out::plain(&failure.reason)));
    }
}

/// The consents that a node waits for.
fn needs_of(node: &Node) -> &[Need] {
    match &node.work {
        Work::Waiting(wait) => &wait.needs,
        _ => &[],
    }
}

fn as_json(id: &SessionId, state: &SessionState, running: bool) -> serde_json::Value {
    let nodes: Vec<serde_json::Value> = state
        .order
        .iter()
        .filter_map(|id| state.nodes.get(id))
        .map(|node| {
            json!({
                "id": node.spec.id,
                "state": node_word(state, node),
                "class": node.spec.node_class,
                "goal": node.spec.goal,
                "attempts": node.attempts,
                "corrections": node.corrections,
                "energy": node.best.as_ref().and_then(|best| best.energy()),
                "retry_class": node.failure.as_ref().map(|failure| failure.class),
                "reason": node.failure.as_ref().map(|failure| &failure.reason),
                "merkle": node.merkle,
                "changed_since": node.changed_since,
                "waits_for": needs_of(node),
                "evidence": node.best.as_ref().and_then(|best| best.judgement.as_ref()).map(|one| one.grade),
            })
        })
        .collect();
    json!({
        "session": id,
        "status": session_word(state, running),
        "exit_code": state.end.as_ref().map(|end| end.outcome.exit_code()),
        "task": state.meta.as_ref().map(|meta| &meta.task),
        "workspace": state.meta.as_ref().map(|meta| &meta.workspace),
        "model": state.meta.as_ref().map(|meta| &meta.model),
        "sensors": state.probed,
        "nodes": nodes,
        "allowed": state.consents.grants,
        "head": state.head.map(|head| head.id),
        "budget": { "used": state.account.used, "limits": state.settings().limits, "active_ms": state.active_ms() },
        "trouble": state.end.as_ref().and_then(|end| end.trouble.clone()),
    })
}
