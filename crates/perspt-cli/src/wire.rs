//! Putting a session together: home, runner, model, plugins, environment, and the loop.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_agent::actor::{Actor, ModelMaker, Parts};
use perspt_agent::open::{Open, data_dir_refusal};
use perspt_agent::ports::{Clock, SystemClock, View};
use perspt_agent::session::{Session, run};
use perspt_agent::trouble::too_many_files;
use perspt_core::event::{SessionStarted, Trouble};
use perspt_core::ids::SessionId;
use perspt_core::state::SessionState;
use perspt_lang::plugin::{Host, Machine};
use perspt_model::{Key, Model, OpenAi, OpenAiConfig, Recorded, shown_url};
use perspt_policy::mask::Masks;
use perspt_sandbox::Runner;
use perspt_store::{Home, RealDisk};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use crate::config::{self, Config};
use crate::console::Person;
use crate::demo;
use crate::fail::Failure;
use crate::interrupts::Terminal;

/// The hidden word under which this program is the sandbox's helper.
pub const BOX: &str = "__box";

/// The data dir, opened.
pub fn open_home(config: &Config) -> Result<Home, Failure> {
    // A link in the data dir's own path would be seen differently by confined commands.
    let root = config::existing_part_resolved(&config.home);
    Ok(Home::open(root, Arc::new(RealDisk))?)
}

/// The folder a command is about, resolved.
pub fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let shown = given.unwrap_or(Path::new("."));
    let unusable = |why: String| {
        let todo = given.map_or("go to an existing folder", |_| "name an existing folder with `-w`");
        Failure::usage("the workspace cannot be used", why, todo)
    };
    let resolved = shown.canonicalize().map_err(|error| unusable(format!("{}: {error}", shown.display())))?;
    if !resolved.is_dir() {
        return Err(unusable(format!("{} is not a folder", shown.display())));
    }
    Ok(resolved)
}

/// The folder a session works in, resolved.
pub fn workspace(given: Option<&Path>, home: &Home) -> Result<PathBuf, Failure> {
    let resolved = folder(given)?;
    match workspace_refusal(home, &resolved) {
        Some(failure) => Err(failure),
        None => Ok(resolved),
    }
}

/// Why no session can work in a folder, with perspt's data where it is.
pub fn workspace_refusal(home: &Home, folder: &Path) -> Option<Failure> {
    let unusable = |why: &str, todo: &str| Failure::usage("the workspace cannot be used", why, todo);
    if folder.parent().is_none() {
        return Some(unusable("it is the root of the file system", "name a project's folder with `-w`"));
    }
    if folder.to_str().is_none() {
        return Some(unusable("its path is not UTF-8", "rename the folder"));
    }
    // A data dir inside what is measured would be measured too.
    if let Some(why) = data_dir_refusal(home.root(), folder) {
        let todo = "set PERSPT_HOME to a folder outside any project";
        return Some(Failure::usage("perspt's data directory cannot be used", why, todo));
    }
    check_writable(folder).err()
}

/// Refuses a workspace that nothing could be committed to, before anything is paid for.
pub fn check_writable(folder: &Path) -> Result<(), Failure> {
    let Err(error) = accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS) else { return Ok(()) };
    let why = match error {
        Errno::ROFS => "its file system is mounted read-only".to_owned(),
        Errno::ACCESS => "you have no permission to write there".to_owned(),
        error => error.to_string(),
    };
    Err(Failure::usage(
        "the workspace is not writable",
        format!("{}: {why}", folder.display()),
        "make it writable, or work in a copy of it",
    ))
}

/// A new session's name: when it began, and something that tells two of one second apart.
pub fn new_session_id() -> SessionId {
    use std::hash::{BuildHasher, Hasher};
    let seconds = SystemClock.now().0 / 1000;
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let (date, time) = civil(seconds);
    SessionId(format!("{date}-{time}-{:05x}", random & 0xf_ffff))
}

/// Date and time of day in UTC, as `20261115` and `231203` (days to civil date after Howard Hinnant's
/// published algorithm).
fn civil(seconds: u64) -> (String, String) {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (
        format!("{year:04}{month:02}{day:02}"),
        format!("{:02}{:02}{:02}", rest / 3600, rest / 60 % 60, rest % 60),
    )
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

/// The machine as plugins may ask about it.
struct ThisHost {
    workspace: String,
}

impl Host for ThisHost {
    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).symlink_metadata().is_ok()
    }

    fn is_folder(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }
}

/// What the languages' tools are given here.
pub fn machine(workspace: &Path) -> Machine {
    Machine::of(perspt_lang::plugins(), &ThisHost { workspace: workspace.to_string_lossy().into_owned() })
}

/// The environment every command starts from: an allow-list, nothing else.
pub fn environment(machine: &Machine) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let own = [("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("TERM", "dumb")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    machine.env.clone().into_iter().chain(own).collect()
}

/// What is hidden from the commands that build and test: the user's secrets and perspt's own data.
pub fn secret_places(home: &Home, config: &Config) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut places = perspt_sandbox::secret_places(variable("HOME").as_deref(), &variable);
    places.extend(home.private_places());
    places.push(config.file());
    places
}

/// What is never shown: the values of secret variables, the provider's key among them, and what looks like a secret.
fn masks() -> Masks {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    Masks::knowing(std::env::vars_os().filter_map(text))
}

/// Makes the model a session names. Its log has the address without credentials and query; like the key, they
/// come from the configuration, where that means the same endpoint.
fn model_maker(config: &Config) -> Result<ModelMaker, Failure> {
    let configured = config.base_url()?.map(str::to_owned);
    Ok(Box::new(move |meta: &SessionStarted| {
        let logged = meta.base_url.as_deref();
        let same = configured.as_deref().filter(|whole| Some(shown_url(whole).as_str()) == logged);
        make_model(&meta.model, same.or(logged))
    }))
}

/// The model of this name at this endpoint. Nothing is sent yet.
pub fn make_model(name: &str, base_url: Option<&str>) -> Result<Arc<dyn Model>, Trouble> {
    let failed =
        |what: &str, why: String, todo: &str| Trouble { what: what.to_owned(), why, todo: todo.to_owned() };
    if let Some(language) = name.strip_prefix("demo:") {
        return Ok(Arc::new(demo::recording(language)));
    }
    if let Some(folder) = name.strip_prefix("replay:") {
        return match Recorded::from_dir(Path::new(folder)) {
            Ok(recorded) => Ok(Arc::new(recorded)),
            Err(error) => Err(failed(
                "the recording cannot be used",
                error.to_string(),
                "name a folder of recorded answers",
            )),
        };
    }
    let key = config::provider_key();
    if key.is_none() && base_url.is_none() {
        return Err(failed(
            "no model can be asked",
            "neither OPENAI_API_KEY nor OPENAI_BASE_URL is set".to_owned(),
            "set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without a key",
        ));
    }
    let openai = OpenAi::new(OpenAiConfig {
        base_url: base_url.unwrap_or(config::DEFAULT_BASE_URL).to_owned(),
        key: key.as_deref().and_then(Key::new),
        model: name.to_owned(),
    });
    match openai {
        Ok(model) => Ok(Arc::new(model)),
        Err(error) => Err(failed(
            "the model's endpoint cannot be used",
            error.to_string(),
            "check the base URL and the key",
        )),
    }
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

/// Runs an opened session to its end, on a runtime of its own.
pub fn drive(home: &Home, config: &Config, open: Open, view: &mut dyn View) -> Result<SessionState, Failure> {
    let Open { mut writer, state, workspace, lease, .. } = open;
    let session = writer.session().clone();
    let runtime = runtime()?;
    let machine = machine(&workspace);
    let parts = Parts {
        home: home.clone(),
        blobs: home.blobs(&session)?,
        texts: home.texts(&session)?,
        lease,
        env: environment(&machine),
        machine,
        workspace,
        runner: runner()?,
        plugins: perspt_lang::plugins().to_vec(),
        secret_places: secret_places(home, config),
        masks: masks(),
        model: model_maker(config)?,
        console: Arc::new(Person::default()),
    };
    let inbox = home.inbox(&session)?;
    let result = runtime.block_on(async {
        let mut interrupts = Terminal::new(inbox).map_err(|error| {
            Failure::internal("perspt cannot listen for signals", error.to_string(), "report this")
        })?;
        let loop_of = Session {
            log: &mut writer,
            state,
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
