//! What both languages need: reading outputs with care, weighing tests, looking at what a node touched.

pub(crate) mod about;
pub(crate) mod asked;
pub(crate) mod before;
mod clauses;
pub(crate) mod examples;
pub(crate) mod glob;
pub(crate) mod mends;
mod object;
pub(crate) mod report;
pub(crate) mod stands;
pub(crate) mod step;
pub(crate) mod stubs;
pub(crate) mod toml;
pub(crate) mod touch;
pub(crate) mod weigh;
