//! Putting a session together: data directory, runner, model, console and plugins, and the loop over them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_agent::actor::{Actor, ModelMaker, Parts};
use perspt_agent::open::Open;
use perspt_agent::ports::{SystemClock, View};
use perspt_agent::session::{Session, run};
use perspt_agent::trouble::too_many_files;
use perspt_core::event::Trouble;
use perspt_core::state::SessionState;
use perspt_model::Recording;
use perspt_policy::mask::Masks;
use perspt_sandbox::Runner;
use perspt_store::{Home, RealDisk};

use crate::args::RunArgs;
use crate::config::{self, Config};
use crate::console::Person;
use crate::fail::Failure;
use crate::interrupts::ProcessInterrupts;
use crate::machine;

/// The hidden word under which this program is the sandbox's helper.
pub const BOX: &str = "__box";

/// The data dir, opened.
pub fn open_home(config: &Config) -> Result<Home, Failure> {
    // A link in the data dir's own path would be seen differently by confined commands.
    let root = config::existing_part_resolved(&config.home);
    Ok(Home::open(root, Arc::new(RealDisk))?)
}

/// The runner, with this program as its helper.
pub fn runner() -> Result<Runner, Failure> {
    let helper = std::env::current_exe().map_err(|error| {
        Failure::internal(
            "perspt cannot find its own program",
            error.to_string(),
            "start it by its full path",
        )
    })?;
    Ok(Runner::new(helper, vec![BOX.to_owned()]))
}

/// What is never shown: the values of secret variables, the provider's key among them, and what looks like a secret.
pub fn masks() -> Masks {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    Masks::knowing(std::env::vars_os().filter_map(text))
}

/// The threads that effects run on.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        let todo = match too_many_files(&error) {
            Some(_) => "raise the limit of open files (`ulimit -n`)",
            None => "free some memory or processes",
        };
        Failure::internal("perspt cannot start its threads", error.to_string(), todo)
    })
}

/// Where calls to models are saved, beside the log.
#[derive(Debug, Clone, Default)]
pub struct Recordings {
    /// A folder that the user names; it can be played back.
    pub folder: Option<PathBuf>,
    /// Whether they are kept with the session.
    pub in_session: bool,
}

impl Recordings {
    /// As the command line says.
    pub fn of(run: &RunArgs) -> Recordings {
        Recordings { folder: run.record.clone(), in_session: run.log_llm }
    }

    /// A maker whose models save what they are asked and what they answer, with secrets hidden.
    pub fn around(&self, maker: ModelMaker, session: &Path) -> Result<ModelMaker, Failure> {
        let kept = self.in_session.then(|| session.join("llm"));
        let folders: Vec<PathBuf> = self.folder.iter().cloned().chain(kept).collect();
        for folder in &folders {
            std::fs::create_dir_all(folder).map_err(|error| {
                let why = format!("{}: {error}", folder.display());
                Failure::usage("calls cannot be recorded", why, "name a folder that you can write to")
            })?;
        }
        Ok(Box::new(move |meta, route| {
            let mut model = maker(meta, route)?;
            for folder in &folders {
                let masks = masks();
                let recording = Recording::wrap(model, folder, Box::new(move |text| masks.masked(text)));
                model = Arc::new(recording.map_err(|error| Trouble {
                    what: "calls cannot be recorded".to_owned(),
                    why: error.to_string(),
                    todo: "name a folder that you can write to".to_owned(),
                })?);
            }
            Ok(model)
        }))
    }
}

/// Runs an opened session to its end, on a runtime of its own.
pub fn drive(
    home: &Home,
    config: &Config,
    open: Open,
    model: ModelMaker,
    view: &mut dyn View,
) -> Result<SessionState, Failure> {
    let Open { mut writer, state, history, workspace, lease, .. } = open;
    let session = writer.session().clone();
    let runtime = runtime()?;
    let tools = machine::of(&workspace);
    let own = state.settings().own;
    let mut plugins = perspt_lang::plugins().to_vec();
    plugins.extend(own.give_commands().then(perspt_lang::generic));
    let parts = Parts {
        home: home.clone(),
        blobs: home.blobs(&session)?,
        texts: home.texts(&session)?,
        lease,
        env: machine::environment(&tools, &own.pass_env),
        machine: tools,
        workspace,
        runner: runner()?,
        plugins,
        secret_places: machine::secret_places(home, config),
        masks: masks(),
        model,
        console: Arc::new(Person::default()),
    };
    let inbox = home.inbox(&session)?;
    let result = runtime.block_on(async {
        let mut interrupts = ProcessInterrupts::new(inbox).map_err(|error| {
            Failure::internal("perspt cannot listen for signals", error.to_string(), "report this")
        })?;
        let loop_of = Session {
            log: &mut writer,
            state,
            history,
            act: Arc::new(Actor::new(parts)),
            clock: &SystemClock,
            interrupts: &mut interrupts,
            view,
        };
        Ok::<_, Failure>(run(loop_of).await?)
    });
    // A question that nobody answered must not keep the program alive.
    runtime.shutdown_background();
    result
}
