//! Context: which files and findings a prompt is made from. `assemble` chooses them, `package` bounds and hashes them.
//!
//! A package is made in `fit`, of a `shelf` for each file: its `source` (text, lines, items), what is in `focus` in it
//! (`hits`, by `words` where nothing is named), and the forms it can be shown in (`regions`, `digest`). The `listing` names
//! the other files. `serve` answers what a model asks to see beyond that. Where nobody says which files matter, `rank` does.

mod assemble;
mod choose;
mod digest;
mod fit;
mod focus;
mod hits;
mod listing;
mod package;
mod rank;
mod regions;
mod serve;
mod shelf;
mod source;
mod words;

pub(crate) use assemble::PromptRequest;
pub use focus::Focus;
pub use package::{ContextBudget, ContextFile, Package, Request, Shown, TooSmall, assemble};
pub(crate) use rank::names;
pub use serve::{Reply, Served, serve};
