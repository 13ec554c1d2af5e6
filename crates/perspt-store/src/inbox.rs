//! Commands from other processes to the owner of a session. Only the owner appends to the log; others leave
//! a file here.

use perspt_core::ids::SessionId;
use perspt_core::inbox::Message;

use crate::blobs::unique;
use crate::error::StoreError;
use crate::folder::{Folder, optional};
use crate::home::Home;

const INBOX: &str = "inbox";
const STAGED: &str = "new-";
const ASIDE: &str = "bad-";
const MESSAGE_MAX: u64 = 1 << 20;

/// The inbox of one session.
#[derive(Clone)]
pub struct Inbox {
    home: Home,
    session: SessionId,
}

/// What lay in the inbox.
#[derive(Debug, Default)]
pub struct InboxContents {
    /// The messages, in the order they came, each with the name to pass to [`Inbox::done`].
    pub messages: Vec<(String, Message)>,
    /// What was no message. It has been moved aside.
    pub bad: Vec<BadMessage>,
}

/// A thing in the inbox that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMessage {
    /// The name it had.
    pub file: String,
    /// The name it has now, in the same folder.
    pub moved_to: String,
    /// What is wrong with it.
    pub why: String,
}

impl Inbox {
    pub(crate) fn new(home: Home, session: SessionId) -> Inbox {
        Inbox { home, session }
    }

    /// Leaves a message; durable on return.
    pub fn send(&self, message: &Message) -> Result<(), StoreError> {
        let session = self.home.session(&self.session)?;
        let bytes = serde_json::to_vec(message)
            .map_err(|error| StoreError::Encode { what: "a message", why: error.to_string() })?;
        let folder = self.home.ensure(&session, INBOX)?;
        let staged = unique(STAGED);
        folder.stage(&staged, &bytes)?;
        let mut number = folder.names()?.iter().filter_map(|name| number_of(name)).max().unwrap_or(0) + 1;
        while let Err(error) = folder.rename_new(&staged, &format!("{number:08}.json")) {
            if !error.is_taken() {
                return Err(error);
            }
            number += 1;
        }
        folder.sync()
    }

    /// Every message that has come. They stay until [`Inbox::done`].
    pub fn take_all(&self) -> Result<InboxContents, StoreError> {
        let mut taken = InboxContents::default();
        let Some(folder) = self.folder()? else { return Ok(taken) };
        for name in folder.names()? {
            if name.starts_with(STAGED) || name.starts_with(ASIDE) {
                continue;
            }
            match message(&folder, &name) {
                Ok(message) => taken.messages.push((name, message)),
                Err(why) => taken.bad.push(move_aside(&folder, name, why)?),
            }
        }
        Ok(taken)
    }

    /// Removes a message that was acted on; durable on return. Any other name is left alone.
    pub fn done(&self, file: &str) -> Result<(), StoreError> {
        if number_of(file).is_none() {
            return Ok(());
        }
        let Some(folder) = self.folder()? else { return Ok(()) };
        folder.clear(file)?;
        folder.sync()
    }

    fn folder(&self) -> Result<Option<Folder>, StoreError> {
        optional(self.home.session(&self.session)?.folder(INBOX))
    }
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    ((8..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

fn message(folder: &Folder, name: &str) -> Result<Message, String> {
    if number_of(name).is_none() {
        return Err("its name is not one that perspt gives".to_owned());
    }
    let bytes = folder.read(name, MESSAGE_MAX).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    serde_json::from_str(&text).map_err(|error| format!("it is no message this perspt knows: {error}"))
}

fn move_aside(folder: &Folder, file: String, why: String) -> Result<BadMessage, StoreError> {
    let mut moved_to = format!("{ASIDE}{file}");
    let mut more = 1;
    while let Err(error) = folder.rename_new(&file, &moved_to) {
        if !error.is_taken() {
            return Err(error);
        }
        more += 1;
        moved_to = format!("{ASIDE}{more}-{file}");
    }
    Ok(BadMessage { file, moved_to, why })
}
