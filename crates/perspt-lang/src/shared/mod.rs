//! What both languages need: reading outputs with care, weighing tests, looking at what a node touched.

pub(crate) mod asked;
mod clauses;
pub(crate) mod examples;
pub(crate) mod glob;
mod object;
pub(crate) mod report;
pub(crate) mod step;
pub(crate) mod stubs;
pub(crate) mod toml;
pub(crate) mod touch;
pub(crate) mod weigh;
