//! What both languages need: reading outputs with care, weighing tests, looking at what a node touched.

pub(crate) mod asked;
pub(crate) mod examples;
pub(crate) mod glob;
pub(crate) mod report;
pub(crate) mod step;
pub(crate) mod stubs;
pub(crate) mod toml;
pub(crate) mod touch;
pub(crate) mod weigh;
