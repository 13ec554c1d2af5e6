//! Following a session: its records in order, each folded into the session's state. A screen, a web page or a table
//! needs nothing else. It takes no lock, and may be asked again while the session runs.

use perspt_core::event::{Event, Unknown};
use perspt_core::ids::SessionId;
use perspt_core::state::SessionState;
use perspt_core::view::{History, Owner, SessionView};

use crate::error::StoreError;
use crate::home::Home;
use crate::log::LogReader;
use crate::record::Record;

/// A reader of a session that keeps the state up to the last record it has read.
pub struct Follower {
    reader: LogReader,
    state: SessionState,
    history: History,
}

/// One record of a session.
#[derive(Debug, Clone)]
pub struct Followed {
    /// The record as it stands in the log.
    pub record: Record,
    /// Its event. One that this program does not know changes no state.
    pub event: Result<Event, Unknown>,
}

impl Follower {
    /// Begins at the first record.
    pub fn open(home: &Home, session: &SessionId) -> Result<Follower, StoreError> {
        let reader = LogReader::open(home, session)?;
        Ok(Follower { reader, state: SessionState::default(), history: History::default() })
    }

    /// The next record, already folded in; `None` where no more has been written yet.
    pub fn poll(&mut self) -> Result<Option<Followed>, StoreError> {
        let Some(record) = self.reader.poll()? else { return Ok(None) };
        let event = record.decode();
        match &event {
            Ok(event) => {
                self.state.apply(record.at, event);
                self.history.apply(event);
            }
            Err(_) => self.history.unknown(),
        }
        Ok(Some(Followed { record, event }))
    }

    /// Reads everything that is there now, and hands each record to `each` with the state after it.
    pub fn read(
        home: &Home,
        session: &SessionId,
        each: &mut dyn FnMut(&Record, Option<&Event>, &SessionState),
    ) -> Result<SessionState, StoreError> {
        let mut follower = Follower::open(home, session)?;
        while let Some(Followed { record, event }) = follower.poll()? {
            each(&record, event.as_ref().ok(), &follower.state);
        }
        Ok(follower.state)
    }

    /// The session as people see it, up to the last record that was read.
    pub fn view(&self, owner: Owner) -> SessionView {
        SessionView::of(&self.state, &self.history, owner)
    }

    /// The state after the last record that was read.
    pub fn state(&self) -> &SessionState {
        &self.state
    }
}
