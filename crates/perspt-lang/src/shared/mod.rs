//! What the languages share: reading outputs with care, weighing tests, comparing a candidate's tests with its base's.

pub(crate) mod compare;
pub(crate) mod glob;
pub(crate) mod loads;
pub(crate) mod old_tests;
pub(crate) mod places;
pub(crate) mod renames;
pub(crate) mod report;
pub(crate) mod step;
pub(crate) mod stubs;
pub(crate) mod toml;
pub(crate) mod weigh;
pub(crate) mod words;
