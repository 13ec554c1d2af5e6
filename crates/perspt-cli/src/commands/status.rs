//! `perspt status`: what a session is doing, from its log alone.

use perspt_core::ids::SessionId;
use perspt_core::view::{NodeView, SessionView};
use perspt_store::Home;
use serde_json::json;

use crate::args::StatusArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::pick::{SessionChoice, pick, view_of};
use crate::view::{cost, dollars, energy_words, kept_place, need_words};
use crate::{out, wire};

pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    if args.all {
        return list(&home, args.json);
    }
    let id = pick(&home, &args.session.as_deref().map_or(SessionChoice::LastHere, SessionChoice::Named))?;
    let view = view_of(&home, &id)?;
    if args.json {
        print_json(&id, &view)
    } else {
        show(&id, &view)
    }
    Ok(0)
}

fn list(home: &Home, as_lines_of_json: bool) -> Result<u8, Failure> {
    for session in home.sessions()? {
        match view_of(home, &session.id) {
            Ok(view) if as_lines_of_json => print_json(&session.id, &view),
            Ok(view) => {
                let (folder, task) = match &view.started {
                    Some(started) => (out::plain(&started.workspace), out::plain(&started.task)),
                    None => (String::new(), String::new()),
                };
                out::line(format!("{}  {:<18} {folder}  {task}", session.id, view.status).trim_end());
            }
            Err(failure) if as_lines_of_json => {
                let line = json!({"session": session.id, "status": "unreadable", "why": failure.trouble.why});
                out::json_line(&line.to_string())
            }
            Err(failure) => {
                out::line(&format!("{}  unreadable: {}", session.id, out::plain(&failure.trouble.why)))
            }
        }
    }
    Ok(0)
}

fn print_json(id: &SessionId, view: &SessionView) {
    let mut fields = serde_json::to_value(view).unwrap_or_default();
    fields["session"] = json!(id);
    out::json_line(&fields.to_string());
}

fn show(id: &SessionId, view: &SessionView) {
    let field = |name: &str, text: &str| out::line(&format!("{name:<11}{}", out::plain(text)));
    field("session", &format!("{id}  {}", view.status));
    if let Some(started) = &view.started {
        field("task", &started.task);
        field("workspace", &started.workspace);
        if !view.verifies {
            field("model", &started.model);
        }
    }
    let tools = view.tools.iter().map(|tool| match &tool.missing {
        None => format!("{} ok", tool.tool),
        Some(_) => format!("{} not usable", tool.tool),
    });
    field("tools", &tools.collect::<Vec<_>>().join(", "));
    let (used, limits) = (&view.budget.used, &view.budget.limits);
    field(
        "budget",
        &format!(
            "calls {}/{}, tokens {}/{}, minutes {}/{}, cost {}{}",
            used.steps,
            limits.steps,
            used.tokens,
            limits.tokens,
            view.budget.active_ms / 60_000,
            limits.time_ms / 60_000,
            cost(used),
            limits.cost.map(|most| format!("/{}", dollars(most))).unwrap_or_default()
        ),
    );
    for (tier, spent) in &view.budget.tiers {
        let tokens = spent.tokens;
        field(
            "spent",
            &format!("{}: {} calls, {tokens} tokens, cost {}", tier.as_str(), spent.steps, cost(spent)),
        );
    }
    if let Some(energy) = view.verified.as_ref() {
        field("energy", &energy_words(energy));
    }
    if let Some(missing) = &view.degraded {
        field("degraded", &format!("{}: {}", missing.tool, missing.why));
    }
    view.nodes.iter().for_each(show_node);
    if let Some(asks) = &view.asks {
        field("asks", &format!("{}; answer with `perspt approve {id}` or `perspt deny {id}`", asks.words()));
    }
    for (path, place) in &view.kept {
        field("kept", &format!("your version of {path} is in {}", kept_place(id, place)));
    }
    for grant in &view.allowed {
        field("allowed", &format!("{grant} (by {})", grant.by.as_str()));
    }
    if let Some(trouble) = &view.trouble {
        field("stopped", &format!("{}: {}", trouble.what, trouble.why));
        field("do", &trouble.todo);
    }
    if view.unknown_records > 0 {
        field("unknown", &format!("{} of the records, written by a newer perspt", view.unknown_records));
    }
}

fn show_node(node: &NodeView) {
    let energy = node.energy.as_ref().map_or("not measured".to_owned(), energy_words);
    let grade = node.grade.map(|grade| format!(" evidence={}", grade.as_str())).unwrap_or_default();
    out::line(&format!(
        "node       {:<20} {:<11} attempts {} corrections {} {energy}{grade}",
        node.id.as_str(),
        node.state_words(),
        node.judged,
        node.corrections
    ));
    let more = |text: &str| out::line(&format!("           {}", out::plain(text)));
    if !node.changed_since.is_empty() {
        let paths: Vec<&str> = node.changed_since.iter().map(|path| path.as_str()).collect();
        more(&format!("changed by you since: {}", paths.join(", ")));
    }
    node.below.iter().for_each(|line| more(line));
    node.unmeasured.iter().for_each(|line| more(&format!("promised, not measured: {line}")));
    node.waits_for.iter().for_each(|need| more(&format!("waits for {}", need_words(need))));
    if let Some((class, reason)) = &node.why {
        more(&format!("{}: {reason}", class.words()));
    }
}
