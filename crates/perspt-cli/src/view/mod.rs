//! Ways of showing a session. Each is a reading of the one stream of events.

mod json;
mod lines;
mod plan;
mod readings;
mod summary;
mod text;

pub use json::{Json, record_line};
pub use lines::Lines;
pub use text::{consents_field, energy_words, kept_place, need_words, session_word, slug};
