//! What the languages share: reading outputs, charging failed tests, comparing a candidate's tests with its base's.

pub(crate) mod compare;
pub(crate) mod failed_test;
pub(crate) mod file_names;
pub(crate) mod glob;
pub(crate) mod junit;
pub(crate) mod mentions;
pub(crate) mod old_tests;
pub(crate) mod reaches_tests;
pub(crate) mod renames;
pub(crate) mod report;
pub(crate) mod step;
pub(crate) mod stubs;
pub(crate) mod toml;
pub(crate) mod works;
