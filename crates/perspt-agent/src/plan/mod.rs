//! Plans: from the architect's JSON to nodes that can be worked on. What can be put right is, with a note; what cannot be
//! carried out goes back to the architect. The deterministic graph is used when three tries gave none.

mod declared;
mod fallback;
mod graph;
mod propose;
mod read;
mod roots;
mod settle;
mod words;

pub use fallback::fallback;
pub use read::{PlanRead, read_plan};
pub use roots::{RootedNode, assign_roots, roots_of};
pub use settle::{ProjectFacts, Settled, settle};
