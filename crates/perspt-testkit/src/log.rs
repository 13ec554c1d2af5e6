//! Logs made from events, for tests of whatever reads them.
// A test library: what cannot be set up is a failed test.
#![allow(clippy::expect_used)]

use perspt_core::event::{Event, SCHEMA, SessionStarted};
use perspt_core::ids::{Millis, SessionId};
use perspt_core::state::SessionState;
use perspt_store::{Home, LogWriter, Stamp};

/// Writes a session's log event by event; the clock goes on by a second each time.
pub struct LogBuilder {
    writer: LogWriter,
    state: SessionState,
    at: Millis,
}

/// The first event of a session, with everything that does not matter filled in.
pub fn started(id: &SessionId, workspace: &str, task: &str) -> SessionStarted {
    let started =
        SessionStarted::new(id.clone(), workspace.to_owned(), task.to_owned(), "scripted".to_owned());
    SessionStarted { program: "perspt test".to_owned(), ..started }
}

impl LogBuilder {
    /// Begins the log of a session that has none, with its first event.
    pub fn begin(home: &Home, started: SessionStarted) -> LogBuilder {
        let writer = LogWriter::create(home, &started.session).expect("a new session");
        let mut builder = LogBuilder { writer, state: SessionState::default(), at: Millis(1_000_000) };
        builder.add(&Event::SessionStarted(Box::new(started)));
        builder
    }

    /// Appends an event as it is.
    pub fn add(&mut self, event: &Event) -> Stamp {
        self.at = self.at.plus(1000);
        self.state.apply(self.at, event);
        self.writer.append(self.at, SCHEMA, event).expect("an append")
    }

    /// Appends what is due after the events so far, as the session's own loop would.
    pub fn settle(&mut self) -> &SessionState {
        while let Some(event) = self.state.due(self.at) {
            self.add(&event);
        }
        &self.state
    }

    /// The fold of everything so far.
    pub fn state(&self) -> &SessionState {
        &self.state
    }
}
