//! What has to be done and shown, as data.

use std::fmt;
use std::sync::Arc;

use perspt_core::event::Trouble;
use perspt_core::route::Route;
use perspt_model::{Model, ModelError, Prompt};

use crate::save::Save;

/// One call to a model, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// A model that can be asked, and what is known of it.
#[derive(Clone)]
pub struct Speaker {
    /// Its name, window and price.
    pub route: Route,
    /// The model itself.
    pub model: Arc<dyn Model>,
}

impl fmt::Debug for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Speaker").field("route", &self.route).finish_non_exhaustive()
    }
}

/// Finds the model of a name, or says why it cannot be asked.
pub type FindModel = Box<dyn Fn(&str) -> Result<Speaker, Trouble> + Send>;

/// A call that is to be made.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Which one.
    pub call: CallId,
    /// Whom.
    pub speaker: Speaker,
    /// What.
    pub prompt: Prompt,
    /// How many tokens the answer may have.
    pub output_tokens: u32,
}

/// Something to do, in the order given.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Make a call; what it says is to be handed to [`crate::Talk::heard`].
    Ask(Box<Ask>),
    /// The call is no longer wanted. What still comes of it is ignored.
    Cancel(CallId),
    /// Write the conversation to a file.
    Save(Save),
    /// Show this.
    Show(Shown),
    /// Leave. Nothing comes after it.
    Quit(Leave),
}

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A call begins; nothing has come yet.
    Waiting {
        /// The model that is asked.
        model: String,
    },
    /// The next piece of the answer.
    Chunk(String),
    /// The reply is over.
    Ended(Ending),
    /// One line from perspt itself.
    Note(String),
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With a whole answer, which is now part of the conversation.
    Whole,
    /// By the user. What came is no answer.
    Cut,
    /// With an answer that says nothing.
    Empty,
    /// With an error. What came is no answer.
    Failed(ModelError),
}

/// Why the talk is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The user is done.
    Done,
    /// The user interrupted it.
    Interrupted,
}
