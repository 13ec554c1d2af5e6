//! The talk behind a chat: what was said, what waits, what it cost, and what has to be done next.
//!
//! [`Talk`] is a state machine. Lines that a person types and what is [`Heard`] from the model go in, [`Effect`]s come
//! out; whoever owns the screen carries them out. [`run`] is the provider's side: one call, its pieces on a channel,
//! and one end. This crate knows perspt-core and perspt-model only. It prints nothing and reads no environment.
//!
//! Start reading at `talk`, then `effect` (what comes out) and `command` (what a line can mean).

mod call;
mod command;
mod compose;
mod effect;
mod exchange;
mod remedy;
mod save;
mod spending;
mod talk;
mod window;

pub use call::{CallEvent, Heard, run};
pub use command::{Command, Request, read};
pub use compose::{Composer, Entry};
pub use effect::{Ask, CallId, Effect, Ending, FindModel, Leave, Shown, Speaker};
pub use exchange::Exchange;
pub use remedy::Remedy;
pub use save::{Existing, Save, SaveError};
pub use spending::{Spending, Spent};
pub use talk::{Setup, Talk};
pub use window::{Fitted, Room, fit};
