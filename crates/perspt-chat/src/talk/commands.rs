//! What each command does.

use std::path::PathBuf;

use super::{Talk, note};
use crate::command::Command;
use crate::effect::{Effect, Leave};
use crate::save::{Existing, Save, markdown};

const HELP: &str = include_str!("../../templates/help.txt");

impl Talk {
    pub(super) fn command(&mut self, command: Command, effects: &mut Vec<Effect>) {
        match command {
            Command::Model(None) => effects.push(note(format!("the model is {}", self.model()))),
            Command::Model(Some(name)) => self.switch(&name, effects),
            Command::Save { to, existing } => self.save(to, existing, effects),
            Command::Clear => self.clear(effects),
            Command::Cost => effects.extend(self.spending.lines().into_iter().map(note)),
            Command::Help => effects.extend(HELP.lines().map(note)),
            Command::Retry => self.retry(effects),
            Command::Send => self.send(effects),
            Command::Drop => self.drop_pending(effects),
            Command::Cancel => self.cut(effects),
            Command::Quit => {
                drop(self.call_off(effects));
                effects.push(Effect::Quit(Leave::Done));
            }
        }
    }

    fn switch(&mut self, name: &str, effects: &mut Vec<Effect>) {
        match (self.setup.find)(name) {
            Ok(speaker) => {
                let from = if self.running.is_some() { "after this reply" } else { "from now on" };
                effects.push(note(format!("{from} {} is asked", speaker.route.model)));
                self.setup.speaker = speaker;
            }
            Err(trouble) => effects.push(note(format!(
                "{}: {}; {}; the model is still {}",
                trouble.what,
                trouble.why,
                trouble.todo,
                self.model()
            ))),
        }
    }

    fn save(&mut self, to: Option<PathBuf>, existing: Existing, effects: &mut Vec<Effect>) {
        if self.exchanges.is_empty() && self.pending().next().is_none() {
            return effects.push(note("there is nothing to save yet"));
        }
        let text = markdown(&self.exchanges, self.pending());
        effects.push(Effect::Save(Save { to, text, existing }));
    }

    fn clear(&mut self, effects: &mut Vec<Effect>) {
        // What was asked is forgotten like the rest.
        drop(self.call_off(effects));
        self.exchanges.clear();
        self.unanswered.clear();
        self.queue.clear();
        self.left_out = 0;
        effects.push(note("forgotten; the next message begins a new conversation"));
    }

    fn retry(&mut self, effects: &mut Vec<Effect>) {
        if self.running.is_some() {
            effects.push(note("a reply is running; `/cancel` ends it"));
        } else if self.unanswered.is_empty() {
            effects.push(note("every message has its answer"));
        } else {
            self.ask(effects);
        }
    }

    fn send(&mut self, effects: &mut Vec<Effect>) {
        if self.running.is_some() {
            effects.push(note("what waits is sent after this reply; `/cancel` ends it"));
        } else if self.queue.is_empty() {
            effects.push(note("no message waits"));
        } else {
            self.unanswered.extend(self.queue.drain(..));
            self.ask(effects);
        }
    }

    /// The running reply is not touched.
    fn drop_pending(&mut self, effects: &mut Vec<Effect>) {
        let count = self.unanswered.len() + self.queue.len();
        self.unanswered.clear();
        self.queue.clear();
        effects.push(note(match count {
            0 => "no message waits".to_owned(),
            1 => "1 message is forgotten".to_owned(),
            count => format!("{count} messages are forgotten"),
        }));
    }
}
