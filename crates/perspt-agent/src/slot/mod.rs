//! The slot while one effect uses it: a tree is laid out there, and commands are run on it.

mod guard;

pub(crate) use guard::{Floor, SlotGuard, confinement_text, one_line};
