//! Context: which files and findings a prompt is made from. `assemble` chooses them, `package` bounds and hashes them.

mod assemble;
mod package;

pub(crate) use assemble::PromptRequest;
pub use package::{ContextBudget, ContextFile, Package, Request, assemble};
