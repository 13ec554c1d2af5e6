//! `perspt doctor`: which tools work here, what confines them, which models can be asked.

use std::time::Duration;

use perspt_agent::explore::try_tools;
use perspt_agent::parse::{Payload, Shape, Wanted, read};
use perspt_agent::slot::RunConfig;
use perspt_core::outcome::Outcome;
use perspt_core::route::{Route, Tier};
use perspt_lang::plugin::ToolState;
use perspt_model::{CallLimits, Cancel, Prompt, Turn};
use perspt_sandbox::Level;
use tokio::runtime::Runtime;

use crate::args::DoctorArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::models::{Maker, Models, look_at};
use crate::view::models_fields;
use crate::{machine, out, wire, workspace};

/// What the model is asked with `--online`: it shows whether the form that changes come in can be read.
const QUESTION: &str = include_str!("doctor_question.md");

pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let mut config = Config::load()?;
    config.flag("model", "--model", args.model.clone());
    config.flag("base_url", "--base-url", args.base_url.clone());
    let folder = workspace::resolve(args.workspace.as_deref())?;
    let home = wire::open_home(&config)?;
    let settings = config.settings()?;
    let runtime = wire::runtime()?;
    let runner = wire::runner()?;
    let confinement =
        runtime.block_on(runner.available_confinement()).map_err(perspt_agent::AgentError::from)?;
    out::line(&format!("data       {}", home.root().display()));
    if let Some(failure) = workspace::refusal(&home, &folder) {
        out::line(&format!(
            "folder     {} cannot be a workspace: {}; {}",
            out::plain(&folder.to_string_lossy()),
            out::plain(&failure.trouble.why),
            failure.trouble.todo
        ));
    }
    let level = match confinement.level() {
        Level::Full => "full: namespaces, Landlock and seccomp",
        Level::Partial => "partial",
        Level::None => "none: commands run unconfined",
    };
    out::line(&format!("sandbox    {level}"));
    confinement.missing.iter().for_each(|missing| out::line(&format!("           not prevented: {missing}")));
    let answered = models(&config, args, &runtime)?;
    let timeout = Duration::from_millis(settings.probe_timeout_ms);
    let machine = machine::of(&folder);
    let run_config = RunConfig {
        outputs: None,
        runner: &runner,
        env: &machine::environment(&machine, &settings.own.pass_env),
        machine: &machine,
        workspace: &folder,
        secret_places: &machine::secret_places(&home, &config),
    };
    let slot_dir = home.slots_dir().join("doctor/0");
    let seen = runtime.block_on(try_tools(&slot_dir, run_config, &machine, timeout))?;
    let mut working = 0;
    for (plugin, tool, state) in &seen {
        let line = match state {
            ToolState::Works { version, .. } => {
                working += 1;
                format!("works ({})", out::plain(version))
            }
            ToolState::Missing { why, install } => {
                format!("missing ({}); {}", out::plain(why), out::plain(install))
            }
            ToolState::Broken { why, install } => {
                format!("broken ({}); {}", out::plain(why), out::plain(install))
            }
        };
        out::line(&format!("{plugin:<10} {tool}: {line}"));
    }
    runtime.shutdown_background();
    Ok(match (answered, working) {
        (Online::Failed, _) => Outcome::ProviderUnusable.exit_code(),
        (_, 0) => Outcome::DegradedVerification.exit_code(),
        (Online::NotAsked | Online::Answered, _) => 0,
    })
}

/// What came of asking a model.
enum Online {
    NotAsked,
    Answered,
    Failed,
}

fn models(config: &Config, args: &DoctorArgs, runtime: &Runtime) -> Result<Online, Failure> {
    let models = Models::load(config)?;
    local_servers(&models);
    let routes = match models.routes() {
        Ok(routes) => routes,
        Err(failure) => {
            let (why, todo) = (out::plain(&failure.trouble.why), &failure.trouble.todo);
            out::line(&format!("model      cannot be asked: {why}; {todo}"));
            return Ok(if args.online { Online::Failed } else { Online::NotAsked });
        }
    };
    let maker = Maker::new(config)?;
    let mut ready = true;
    for route in &routes {
        if let Err(trouble) = maker.make(&route.main) {
            ready = false;
            let why = out::plain(&trouble.why);
            out::line(&format!(
                "model      {} cannot be asked: {why}; {}",
                out::plain(&route.main.model),
                trouble.todo
            ));
            break;
        }
    }
    if ready {
        let state = if args.online { "" } else { " (not contacted; `--online` asks it)" };
        out::line(&format!("models     {}{state}", models_fields(&routes)));
    }
    if !args.online {
        return Ok(Online::NotAsked);
    }
    let writes = routes.iter().find(|route| route.tier == Tier::Actuator).map(|route| &route.main);
    let Some(route) = writes.filter(|_| ready) else { return Ok(Online::Failed) };
    Ok(ask(&maker, route, runtime))
}

/// Servers on this machine that answer on their usual ports.
fn local_servers(models: &Models<'_>) {
    for provider in models.catalog().providers().iter().filter(|provider| provider.is_local()) {
        let base_url = provider.base_url_in(crate::config::env_text);
        let Some(found) = look_at(&base_url) else { continue };
        let names: Vec<String> = found
            .models
            .iter()
            .take(8)
            .map(|model| format!("{}::{}", provider.name, out::plain(&model.name)))
            .collect();
        out::line(&format!(
            "local      {} at {}: {}",
            found.server,
            perspt_model::shown_url(&base_url),
            names.join(", ")
        ));
    }
}

/// One real call, told as it went.
fn ask(maker: &Maker, route: &Route, runtime: &Runtime) -> Online {
    let model = match maker.make(route) {
        Ok(model) => model,
        Err(trouble) => {
            out::line(&format!("online     {}; {}", out::plain(&trouble.why), trouble.todo));
            return Online::Failed;
        }
    };
    let prompt = Prompt::chat(String::new(), vec![Turn::user(QUESTION)]);
    let limits = CallLimits { max_output_tokens: 2000, ..CallLimits::default() };
    let limits = if route.local { limits.with_reading_time(prompt.estimated_tokens()) } else { limits };
    let (mut unseen, cancel) = (|_: &str| {}, Cancel::new());
    match runtime.block_on(model.ask(&prompt, &limits, &mut unseen, &cancel)) {
        Err(error) => {
            out::line(&format!("online     {}", out::plain(&error.what())));
            Online::Failed
        }
        Ok(answer) => {
            let (first, all) = (answer.first_token.as_millis(), answer.latency.as_millis());
            let tokens = match answer.usage {
                Some(usage) => format!("{} tokens in, {} out", usage.input, usage.output),
                None => "tokens not reported".to_owned(),
            };
            let said = answer.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
            let said: String = said.chars().take(60).collect();
            let model = out::plain(&answer.model);
            out::line(&format!(
                "online     {model} answered in {all} ms (first word after {first} ms), {tokens}: {}",
                out::plain(&said)
            ));
            let form = match read(&answer.text, &Wanted::one_of(&[Shape::Bundle])) {
                Ok(reading) if matches!(reading.payload, Payload::Bundle(_)) => {
                    format!("the form of its answer can be read ({})", reading.finder.as_str())
                }
                Ok(_) => "the form of its answer cannot be read".to_owned(),
                Err(rejection) => {
                    let why = rejection.lines.first().map_or("", String::as_str);
                    format!("the form of its answer cannot be read: {}", out::plain(why))
                }
            };
            out::line(&format!("           {form}"));
            Online::Answered
        }
    }
}
