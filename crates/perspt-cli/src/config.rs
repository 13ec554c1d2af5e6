//! Configuration: built-in values, the user's file, the environment, flags; each value knows its source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use perspt_core::consent::{BadGrant, Grant, GrantedBy};
use perspt_core::event::{PlanningPolicy, Settings};
use perspt_core::grade::Require;
use perspt_core::residual::Milli;
use perspt_core::route::{AnswerForm, Tier};
use perspt_core::stage::Preset;
use toml_edit::DocumentMut;

use crate::args::{JudgeArgs, RunArgs};
use crate::fail::Failure;
use crate::own;

/// No provider's model has a longer name, and every event that carries it must fit into the log.
const MODEL_MAX: usize = 200;
/// For addresses, and for the folder in `replay:DIR`.
const PLACE_MAX: usize = 2000;
/// A smaller window has no room for a prompt and its answer.
const LEAST_WINDOW: u32 = 2000;

/// The user's file in the data directory.
const FILE: &str = "config.toml";

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// perspt itself.
    BuiltIn,
    /// The user's file.
    File(PathBuf),
    /// A variable.
    Environment(String),
    /// The command line.
    Flag(&'static str),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built-in"),
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Environment(name) => write!(f, "${name}"),
            Source::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One value as text, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    pub source: Source,
}

/// Every key, its value and source.
#[derive(Debug, Clone)]
pub struct Config {
    values: BTreeMap<&'static str, Value>,
    /// The user's commands for single languages, by names such as `lang.python.test_cmd`.
    by_language: BTreeMap<String, Value>,
    /// The data directory.
    pub home: PathBuf,
    /// Where the data directory comes from.
    pub home_source: Source,
}

/// Gives the built-in value of a key as text.
type BuiltIn = fn(&Settings) -> String;

/// The keys of the configuration.
const KEYS: &[(&str, BuiltIn)] = &[
    ("model", |_| String::new()),
    ("architect_model", |_| String::new()),
    ("actuator_model", |_| String::new()),
    ("verifier_model", |_| String::new()),
    ("speculator_model", |_| String::new()),
    ("architect_fallback_model", |_| String::new()),
    ("actuator_fallback_model", |_| String::new()),
    ("verifier_fallback_model", |_| String::new()),
    ("speculator_fallback_model", |_| String::new()),
    ("base_url", |_| String::new()),
    ("answer_form", |_| String::new()),
    ("context_window", |_| String::new()),
    ("planning_policy", |_| String::new()),
    ("parse.recovery", |_| "tolerant".to_owned()),
    ("max_cost", |_| String::new()),
    ("max_steps", |settings| settings.limits.steps.to_string()),
    ("max_tokens", |settings| settings.limits.tokens.to_string()),
    ("max_time", |settings| (settings.limits.time_ms / 60_000).to_string()),
    ("energy_weights", |settings| {
        let weights = settings.weights;
        format!("{},{},{}", weights.alpha, weights.beta, weights.gamma)
    }),
    ("stability_threshold", |settings| settings.weights.epsilon.to_string()),
    ("allow", |_| String::new()),
    ("require", |_| String::new()),
    ("verifier_strictness", |settings| settings.preset.as_str().to_owned()),
    ("build_cmd", |_| String::new()),
    ("test_cmd", |_| String::new()),
    ("test_report", |_| String::new()),
    ("pass_env", |_| String::new()),
    ("output_tokens", |settings| settings.output_tokens.to_string()),
    ("first_byte_ms", |settings| settings.first_byte_ms.to_string()),
    ("idle_ms", |settings| settings.idle_ms.to_string()),
    ("total_ms", |settings| settings.total_ms.to_string()),
    ("backoff_ms", |settings| settings.backoff_ms.to_string()),
    ("stage_timeout_ms", |settings| settings.stage_timeout_ms.to_string()),
    ("probe_timeout_ms", |settings| settings.probe_timeout_ms.to_string()),
];

impl Config {
    /// Reads every layer but the flags.
    pub fn load() -> Result<Config, Failure> {
        let (home, home_source) = home()?;
        check_folder(&home, &home_source)?;
        let built_in = Settings::default();
        let mut values: BTreeMap<&'static str, Value> = KEYS
            .iter()
            .map(|(key, text)| (*key, Value { text: text(&built_in), source: Source::BuiltIn }))
            .collect();
        let mut by_language = BTreeMap::new();
        read_file(&home.join(FILE), &mut values, &mut by_language)?;
        let mut from_env = |key: &'static str, variable: &str| {
            if let Some(text) = env_text(variable) {
                values.insert(key, Value { text, source: Source::Environment(variable.to_owned()) });
            }
        };
        for (key, _) in KEYS {
            from_env(key, &format!("PERSPT_{}", key.to_uppercase().replace('.', "_")));
        }
        Ok(Config { values, by_language, home, home_source })
    }

    /// Without the user's own commands: they are for projects of the user's.
    pub fn without_own_commands(mut self) -> Config {
        for key in own::KEYS {
            self.flag(key, "demo", Some(String::new()));
        }
        self.by_language.clear();
        self
    }

    /// The flags' layer.
    pub fn with_run_args(mut self, args: &RunArgs) -> Config {
        self.flag("model", "--model", args.model.clone());
        self.flag("base_url", "--base-url", args.base_url.clone());
        for (tier, model, fallback) in args.tiers.named() {
            let (key, flag) = tier_key(tier);
            self.flag(key, flag, model.clone());
            let (key, flag) = fallback_key(tier);
            self.flag(key, flag, fallback.clone());
        }
        self.flag("max_cost", "--max-cost", args.max_cost.clone());
        self.flag("max_steps", "--max-steps", args.max_steps.map(|n| n.to_string()));
        self.flag("max_tokens", "--max-tokens", args.max_tokens.map(|n| n.to_string()));
        self.flag("max_time", "--max-time", args.max_time.map(|n| n.to_string()));
        self
    }

    /// The layer of the flags that say how a tree is judged.
    pub fn with_judge_args(mut self, args: &JudgeArgs) -> Config {
        self.flag("energy_weights", "--energy-weights", args.energy_weights.clone());
        self.flag("require", "--require", args.require.clone());
        self.flag("verifier_strictness", "--verifier-strictness", args.verifier_strictness.clone());
        self.flag("stability_threshold", "--stability-threshold", args.stability_threshold.clone());
        self.flag("build_cmd", "--build-cmd", args.build_cmd.clone());
        self.flag("test_cmd", "--test-cmd", args.test_cmd.clone());
        self.flag("test_report", "--test-report", args.test_report.clone());
        let passed = (!args.pass_env.is_empty()).then(|| args.pass_env.join(","));
        self.flag("pass_env", "--pass-env", passed);
        self
    }

    pub fn flag(&mut self, key: &'static str, flag: &'static str, text: Option<String>) {
        if let Some(text) = text {
            self.values.insert(key, Value { text, source: Source::Flag(flag) });
        }
    }

    /// Every key with its value.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        let keys = KEYS.iter().filter_map(|(key, _)| Some((*key, self.values.get(key)?)));
        keys.chain(self.by_language())
    }

    /// The values for single languages, by names such as `lang.python.test_cmd`.
    pub fn by_language(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.by_language.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A value that is set to something.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.text.trim().is_empty())
    }

    /// The user's file, whether it is there or not.
    pub fn file(&self) -> PathBuf {
        self.home.join(FILE)
    }

    pub fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", |value| value.text.as_str())
    }

    /// Whether a value was set by anyone but perspt.
    pub fn is_set(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(|value| value.source != Source::BuiltIn)
    }

    /// The endpoint, where one is named.
    pub fn base_url(&self) -> Result<Option<&str>, Failure> {
        let text = self.text("base_url");
        if text.len() > PLACE_MAX {
            return Err(self.invalid("base_url", &format!("an address of at most {PLACE_MAX} bytes")));
        }
        Ok(self.is_set("base_url").then_some(text))
    }

    /// The model that a key names, where it names one.
    pub fn model(&self, key: &'static str) -> Result<Option<&str>, Failure> {
        if !self.is_set(key) {
            return Ok(None);
        }
        let name = self.text(key).trim();
        let most = if name.starts_with("replay:") { PLACE_MAX } else { MODEL_MAX };
        if name.is_empty() || name.len() > most || name.chars().any(char::is_control) {
            let wanted = format!("a name of at most {most} bytes without control characters");
            return Err(self.invalid(key, &wanted));
        }
        Ok(Some(name))
    }

    /// The form that answers are asked for in, where the user names one.
    pub fn answer_form(&self) -> Result<Option<AnswerForm>, Failure> {
        match self.text("answer_form").trim() {
            "" => Ok(None),
            "blocks" => Ok(Some(AnswerForm::Blocks)),
            "json" => Ok(Some(AnswerForm::Json)),
            _ => Err(self.invalid("answer_form", "`blocks` or `json`")),
        }
    }

    /// The window of the model, where the user names it.
    pub fn context_window(&self) -> Result<Option<u32>, Failure> {
        if !self.is_set("context_window") {
            return Ok(None);
        }
        let window = self.number("context_window")?;
        let window = u32::try_from(window).ok().filter(|window| *window >= LEAST_WINDOW);
        let wanted = format!("a number of tokens, {LEAST_WINDOW} or more");
        window.map(Some).ok_or_else(|| self.invalid("context_window", &wanted))
    }

    /// How the task becomes a plan, where the user says so.
    pub fn planning(&self) -> Result<Option<PlanningPolicy>, Failure> {
        let word = self.text("planning_policy").trim();
        if word.is_empty() {
            return Ok(None);
        }
        let known = PlanningPolicy::ALL.into_iter().find(|policy| policy.as_str() == word);
        let words = PlanningPolicy::ALL.map(PlanningPolicy::as_str).join(", ");
        known.map(Some).ok_or_else(|| self.invalid("planning_policy", &format!("one of {words}")))
    }

    /// The most that a session may cost, in millionths of a US dollar.
    pub fn max_cost(&self) -> Result<Option<u64>, Failure> {
        if !self.is_set("max_cost") {
            return Ok(None);
        }
        let text = self.text("max_cost").trim().trim_start_matches('$');
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        let fine = (1..=9).contains(&whole.len()) && digits(whole) && digits(rest) && rest.len() <= 6;
        let cost = fine.then(|| format!("{whole}{rest:0<6}").parse::<u64>().ok()).flatten();
        let wanted = "an amount of US dollars, as `2.50`";
        cost.filter(|cost| *cost > 0).map(Some).ok_or_else(|| self.invalid("max_cost", wanted))
    }

    /// What the user permits: words of `--allow`, with commas between or as a list.
    pub fn allow(&self) -> Result<Vec<Grant>, Failure> {
        let grants = self.words("allow").map(|word| {
            let grant: Grant =
                word.parse().map_err(|error: BadGrant| self.invalid("allow", &error.to_string()))?;
            Ok(Grant { by: GrantedBy::Config, ..grant })
        });
        grants.collect()
    }

    /// The words of a list, with commas between them or written as a list.
    pub fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        let text = self.text(key).trim().trim_start_matches('[').trim_end_matches(']');
        let words = text.split(',').map(|word| word.trim().trim_matches(['"', '\'']).trim());
        words.filter(|word| !word.is_empty())
    }

    /// The settings a session runs with.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        settings.limits.steps = self.number("max_steps")?;
        settings.limits.tokens = self.number("max_tokens")?;
        settings.limits.time_ms = self.number("max_time")?.saturating_mul(60_000);
        settings.limits.cost = self.max_cost()?;
        settings.strict_answers = match self.text("parse.recovery").trim() {
            "strict" => true,
            "tolerant" => false,
            _ => return Err(self.invalid("parse.recovery", "`tolerant` or `strict`")),
        };
        settings.output_tokens = u32::try_from(self.number("output_tokens")?).unwrap_or(u32::MAX);
        settings.first_byte_ms = self.number("first_byte_ms")?;
        settings.idle_ms = self.number("idle_ms")?;
        settings.total_ms = self.number("total_ms")?;
        settings.backoff_ms = self.number("backoff_ms")?;
        settings.stage_timeout_ms = self.number("stage_timeout_ms")?;
        settings.probe_timeout_ms = self.number("probe_timeout_ms")?;
        settings.preset = {
            let word = self.text("verifier_strictness").trim();
            let known = Preset::ALL.into_iter().find(|preset| preset.as_str() == word);
            let words = Preset::ALL.map(Preset::as_str).join(", ");
            known.ok_or_else(|| self.invalid("verifier_strictness", &format!("one of {words}")))?
        };
        settings.own = own::ways(self)?;
        settings.require = match self.text("require").trim() {
            "" => None,
            word => {
                let known = Require::ALL.into_iter().find(|require| require.as_str() == word);
                Some(known.ok_or_else(|| self.invalid("require", "one of tests, types, build"))?)
            }
        };
        own::check_required(&settings)?;
        settings.weights.epsilon = self.milli("stability_threshold", self.text("stability_threshold"))?;
        let weights: Vec<&str> = self.text("energy_weights").split(',').collect();
        let [alpha, beta, gamma] = weights.as_slice() else {
            return Err(self.invalid("energy_weights", "three numbers, as `1.0,0.5,2.0`"));
        };
        settings.weights.alpha = self.milli("energy_weights", alpha)?;
        settings.weights.beta = self.milli("energy_weights", beta)?;
        settings.weights.gamma = self.milli("energy_weights", gamma)?;
        Ok(settings)
    }

    fn number(&self, key: &'static str) -> Result<u64, Failure> {
        let number = self.text(key).trim().parse::<u64>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| self.invalid(key, "a whole number above zero"))
    }

    /// A decimal number with at most three places, without going through a float.
    fn milli(&self, key: &'static str, text: &str) -> Result<Milli, Failure> {
        let text = text.trim();
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        let fine = !whole.is_empty() && digits(whole) && digits(rest) && rest.len() <= 3;
        let number = fine.then(|| format!("{whole}{rest:0<3}").parse::<u64>().ok()).flatten();
        number
            .map(Milli)
            .ok_or_else(|| self.invalid(key, "numbers of zero or more with at most three decimals"))
    }

    fn invalid(&self, key: &'static str, wanted: &str) -> Failure {
        let value = self.values.get(key);
        let (text, source) = value.map_or((String::new(), String::new()), |value| {
            (for_message(key, value), value.source.to_string())
        });
        Failure::usage(
            format!("`{key}` is not usable"),
            format!("`{text}` (from {source}) is not {wanted}"),
            format!("set it to {wanted}"),
        )
    }
}

/// A value for a message: short, and without the credentials of an address.
fn for_message(key: &str, value: &Value) -> String {
    const CHARS: usize = 60;
    let text = if key == "base_url" { perspt_model::shown_url(&value.text) } else { value.text.clone() };
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A variable that is set to something.
pub fn env_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

/// The key of the configuration that names a tier's model, and the flag that sets it.
pub fn tier_key(tier: Tier) -> (&'static str, &'static str) {
    match tier {
        Tier::Architect => ("architect_model", "--architect-model"),
        Tier::Actuator => ("actuator_model", "--actuator-model"),
        Tier::Verifier => ("verifier_model", "--verifier-model"),
        Tier::Speculator => ("speculator_model", "--speculator-model"),
    }
}

/// The same for the tier's fallback.
pub fn fallback_key(tier: Tier) -> (&'static str, &'static str) {
    match tier {
        Tier::Architect => ("architect_fallback_model", "--architect-fallback-model"),
        Tier::Actuator => ("actuator_fallback_model", "--actuator-fallback-model"),
        Tier::Verifier => ("verifier_fallback_model", "--verifier-fallback-model"),
        Tier::Speculator => ("speculator_fallback_model", "--speculator-fallback-model"),
    }
}

/// The data directory as it is used: a link in its own path would be seen differently by confined commands.
pub fn data_dir() -> Option<PathBuf> {
    home().ok().map(|(path, _)| existing_part_resolved(&path))
}

/// A path with every link in the part that exists resolved.
pub fn existing_part_resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(resolved), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { resolved } else { resolved.join(rest) };
        }
    }
    path.to_owned()
}

fn home() -> Result<(PathBuf, Source), Failure> {
    let nowhere = |why: String, todo: &str| Failure::usage("perspt has nowhere to keep its data", why, todo);
    if let Some(path) = std::env::var_os("PERSPT_HOME").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        // A relative path would mean other sessions in every folder.
        if !path.is_absolute() {
            let why = format!("PERSPT_HOME is `{}`, which is not a full path", path.display());
            return Err(nowhere(why, "set PERSPT_HOME to a folder's full path, beginning with `/`"));
        }
        return Ok((path, Source::Environment("PERSPT_HOME".to_owned())));
    }
    let todo = "set HOME or PERSPT_HOME to the full path of a folder that you can write to";
    // Without HOME the list of users would be asked, and that may name a folder that this process must not use.
    if std::env::var_os("HOME").is_none_or(|home| !Path::new(&home).is_absolute()) {
        return Err(nowhere("neither PERSPT_HOME nor HOME names a folder".to_owned(), todo));
    }
    let strategy = etcetera::choose_base_strategy().map_err(|error| nowhere(error.to_string(), todo))?;
    Ok((strategy.data_dir().join("perspt"), Source::BuiltIn))
}

/// Refuses a data directory that is a file, or lies below one.
fn check_folder(home: &Path, source: &Source) -> Result<(), Failure> {
    let there = home.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    let Some((path, _)) = there.filter(|(_, metadata)| !metadata.is_dir()) else { return Ok(()) };
    let what = if path == home {
        "perspt's data directory is a file"
    } else {
        "perspt's data directory lies below a file"
    };
    Err(Failure::usage(
        what,
        format!("{} (from {source}): {} is not a folder", home.display(), path.display()),
        "set PERSPT_HOME to a folder, or move the file away",
    ))
}

fn read_file(
    path: &Path,
    values: &mut BTreeMap<&'static str, Value>,
    by_language: &mut BTreeMap<String, Value>,
) -> Result<(), Failure> {
    let bad = |why: String| {
        Failure::usage(
            "the configuration file cannot be used",
            format!("{}: {why}", path.display()),
            "fix or remove it",
        )
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(bad(error.to_string())),
    };
    let document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| bad(error.message().to_owned()))?;
    for (name, item) in flattened(&document) {
        let key = KEYS.iter().find(|(key, _)| *key == name).map(|(key, _)| *key);
        if key.is_none() && !own::is_key(&name) {
            return Err(bad(format!("`{name}` is not a key (see `perspt config --show`)")));
        }
        let text = match item.as_value() {
            Some(toml_edit::Value::String(text)) => text.value().clone(),
            Some(value) => value.to_string().trim().to_owned(),
            None => return Err(bad(format!("`{name}` is not a plain value"))),
        };
        let value = Value { text, source: Source::File(path.to_owned()) };
        match key {
            Some(key) => drop(values.insert(key, value)),
            None => drop(by_language.insert(name, value)),
        }
    }
    Ok(())
}

/// The file's values by name; those of a table `[parse]` as `parse.recovery`.
fn flattened(document: &DocumentMut) -> Vec<(String, &toml_edit::Item)> {
    let mut values = Vec::new();
    let mut open: Vec<(String, &toml_edit::Item)> =
        document.iter().map(|(name, item)| (name.to_owned(), item)).collect();
    while let Some((name, item)) = open.pop() {
        match item.as_table_like().filter(|_| !item.is_value() || item.is_inline_table()) {
            Some(table) => open.extend(table.iter().map(|(key, item)| (format!("{name}.{key}"), item))),
            None => values.push((name, item)),
        }
    }
    values
}
