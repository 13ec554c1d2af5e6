//! The lives of one session, each a process of its own.
// The child is a process that kills itself.
#![allow(clippy::disallowed_types)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use perspt_core::ids::SessionId;
use perspt_testkit::clock::session_id;
use perspt_testkit::home::Place;
use perspt_testkit::server::ScriptedServer;
use perspt_testkit::session::child::{Config, Confine, Ended, Kill, Mode, Told};

use super::scripts::Scenario;

pub struct Lives {
    pub place: Place,
    pub server: ScriptedServer,
    config: Config,
}

impl Lives {
    /// The sessions of even numbers run their commands with everything the kernel gives, those of odd numbers
    /// without namespaces.
    pub fn new(scenario: &Scenario, number: usize) -> Lives {
        let place = scenario.place();
        let server = ScriptedServer::start(scenario.table()).unwrap();
        let config = Config {
            home: place.home_path(),
            work: place.work(),
            helper: env!("CARGO_BIN_EXE_box-helper").into(),
            confine: if number.is_multiple_of(2) { Confine::Fully } else { Confine::InPlace },
            mark: place.mark(),
            base_url: server.base_url(),
            session: session_id(),
            task: scenario.task.to_owned(),
            language: scenario.language.clone(),
            edit: scenario.edit(),
            allow: scenario.allow.iter().map(|word| word.parse().unwrap()).collect(),
            life: 0,
            mode: Mode::Begin,
            kill: None,
        };
        Lives { place, server, config }
    }

    pub fn session(&self) -> &SessionId {
        &self.config.session
    }

    /// The next life; `None` where it was killed. A session whose first event was never written is begun anew
    /// under another name, as a user would.
    pub fn live(&mut self, kill: Option<Kill>) -> Option<Told> {
        self.config.kill = kill;
        let told = self.start();
        self.config.life += 1;
        self.config.mode = Mode::Resume;
        match told {
            Some(Told { ended: Ended::NeverBegun, .. }) => {
                self.config.mode = Mode::Begin;
                self.config.session = SessionId(format!("{}-again-{}", session_id(), self.config.life));
                self.live(kill)
            }
            other => other,
        }
    }

    fn start(&self) -> Option<Told> {
        let output = Command::new(env!("CARGO_BIN_EXE_crash-child"))
            .arg(serde_json::to_string(&self.config).unwrap())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        if output.status.signal() == Some(9) {
            return None;
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let told = said.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let errors = String::from_utf8_lossy(&output.stderr);
        Some(told.unwrap_or_else(|| panic!("{}: {said}{errors}", output.status)))
    }
}
