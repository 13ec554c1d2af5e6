//! The words of the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand, ValueEnum};

use perspt_core::consent::Grant;
use perspt_core::route::Tier;

/// A terminal coding agent that keeps only what it can prove.
#[derive(Debug, Parser)]
#[command(name = "perspt", version, about, long_about = None, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Do a task: plan it, write it, verify it, keep what is proved
    Agent(Box<AgentArgs>),
    /// Continue a session that was paused, interrupted or stopped
    Resume(Box<ResumeArgs>),
    /// Measure a folder as it is: build, types, lints, tests; no model, nothing is written there
    Verify(Box<VerifyArgs>),
    /// Show a session: nodes, energy, budget
    Status(StatusArgs),
    /// Look at the ledger of committed work, or verify it
    Ledger(LedgerArgs),
    /// Say yes to what a session asks, from another terminal
    Approve(ApproveArgs),
    /// Say no to what a session asks, from another terminal
    Deny(DenyArgs),
    /// End a running session from another terminal
    Abort(AbortArgs),
    /// Show the configuration and where each value comes from
    Config(ConfigArgs),
    /// Check which tools work here and what to install
    Doctor(DoctorArgs),
    /// Ask a model and print its answer, or talk with it line by line
    SimpleChat(SimpleChatArgs),
    /// Watch a recorded model build a small project, verified by real tools
    Demo(DemoArgs),
}

/// How a session runs.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct RunArgs {
    /// Approve the plan and the session's policy without asking
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Without a terminal, wait until `perspt approve` or `perspt deny` answers
    #[arg(long, conflicts_with = "yes")]
    pub wait_for_approval: bool,
    /// The model: `provider::model`, an alias, a bare name, or `replay:DIR` for recorded answers
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Models for single tiers.
    #[command(flatten)]
    pub tiers: TierArgs,
    /// The endpoint, `/v1` included
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// At most this many US dollars
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<String>,
    /// Save every call in this folder, to be played back with `--model replay:DIR`
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Keep prompts and answers for good, with secrets hidden
    #[arg(long)]
    pub log_llm: bool,
    /// At most this many model calls
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// At most this many tokens, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// At most this many minutes of work
    #[arg(long, value_name = "MINUTES")]
    pub max_time: Option<u64>,
    /// Permit what only you can permit: tests, evidence, red, deps, unmeasured, command; each alone, with `:any` or
    /// with `:SUBJECT`
    #[arg(long, value_name = "KIND[:SUBJECT]")]
    pub allow: Vec<Grant>,
    /// Print every event as a JSON line
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// Whether a flag says which model to ask, or where.
    pub fn names_models(&self) -> bool {
        let tiers = self.tiers.named();
        let in_tiers = tiers.iter().any(|(_, model, fallback)| model.is_some() || fallback.is_some());
        in_tiers || self.model.is_some() || self.base_url.is_some()
    }
}

/// Models for single tiers, and those that take over where one fails.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct TierArgs {
    /// The model that plans
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub architect_model: Option<String>,
    /// The model that writes files
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub actuator_model: Option<String>,
    /// The model that explains findings
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub verifier_model: Option<String>,
    /// The model that looks ahead and summarises
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub speculator_model: Option<String>,
    /// Plans where that one fails
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub architect_fallback_model: Option<String>,
    /// Writes files where that one fails
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub actuator_fallback_model: Option<String>,
    /// Explains findings where that one fails
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub verifier_fallback_model: Option<String>,
    /// Looks ahead where that one fails
    #[arg(long, value_name = "NAME", help_heading = "Models for single tiers")]
    pub speculator_fallback_model: Option<String>,
}

impl TierArgs {
    /// Each tier with its model and its fallback.
    pub fn named(&self) -> [(Tier, &Option<String>, &Option<String>); 4] {
        [
            (Tier::Architect, &self.architect_model, &self.architect_fallback_model),
            (Tier::Actuator, &self.actuator_model, &self.actuator_fallback_model),
            (Tier::Verifier, &self.verifier_model, &self.verifier_fallback_model),
            (Tier::Speculator, &self.speculator_model, &self.speculator_fallback_model),
        ]
    }
}

/// `perspt agent`.
#[derive(Debug, ClapArgs)]
pub struct AgentArgs {
    /// What to do
    pub task: String,
    /// The folder to work in
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// How strictly it is judged.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// The language of a new project; without it the task's words or the plan's files decide
    #[arg(long, value_name = "LANGUAGE")]
    pub lang: Option<String>,
    /// How the task becomes a plan: `local-edit` (one step, no architect), `single-file` or
    /// `feature-increment`
    #[arg(long, value_name = "POLICY")]
    pub planning_policy: Option<String>,
    /// Do the task in one file, in one step
    #[arg(long, conflicts_with = "planning_policy")]
    pub single_file: bool,
    /// How it runs.
    #[command(flatten)]
    pub run: RunArgs,
}

/// `perspt verify`.
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("form")))]
pub struct VerifyArgs {
    /// The folder to measure; without it the current one
    pub path: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long, group = "form")]
    pub sarif: bool,
    /// Print JUnit XML, for test reports
    #[arg(long, group = "form")]
    pub junit: bool,
    /// Count only what this git revision does not have
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// How strictly it is judged.
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// How strictly a tree is judged.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct JudgeArgs {
    /// The weights of syntax, structure and tests, as `a,b,g`
    #[arg(long, value_name = "A,B,G")]
    pub energy_weights: Option<String>,
    /// The energy at or below which a tree is stable
    #[arg(long, value_name = "V")]
    pub stability_threshold: Option<String>,
    /// The least evidence that every changed code file needs: tests, types or build
    #[arg(long, value_name = "EVIDENCE")]
    pub require: Option<String>,
    /// How much must be measured: `minimal`, `default` or `strict`
    #[arg(long, value_name = "PRESET")]
    pub verifier_strictness: Option<String>,
    /// The project's own build command, in place of the language's tools
    #[arg(long, value_name = "COMMAND")]
    pub build_cmd: Option<String>,
    /// The project's own test command, in place of the language's runner
    #[arg(long, value_name = "COMMAND")]
    pub test_cmd: Option<String>,
    /// The JUnit XML report that the test command writes, where it is not found by itself
    #[arg(long, value_name = "FILE")]
    pub test_report: Option<String>,
    /// Give commands this variable of your environment; repeatable
    #[arg(long, value_name = "NAME")]
    pub pass_env: Vec<String>,
}

/// `perspt resume`.
#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// The session, or the beginning of its id; without it the last one of this folder
    pub session: Option<String>,
    /// The last session of all, whatever its folder
    #[arg(long, conflicts_with = "session")]
    pub last: bool,
    /// How it runs.
    #[command(flatten)]
    pub run: RunArgs,
}

/// `perspt status`.
#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// The session, or the beginning of its id; without it the last one of this folder
    pub session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List all sessions
    #[arg(long, conflicts_with = "session")]
    pub all: bool,
}

/// `perspt ledger`.
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct LedgerArgs {
    /// The last commits, the newest first
    #[arg(long, group = "what")]
    pub recent: bool,
    /// Counts over all sessions
    #[arg(long, group = "what")]
    pub stats: bool,
    /// One node of the newest session that has it: its attempts, and its commit or why it was given up
    #[arg(long, group = "what", value_name = "ID")]
    pub node: Option<String>,
    /// Check every record, blob and commit
    #[arg(long, group = "what")]
    pub verify: bool,
    /// One session only, by the beginning of its id
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

/// `perspt abort`.
#[derive(Debug, ClapArgs)]
pub struct AbortArgs {
    /// The session, or the beginning of its id; without it the last one of this folder
    pub session: Option<String>,
}

/// `perspt approve`.
#[derive(Debug, ClapArgs)]
pub struct ApproveArgs {
    /// The session, or the beginning of its id; without it the last one of this folder
    pub session: Option<String>,
}

/// `perspt deny`.
#[derive(Debug, ClapArgs)]
pub struct DenyArgs {
    /// The session, or the beginning of its id; without it the last one of this folder
    pub session: Option<String>,
    /// What to do instead; the node is then corrected, not given up
    #[arg(long, value_name = "TEXT")]
    pub instead: Option<String>,
}

/// `perspt config`.
#[derive(Debug, ClapArgs)]
pub struct ConfigArgs {
    /// Show every value and its source
    #[arg(long, required = true)]
    pub show: bool,
}

/// `perspt doctor`.
#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// The folder whose tools are checked
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Ask the model one question and say what came back
    #[arg(long)]
    pub online: bool,
    /// The model to ask, as for `perspt agent`
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Its endpoint
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

/// `perspt simple-chat`.
#[derive(Debug, ClapArgs)]
pub struct SimpleChatArgs {
    /// What to say, together with standard input if that is no terminal; `-` is standard input alone. With neither,
    /// you talk line by line
    pub message: Option<String>,
    /// The model, or `replay:DIR` for recorded answers
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The endpoint, `/v1` included
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

/// The demo's languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoLanguage {
    /// With cargo.
    Rust,
    /// With Python.
    Python,
    /// With Node.
    Javascript,
    /// With Go.
    Go,
}

/// `perspt demo`.
#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// The language
    #[arg(long, value_enum, default_value = "rust")]
    pub lang: DemoLanguage,
}
