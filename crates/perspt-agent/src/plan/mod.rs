//! Plans: from the architect's JSON to nodes that can be worked on. What can be corrected is, with a note; other faults go
//! back to the architect. After three tries without a plan, a fixed one is used (`fallback`).

mod checks;
mod declared;
mod fallback;
mod graph;
mod plan_local;
mod propose;
mod read;
mod roots;
mod settle;
mod words;

pub use fallback::fallback;
pub use read::{PlanRead, plan_of, read_plan};
pub use roots::{RootedNode, assign_roots, roots_of, roots_of_files};
pub use settle::{ProjectFacts, Settled, settle};
