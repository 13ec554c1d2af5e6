//! `perspt agent`: a task from beginning to end.

use std::io::IsTerminal;
use std::path::Path;

use perspt_agent::AgentError;
use perspt_agent::open::{Open, begin};
use perspt_agent::ports::{Clock, SystemClock, View};
use perspt_core::consent::Grant;
use perspt_core::event::{Approval, PlanningPolicy, Purpose, SessionStarted};
use perspt_core::reading::PluginName;
use perspt_core::route::{Tier, TierRoute};
use perspt_store::Home;
use perspt_store::publish::pending;

use super::{Output, exit_code};
use crate::args::{AgentArgs, RunArgs};
use crate::config::Config;
use crate::fail::Failure;
use crate::models::{Maker, Models};
use crate::wire::Recordings;
use crate::{out, own, session_id, wire, workspace};

pub fn run(args: &AgentArgs) -> Result<u8, Failure> {
    let mut config = Config::load()?.with_run_args(&args.run).with_judge_args(&args.judge);
    config.flag("planning_policy", "--planning-policy", args.planning_policy.clone());
    let task = args.task.trim();
    if task.is_empty() {
        return Err(Failure::usage("there is no task", "the task is empty", "say what to do, in quotes"));
    }
    // The first event holds both.
    let most = 8000 - own::bytes(&config.settings()?.own);
    if task.len() > most {
        return Err(Failure::usage(
            "the task is too long",
            format!("it has {} bytes, and {most} is the limit", task.len()),
            "put the details into a file of the project and name it",
        ));
    }
    let approval = approval(&args.run)?;
    let home = wire::open_home(&config)?;
    let workspace = workspace::for_session(args.workspace.as_deref(), &home)?;
    let lang = args.lang.as_deref().map(language).transpose()?;
    let planning = match config.planning()? {
        _ if args.single_file => Some(PlanningPolicy::SingleFile),
        None if says_one_file(task) => Some(PlanningPolicy::SingleFile),
        chosen => chosen,
    };
    let routes = Models::load(&config)?.routes()?;
    let allow = allowed(&config, &args.run.allow)?;
    let new_session = NewSession { task, routes, planning, approval, allow, lang };
    start(&home, &config, &workspace, new_session, &args.run)
}

/// Whether a task says outright that it is about one file. Only these words do.
fn says_one_file(task: &str) -> bool {
    let task = task.to_lowercase();
    ["in a single file", "as a single file", "a standalone script", "a code snippet"]
        .iter()
        .any(|words| task.contains(words))
}

/// What the user permits: by the configuration, then by flags.
pub fn allowed(config: &Config, flags: &[Grant]) -> Result<Vec<Grant>, Failure> {
    let mut grants = config.allow()?;
    grants.extend(flags.iter().cloned());
    Ok(grants)
}

/// A language by its name.
fn language(name: &str) -> Result<PluginName, Failure> {
    let known = perspt_lang::plugins().iter().map(|plugin| plugin.name());
    match known.clone().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(known) => Ok(PluginName(known.to_owned())),
        None => Err(Failure::usage(
            "the language is not known",
            format!("`{name}` is none of {}", known.collect::<Vec<_>>().join(", ")),
            "name one of them, or leave `--lang` out",
        )),
    }
}

/// What a session is begun with.
pub struct NewSession<'a> {
    pub task: &'a str,
    /// Which models are asked.
    pub routes: Vec<TierRoute>,
    /// How the task becomes a plan.
    pub planning: Option<PlanningPolicy>,
    pub approval: Approval,
    /// What is permitted from the start.
    pub allow: Vec<Grant>,
    /// The language of a new project.
    pub lang: Option<PluginName>,
}

/// Who approves: policy with `--yes`, else a person at the terminal or at another one.
pub fn approval(run: &RunArgs) -> Result<Approval, Failure> {
    if run.yes {
        return Ok(Approval::Policy);
    }
    if !std::io::stdin().is_terminal() && !run.wait_for_approval {
        return Err(Failure::refused(
            "nobody can approve the plan",
            "there is no terminal to ask at and `--yes` was not given",
            "run it in a terminal, or with `-y` to approve by policy, or with `--wait-for-approval` and answer with \
             `perspt approve`",
        ));
    }
    Ok(Approval::Person)
}

/// Begins a session and runs it to its end.
pub fn start(
    home: &Home,
    config: &Config,
    workspace: &Path,
    new_session: NewSession<'_>,
    run: &RunArgs,
) -> Result<u8, Failure> {
    let NewSession { task, routes, planning, approval, allow, lang } = new_session;
    let actuator = routes.iter().find(|route| route.tier == Tier::Actuator).map(|route| &route.main);
    let (model, base_url) =
        actuator.map_or((String::new(), None), |route| (route.model.clone(), route.base_url.clone()));
    // Fails early, before anything is created or measured. Each request makes the check again.
    let maker = Maker::new(config)?;
    for route in routes.iter().flat_map(|route| [Some(&route.main), route.fallback.as_ref()]).flatten() {
        maker.make(route).map_err(AgentError::NotReady)?;
    }
    let started = SessionStarted {
        session: session_id::new(),
        workspace: workspace.to_string_lossy().into_owned(),
        task: task.to_owned(),
        model,
        base_url,
        approval,
        allow,
        lang,
        routes,
        planning,
        purpose: Purpose::Task,
        settings: config.settings()?,
        program: format!("perspt {}", env!("CARGO_PKG_VERSION")),
    };
    let mut output = Output::new(run.json);
    let open = open(home, started, output.view())?;
    let maker =
        Recordings::of(run).around(Models::maker(config)?, &home.session_dir(open.writer.session()))?;
    let state = wire::drive(home, config, open, maker, output.view())?;
    Ok(exit_code(&state))
}

/// Opens a new session. Where another one was killed while it wrote there, that is said.
pub fn open(home: &Home, started: SessionStarted, view: &mut dyn View) -> Result<Open, Failure> {
    let left = pending(home, Path::new(&started.workspace)).map_err(AgentError::Store)?;
    let open = begin(home, SystemClock.now(), started, view)?;
    if let Some(left) = left {
        out::note(&format!(
            "note: session {} was killed while it wrote files here; those writes were first finished or undone \
             (`perspt status {}`)",
            left.session, left.session
        ));
    }
    Ok(open)
}
