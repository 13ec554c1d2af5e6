//! Languages: one folder each. A plugin describes stages and reads tool output; it starts nothing and
//! reads no disk. Start reading at [`plugin::Plugin`], then a language's `mod.rs`.
//!
//! | residual class | component | what it says |
//! |---|---|---|
//! | `compile-error`, `link-error`, `syntax-error` | syn | the compiler or parser refuses a file |
//! | `import-error`, `collection-error` | syn | a test file cannot be collected, and it is the tree's own doing |
//! | `test-failed`, `target-failed` | log | a test, or a target that lists no tests, failed |
//! | `tests-vanished`, `test-missing`, `test-skipped` | log | a test that was announced or named has no result |
//! | `report-missing` | boot | a run ended without its report, or the report contradicts itself |
//! | `timeout`, `crash`, `tool-failed` | boot | a step did not end as it should |
//! | `tool-refused` | boot | a runner did not begin, because of its settings or what it loads |
//! | `dependency-missing`, `dependency-broken`, `module-missing`, `toolchain-missing` | boot | something from outside the tree |
//! | `manifest-error`, `build-script-failed`, `tests-unseen` | boot | nothing could be built or run |
//! | `unmeasured-file` | str | no tool looked at this file |
//! | `invalid-data` | syn | a data file cannot be parsed |
//! | `lint-finding` | str | a linter or formatter would have it otherwise |
//! | `stub` | str | code that is still to be written |
//!
//! What a candidate did to tests is no charge: it is said test by test in an inventory, and consents decide.

pub mod data;
pub mod generic;
mod go;
mod javascript;
pub mod plugin;
mod python;
mod rust;
mod shared;
pub mod shell;
pub mod signature;
mod syntax;

pub use plugin::Plugin;
pub use shared::mentions::mentions;
pub use syntax::{Imported, OutlineItem, imports, outline};

static PLUGINS: [&dyn Plugin; 4] = [&rust::Rust, &python::Python, &javascript::JavaScript, &go::Go];

/// Every language perspt knows.
pub fn plugins() -> &'static [&'static dyn Plugin] {
    &PLUGINS
}

/// What stands in for a language where the user's own commands are all there is.
pub fn generic() -> &'static dyn Plugin {
    &generic::Generic
}

/// The language of this name.
pub fn plugin(name: &str) -> Option<&'static dyn Plugin> {
    PLUGINS.iter().copied().find(|plugin| plugin.name() == name)
}
