//! `perspt simple-chat`: one message and its answer, or a talk at a plain terminal.

mod one;
mod screen;
mod terminal;

use std::io::IsTerminal;
use std::time::Duration;

use perspt_chat::{Ask, CallId, Heard, Setup, Speaker};
use perspt_core::outcome::Outcome;
use perspt_core::route::Tier;
use perspt_model::{CallLimits, Cancel};
use tokio::sync::mpsc::UnboundedSender;

use crate::args::SimpleChatArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::models::{Maker, Models};
use crate::wire;

pub fn run(args: &SimpleChatArgs) -> Result<u8, Failure> {
    let mut config = Config::load()?;
    config.flag("model", "--model", args.model.clone());
    config.flag("base_url", "--base-url", args.base_url.clone());
    let limits = limits(&config)?;
    let speaker = speaker(&config)?;
    let output_tokens = limits.max_output_tokens;
    let find = move |name: &str| {
        let mut config = config.clone();
        config.flag("model", "/model", Some(name.to_owned()));
        self::speaker(&config).map_err(|failure| failure.trouble)
    };
    let setup = Setup { speaker, find: Box::new(find), output_tokens };
    let runtime = wire::runtime()?;
    let line_by_line = args.message.is_none() && std::io::stdin().is_terminal();
    let ended = runtime.block_on(async {
        if line_by_line {
            terminal::talk(setup, limits).await
        } else {
            one::ask(setup, limits, args.message.as_deref()).await
        }
    });
    // A call that was given up must not keep the program alive.
    runtime.shutdown_background();
    ended
}

/// The model that is configured. Nothing is sent yet.
fn speaker(config: &Config) -> Result<Speaker, Failure> {
    let route = Models::load(config)?.route_of(Tier::Actuator)?;
    let model = Maker::new(config)?
        .make(&route)
        .map_err(|trouble| Failure { trouble, code: Outcome::Usage.exit_code() })?;
    Ok(Speaker { route, model })
}

fn limits(config: &Config) -> Result<CallLimits, Failure> {
    let settings = config.settings()?;
    Ok(CallLimits {
        first_byte: Duration::from_millis(settings.first_byte_ms),
        idle: Duration::from_millis(settings.idle_ms),
        total: Duration::from_millis(settings.total_ms),
        max_output_tokens: settings.output_tokens,
        ..CallLimits::default()
    })
}

/// Makes calls, one at a time.
struct Calls {
    limits: CallLimits,
    to: UnboundedSender<Heard>,
    running: Option<(CallId, Cancel)>,
}

impl Calls {
    fn new(limits: CallLimits, to: UnboundedSender<Heard>) -> Calls {
        Calls { limits, to, running: None }
    }

    fn start(&mut self, ask: Ask) {
        let cancel = Cancel::new();
        self.running = Some((ask.call, cancel.clone()));
        let limits = self.limits.clone();
        let limits = match ask.speaker.route.local {
            true => limits.with_reading_time(ask.prompt.estimated_tokens()),
            false => limits,
        };
        tokio::spawn(perspt_chat::run(ask, limits, cancel, self.to.clone()));
    }

    fn cancel(&mut self, call: CallId) {
        if let Some((_, cancel)) = self.running.take_if(|(running, _)| *running == call) {
            cancel.cancel();
        }
    }
}

/// Listens for Ctrl-C from now on.
fn interrupts() -> Result<tokio::signal::unix::Signal, Failure> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(|error| {
        Failure::internal("perspt cannot listen for signals", error.to_string(), "report this")
    })
}
