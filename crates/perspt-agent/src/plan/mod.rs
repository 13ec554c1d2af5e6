//! Plans: from the architect's JSON to validated nodes, or to diagnostics the architect can act on; and
//! the deterministic graph that is used when three tries gave none.

mod fallback;
mod read;
mod roots;
mod validate;

pub use fallback::fallback;
pub use read::read_plan;
pub use roots::roots_of;
pub use validate::{Ground, validate};
