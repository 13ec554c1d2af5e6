//! `perspt resume`: continues a session from its log.

use std::path::Path;

use perspt_agent::open::resume;
use perspt_agent::ports::{Clock, SystemClock};
use perspt_core::event::{Approval, Event, SessionResumed};
use perspt_core::ids::SessionId;
use perspt_core::outcome::NodeEnd;
use perspt_core::route::Tier;
use perspt_store::{Follower, Home};

use super::{Output, agent, exit_code};
use crate::args::ResumeArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::models::Models;
use crate::pick::{SessionChoice, pick, state_of, view_of};
use crate::view::record_line;
use crate::wire::Recordings;
use crate::{out, wire, workspace};

pub fn run(args: &ResumeArgs) -> Result<u8, Failure> {
    let config = Config::load()?.with_run_args(&args.run);
    let home = wire::open_home(&config)?;
    let choice = match (&args.session, args.last) {
        (Some(begin), _) => SessionChoice::Named(begin),
        (None, true) => SessionChoice::LastTask,
        (None, false) => SessionChoice::LastTaskHere,
    };
    let id = pick(&home, &choice)?;
    let before = state_of(&home, &id)?;
    let meta = before.meta.clone().ok_or(perspt_agent::AgentError::NeverBegun)?;
    if before.verifies() {
        return Err(Failure::usage(
            "there is nothing to go on with",
            format!("session {id} only looked at {}", meta.workspace),
            "run `perspt verify` there again",
        ));
    }
    if let Some(end) = before.end.as_ref().filter(|end| !end.reason.is_resumable()) {
        if args.run.json {
            print_ending(&home, &id)?;
        } else {
            let view = view_of(&home, &id)?;
            let fields = crate::view::summary_fields(&view.summary, view.status);
            out::line(&format!("SUMMARY session={id} {fields} already_ended=true"));
            if end.outcome.exit_code() != 0 {
                out::note("this session has ended; start another one with `perspt agent`");
            }
        }
        return Ok(end.outcome.exit_code());
    }
    workspace::check_present(&meta)?;
    workspace::check_writable(Path::new(&meta.workspace))?;
    let asks = meta.approval == Approval::Person || args.run.wait_for_approval;
    let approval = if asks { agent::approval(&args.run)? } else { Approval::Policy };
    let mut limits = meta.settings.limits;
    limits.steps = args.run.max_steps.unwrap_or(limits.steps);
    limits.tokens = args.run.max_tokens.unwrap_or(limits.tokens);
    limits.time_ms = args.run.max_time.map_or(limits.time_ms, |minutes| minutes.saturating_mul(60_000));
    if args.run.max_cost.is_some() {
        Models::load(&config)?.check_prices(&meta.routes)?;
        limits.cost = config.max_cost()?;
    }
    let routes = match args.run.names_models() {
        true => Models::load(&config)?.routes()?,
        false => Models::load(&config)?.moved(&meta.routes)?.unwrap_or_default(),
    };
    let actuator = routes.iter().find(|route| route.tier == Tier::Actuator).map(|route| route.main.clone());
    let resumed = SessionResumed {
        model: actuator.as_ref().map(|route| route.model.clone()),
        base_url: actuator.and_then(|route| route.base_url),
        routes,
        approval: (approval != meta.approval).then_some(approval),
        limits: (limits != meta.settings.limits).then_some(limits),
        allow: args.run.allow.clone(),
    };
    show_escalations(&before);
    let mut output = Output::new(args.run.json);
    let open = resume(&home, &id, SystemClock.now(), resumed, output.view())?;
    if let Some(cut) = &open.cut {
        out::note(&format!(
            "the last record was incomplete ({} bytes); it was cut off and saved as {}",
            cut.bytes,
            cut.kept_as.display()
        ));
    }
    let maker = Recordings::of(&args.run).around(Models::maker(&config)?, &home.session_dir(&id))?;
    let state = wire::drive(&home, &config, open, maker, output.view())?;
    Ok(exit_code(&state))
}

/// Prints the record that ended a session, as the log has it.
fn print_ending(home: &Home, id: &SessionId) -> Result<(), Failure> {
    let mut ending = None;
    Follower::read(home, id, &mut |record, event, _| {
        if let Some(Event::SessionEnded { .. }) = event {
            ending = Some(record_line(record));
        }
    })?;
    if let Some(line) = ending {
        out::json_line(&line);
    }
    Ok(())
}

/// What was given up before is shown first.
fn show_escalations(state: &perspt_core::state::SessionState) {
    for node in state.nodes.values().filter(|node| node.end == Some(NodeEnd::Escalated)) {
        let reason = node.failure.as_ref().map_or("", |failure| failure.reason.as_str());
        out::note(&format!("given up before: {} ({})", node.spec.id, out::plain(reason)));
    }
}
