//! The user's own commands and variables, as flags and configuration name them.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::event::Settings;
use perspt_core::grade::Require;
use perspt_core::own::{OwnCommand, OwnCommands, OwnWays};
use perspt_core::path::RelPath;
use perspt_policy::argv::parse_argv;

use crate::config::{Config, Value};
use crate::fail::Failure;
use crate::models::Models;
use crate::wire;

/// The keys that a language may have in a table of its own, as `[lang.python]`.
pub const KEYS: [&str; 3] = ["build_cmd", "test_cmd", "test_report"];

/// The most bytes of it in the log: the first event holds all of it, beside the task.
const BYTES: usize = 2000;

/// Variables that every command is given by perspt itself.
const SET: [&str; 5] = ["PATH", "HOME", "TMPDIR", "LANG", "TERM"];

/// The language and the key of a name such as `lang.python.test_cmd`.
fn of_language(name: &str) -> Option<(&str, &'static str)> {
    let (language, key) = name.strip_prefix("lang.")?.split_once('.')?;
    let key = KEYS.into_iter().find(|known| *known == key)?;
    let mut known = perspt_lang::plugins().iter();
    known.any(|plugin| plugin.name() == language).then_some((language, key))
}

/// Whether a name of the configuration is a key of a language.
pub fn is_key(name: &str) -> bool {
    of_language(name).is_some()
}

/// What flags and configuration say of how projects are built and tested.
pub fn ways(config: &Config) -> Result<OwnWays, Failure> {
    let mut ways = OwnWays { pass_env: passed(config)?, ..OwnWays::default() };
    for key in KEYS {
        if let Some(value) = config.value(key) {
            set(&mut ways.commands, key, (key, value))?;
        }
    }
    let mut by_language: BTreeMap<String, OwnCommands> = BTreeMap::new();
    for (name, value) in config.by_language() {
        let Some((language, key)) = of_language(name) else { continue };
        set(by_language.entry(language.to_owned()).or_default(), key, (name, value))?;
    }
    ways.by_language = by_language;
    if bytes(&ways) > BYTES {
        return Err(Failure::usage(
            "your own commands are too long",
            format!("together with the names of variables they may have {BYTES} bytes"),
            "put them into a script of the project and name that",
        ));
    }
    Ok(ways)
}

/// A test command says which files it notices, and never which of its tests load them: then tests cannot be required.
pub fn check_required(settings: &Settings) -> Result<(), Failure> {
    if settings.require != Some(Require::Tests) || settings.own.commands.test_cmd.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "`--require tests` cannot be met with a test command of your own",
        "what such a command proves is `command`: which of its tests load a file is not known",
        "leave one of the two out",
    ))
}

/// How many bytes of the first event it takes.
pub fn bytes(ways: &OwnWays) -> usize {
    if ways.is_empty() { 0 } else { serde_json::to_vec(ways).map_or(0, |text| text.len()) }
}

fn set(commands: &mut OwnCommands, key: &str, (name, value): (&str, &Value)) -> Result<(), Failure> {
    match key {
        "build_cmd" => commands.build_cmd = Some(command(name, value)?),
        "test_cmd" => commands.test_cmd = Some(command(name, value)?),
        _ => commands.test_report = Some(report(name, value)?),
    }
    Ok(())
}

fn unusable(name: &str, value: &Value, why: &str, todo: &str) -> Failure {
    let why = format!("`{}` (from {}): {why}", value.text.trim(), value.source);
    Failure::usage(format!("`{name}` is not usable"), why, todo)
}

/// A command line as program and arguments. There is no shell, so what only a shell could do is refused.
fn command(name: &str, value: &Value) -> Result<OwnCommand, Failure> {
    let text = value.text.trim();
    if wire::masks().masked(text) != text {
        return Err(Failure::usage(
            format!("`{name}` is not usable"),
            "it holds something that looks like a secret, and commands are recorded",
            "put it into a variable and pass that by name, with `--pass-env`",
        ));
    }
    let words = parse_argv(text).map_err(|error| {
        let todo = "put what needs a shell into a script of the project and name that";
        unusable(name, value, &error.to_string(), todo)
    })?;
    if words.first().is_some_and(|word| word.contains('=')) {
        let why = "it begins with a variable, and there is no shell to set it";
        return Err(unusable(name, value, why, "begin with `env`, or put it into a script of the project"));
    }
    Ok(OwnCommand(words))
}

fn report(name: &str, value: &Value) -> Result<RelPath, Failure> {
    RelPath::parse(value.text.trim().trim_start_matches("./")).map_err(|error| {
        unusable(name, value, &error.to_string(), "name a file below the folder that the tests run in")
    })
}

/// The names of the variables that commands are given. A key for a model is none: nothing that a command runs needs it.
fn passed(config: &Config) -> Result<BTreeSet<String>, Failure> {
    let names: BTreeSet<String> = config.words("pass_env").map(str::to_owned).collect();
    let providers = Models::load(config)?;
    let is_key = |name: &str| {
        let mut keys = providers.catalog().providers().iter().flat_map(|provider| &provider.key_variables);
        keys.any(|key| key == name)
    };
    for name in &names {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let why = match () {
            () if !plain || name.starts_with(|c: char| c.is_ascii_digit()) => "it is no name of a variable",
            () if SET.contains(&name.as_str()) => "perspt sets it for every command",
            () if name.starts_with("PERSPT_") || is_key(name) => {
                "keys and perspt's own settings stay with perspt"
            }
            () => continue,
        };
        return Err(Failure::usage(
            "a variable cannot be passed",
            format!("`{name}`: {why}"),
            "leave it out of `--pass-env` and `pass_env`",
        ));
    }
    Ok(names)
}
