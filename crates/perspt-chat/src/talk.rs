//! The state of a talk, and what follows from each thing that happens.
//!
//! A message is in one place at any time: it waits, it is being answered, it was not answered, or it stands in the
//! conversation with its answer. A reply that is cut or fails gives no answer, so its message stays without one:
//! `/retry` sends it again, and the next message takes it along, since the person has said it and the model should
//! know. What waits is not sent by itself after such an end: the next call would meet the same fault, or the person
//! wanted it all to stop.

mod commands;

use std::collections::VecDeque;

use perspt_model::{Answer, ModelError, Prompt, Turn};

use crate::call::{CallEvent, Heard};
use crate::command::{Request, read};
use crate::compose::{Composer, Entry};
use crate::effect::{Ask, CallId, Effect, Ending, FindModel, Leave, Shown, Speaker};
use crate::exchange::{Exchange, joined};
use crate::remedy::Remedy;
use crate::spending::{Counted, Spending};
use crate::window::{Room, fit};

/// What the model is told first.
const HEAD: &str = include_str!("../templates/head.md");

/// What a talk begins with.
pub struct Setup {
    /// The model that is asked.
    pub speaker: Speaker,
    /// Finds another one.
    pub find: FindModel,
    /// How many tokens an answer may have where nothing is known of the model.
    pub output_tokens: u32,
}

/// A talk.
pub struct Talk {
    setup: Setup,
    exchanges: Vec<Exchange>,
    running: Option<Running>,
    unanswered: Vec<String>,
    queue: VecDeque<String>,
    spending: Spending,
    composer: Composer,
    input: Input,
    calls: u64,
    /// How many exchanges the last call left out; told when it changes.
    left_out: usize,
}

/// A reply that is coming in.
struct Running {
    call: CallId,
    speaker: Speaker,
    messages: Vec<String>,
    so_far: String,
}

/// What may come from the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// An interrupt came; another one before the next line leaves.
    Warned,
    /// Nothing more will be typed.
    Closed,
}

impl Talk {
    /// A talk in which nothing was said.
    pub fn new(setup: Setup) -> Talk {
        Talk {
            setup,
            exchanges: Vec::new(),
            running: None,
            unanswered: Vec::new(),
            queue: VecDeque::new(),
            spending: Spending::default(),
            composer: Composer::default(),
            input: Input::Open,
            calls: 0,
            left_out: 0,
        }
    }

    /// The conversation: whole exchanges only.
    pub fn history(&self) -> Vec<Turn> {
        self.exchanges.iter().flat_map(Exchange::turns).collect()
    }

    /// Messages without an answer, in order: those being answered or left without one, then those that wait.
    pub fn pending(&self) -> impl Iterator<Item = &str> {
        let running = self.running.iter().flat_map(|running| &running.messages);
        running.chain(&self.unanswered).chain(&self.queue).map(String::as_str)
    }

    /// Whether a reply is coming in.
    pub fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Whether an entry of several lines has begun.
    pub fn is_composing(&self) -> bool {
        self.composer.is_open()
    }

    /// The model that is asked next.
    pub fn model(&self) -> &str {
        &self.setup.speaker.route.model
    }

    /// What was used so far.
    pub fn spending(&self) -> &Spending {
        &self.spending
    }

    /// A line was typed, without its end.
    pub fn typed(&mut self, line: &str) -> Vec<Effect> {
        self.input = Input::Open;
        self.composer.push(line).map(|entry| self.entered(&entry)).unwrap_or_default()
    }

    /// A whole entry was made.
    pub fn entered(&mut self, entry: &Entry) -> Vec<Effect> {
        self.input = Input::Open;
        let mut effects = Vec::new();
        match read(entry) {
            Request::Nothing => {}
            Request::Wrong(told) => effects.push(note(told)),
            Request::Message(message) => self.message(message, &mut effects),
            Request::Command(command) => self.command(command, &mut effects),
        }
        effects
    }

    /// Ctrl-C: ends the reply, or what was being typed; with neither, twice in a row leaves.
    pub fn interrupted(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.running.is_some() {
            self.cut(&mut effects);
            self.input = Input::Warned;
        } else if self.composer.is_open() {
            self.composer.reset();
            effects.push(note("what you had begun is forgotten"));
        } else if self.input == Input::Open {
            self.input = Input::Warned;
            effects.push(note("Ctrl-C again leaves"));
        } else {
            effects.push(Effect::Quit(Leave::Interrupted));
        }
        effects
    }

    /// Nothing more will be typed. What runs and waits is still answered.
    pub fn closed(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.composer.is_open() {
            self.composer.reset();
            effects.push(note("the last message was not finished and is not sent"));
        }
        self.input = Input::Closed;
        if self.running.is_none() {
            effects.push(Effect::Quit(Leave::Done));
        }
        effects
    }

    /// Something came of a call. Of a call that is over nothing counts any more.
    pub fn heard(&mut self, heard: Heard) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(mut running) = self.running.take_if(|running| running.call == heard.call) else {
            return effects;
        };
        match heard.event {
            CallEvent::Chunk(text) => {
                running.so_far.push_str(&text);
                self.running = Some(running);
                effects.push(Effect::Show(Shown::Chunk(text)));
            }
            CallEvent::End(Ok(answer)) => self.answered(running, answer, &mut effects),
            CallEvent::End(Err(error)) => self.failed(running, error, &mut effects),
        }
        effects
    }

    fn answered(&mut self, running: Running, answer: Answer, effects: &mut Vec<Effect>) {
        let Running { speaker, messages, so_far, .. } = running;
        let counted = answer.usage.map_or(Counted::Unknown, Counted::Tokens);
        self.spending.add(&speaker.route.model, speaker.route.price, counted);
        // A model that does not stream hands nothing over before the end.
        let rest = answer.text.strip_prefix(so_far.as_str()).unwrap_or_default();
        if !rest.is_empty() {
            effects.push(Effect::Show(Shown::Chunk(rest.to_owned())));
        }
        if answer.text.trim().is_empty() {
            self.unanswered = messages;
            effects.push(Effect::Show(Shown::Ended(Ending::Empty)));
            return self
                .stopped("the model said nothing; `/retry` sends the message again".to_owned(), effects);
        }
        self.exchanges.push(Exchange { messages, answer: answer.text, model: speaker.route.model });
        effects.push(Effect::Show(Shown::Ended(Ending::Whole)));
        self.go_on(effects);
    }

    fn failed(&mut self, running: Running, error: ModelError, effects: &mut Vec<Effect>) {
        let route = &running.speaker.route;
        let counted = match error.usage() {
            Some(usage) => Counted::Tokens(usage),
            None if error.had_begun() || !running.so_far.is_empty() => Counted::Unknown,
            None => Counted::Free,
        };
        self.spending.add(&route.model, route.price, counted);
        self.unanswered = running.messages;
        let told = format!("no answer: {}; {}", error.what(), Remedy::of(&error).in_talk());
        effects.push(Effect::Show(Shown::Ended(Ending::Failed(error))));
        self.stopped(told, effects);
    }

    /// Ends the running reply. Its message stays without an answer.
    fn cut(&mut self, effects: &mut Vec<Effect>) {
        let Some(messages) = self.call_off(effects) else {
            return effects.push(note("no reply is running"));
        };
        self.unanswered = messages;
        let told = "cut; `/retry` asks again, `/drop` forgets your message, your next one takes it along";
        self.stopped(told.to_owned(), effects);
    }

    /// Ends the running call; gives what was asked. What the call wrote may have to be paid for.
    fn call_off(&mut self, effects: &mut Vec<Effect>) -> Option<Vec<String>> {
        let running = self.running.take()?;
        let route = &running.speaker.route;
        self.spending.add(&route.model, route.price, Counted::Unknown);
        effects.push(Effect::Cancel(running.call));
        effects.push(Effect::Show(Shown::Ended(Ending::Cut)));
        Some(running.messages)
    }

    /// A reply ended without an answer: says so, and what waits.
    fn stopped(&mut self, mut told: String, effects: &mut Vec<Effect>) {
        match self.queue.len() {
            0 => {}
            1 => told.push_str(" (1 message waits behind it; `/send` sends both)"),
            count => told.push_str(&format!(" ({count} messages wait behind it; `/send` sends all as one)")),
        }
        effects.push(note(told));
        if self.input == Input::Closed {
            effects.push(Effect::Quit(Leave::Done));
        }
    }

    fn message(&mut self, message: String, effects: &mut Vec<Effect>) {
        self.queue.push_back(message);
        if self.running.is_some() {
            effects.push(note("queued; it is sent after this reply"));
        } else {
            self.go_on(effects);
        }
    }

    /// Sends the next message that waits, with what was not answered before it.
    fn go_on(&mut self, effects: &mut Vec<Effect>) {
        if let Some(next) = self.queue.pop_front() {
            self.unanswered.push(next);
            self.ask(effects);
        } else if self.input == Input::Closed {
            effects.push(Effect::Quit(Leave::Done));
        }
    }

    /// Sends what was not answered.
    fn ask(&mut self, effects: &mut Vec<Effect>) {
        let messages = std::mem::take(&mut self.unanswered);
        let speaker = self.setup.speaker.clone();
        let route = &speaker.route;
        let room = Room { window: route.window, output: route.output.unwrap_or(self.setup.output_tokens) };
        let fitted = fit(HEAD, &self.exchanges, &joined(&messages), room);
        let window = route.window.unwrap_or_default();
        if let Some(tokens) = fitted.oversize {
            effects.push(note(format!(
                "the message may be too long for the model: about {tokens} tokens for a window of {window}; it is \
                 sent whole"
            )));
        }
        if fitted.left_out != self.left_out && fitted.left_out > 0 {
            effects.push(note(format!(
                "the conversation is longer than the model's window of {window} tokens: its oldest {} of {} \
                 exchanges are not sent",
                fitted.left_out,
                self.exchanges.len()
            )));
        }
        self.left_out = fitted.left_out;
        self.calls += 1;
        let call = CallId(self.calls);
        effects.push(Effect::Show(Shown::Waiting { model: route.model.clone() }));
        effects.push(Effect::Ask(Box::new(Ask {
            call,
            speaker: speaker.clone(),
            prompt: Prompt::chat(HEAD.to_owned(), fitted.turns),
            output_tokens: fitted.output,
        })));
        self.running = Some(Running { call, speaker, messages, so_far: String::new() });
    }
}

fn note(text: impl Into<String>) -> Effect {
    Effect::Show(Shown::Note(text.into()))
}
