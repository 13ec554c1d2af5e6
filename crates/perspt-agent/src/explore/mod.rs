//! Before planning: what the workspace holds, which tools work, what must be fetched. Read-only.

mod detect;
mod probe;

pub(crate) use probe::with_instead;
pub use probe::{Probed, try_tools};
