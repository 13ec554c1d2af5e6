//! Before planning: which files and languages the workspace has (`snapshot`), which tools work (`probe`), and the
//! dependencies it needs (`fetch`). The workspace is only read.

mod fetch;
mod probe;
mod revision;
mod roots;
mod snapshot;

pub use probe::{Probed, try_tools};
