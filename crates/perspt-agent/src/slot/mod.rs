//! The slot while one effect uses it: a tree is laid out there (`guard`), and commands are run on it (`run`), confined
//! to what their profile needs (`confine`).

mod confine;
mod guard;
mod outputs;
mod run;
mod space;

pub(crate) use guard::{FileNow, SlotGuard};
pub use outputs::Outputs;
pub use run::RunConfig;
pub(crate) use run::{confinement_text, one_line, probe_timeout, stage_timeout};
