//! Ways of showing a session. Each is a reading of the one stream of events.

mod json;
mod lines;
mod text;

pub use json::Json;
pub use lines::Lines;
pub use text::{kept_place, session_word};
