//! Ways of showing a session. Each is a reading of the one stream of events.

mod json;
mod lines;
mod money;
mod plan;
mod progress;
mod readings;
mod summary;
mod text;
pub mod verified;

pub use json::{Json, record_line};
pub use lines::Lines;
pub use money::{cost, dollars, models_fields};
pub use plan::plan_lines;
pub use progress::Progress;
pub use summary::summary_fields;
pub use text::{energy_words, kept_place, need_words, slug};
