//! The one prompt compiler: intent and typed evidence in, text and provenance out. No prompt text is built anywhere
//! else; the words are in `templates/`.

mod compile;
mod evidence;
mod fence;

pub use compile::{Compiled, compile, tag};
pub use evidence::{ChangeForm, Evidence, ProjectEvidence, RetryEvidence};
pub use fence::fence;
