//! `perspt doctor`: which tools work here, what confines them, whether a model can be asked.

use std::time::Duration;

use perspt_agent::explore::try_tools;
use perspt_agent::slot::RunConfig;
use perspt_core::outcome::Outcome;
use perspt_lang::plugin::ToolState;
use perspt_sandbox::Level;

use crate::args::DoctorArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::{machine, model, out, wire, workspace};

pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
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
    let model = config.model()?;
    let endpoint = match model::make(model, config.base_url()?) {
        Ok(_) => "configured, not contacted".to_owned(),
        Err(trouble) => format!("cannot be asked: {}; {}", out::plain(&trouble.why), trouble.todo),
    };
    out::line(&format!(
        "model      {} at {} ({endpoint})",
        out::plain(model),
        perspt_model::shown_url(config.text("base_url"))
    ));
    let timeout = Duration::from_millis(settings.probe_timeout_ms);
    let machine = machine::of(&folder);
    let run_config = RunConfig {
        outputs: None,
        runner: &runner,
        env: &machine::environment(&machine),
        machine: &machine,
        workspace: &folder,
        secret_places: &machine::secret_places(&home, &config),
    };
    let slot_dir = home.slots_dir().join("doctor/0");
    let seen = runtime.block_on(try_tools(&slot_dir, run_config, &machine, timeout))?;
    let mut working = 0;
    for (plugin, tool, state) in &seen {
        match state {
            ToolState::Works { version, .. } => {
                working += 1;
                out::line(&format!("{plugin:<10} {tool}: works ({})", out::plain(version)));
            }
            ToolState::Missing { why, install } => {
                out::line(&format!(
                    "{plugin:<10} {tool}: missing ({}); {}",
                    out::plain(why),
                    out::plain(install)
                ));
            }
            ToolState::Broken { why, install } => {
                out::line(&format!(
                    "{plugin:<10} {tool}: broken ({}); {}",
                    out::plain(why),
                    out::plain(install)
                ));
            }
        }
    }
    runtime.shutdown_background();
    Ok(if working == 0 { Outcome::DegradedVerification.exit_code() } else { 0 })
}
