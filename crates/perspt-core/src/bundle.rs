//! A bundle: what a model's answer asks to be done to a node's files.

use serde::{Deserialize, Serialize};

use crate::consent::TestDeclaration;

/// One operation, as the model stated it. Paths are still the model's words: the parse stage bounds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
pub enum Artifact {
    /// The whole file.
    Write {
        /// A path below the workspace, as the model wrote it.
        path: String,
        /// Its new text.
        content: String,
    },
    /// One replacement; `find` occurs exactly once in the file as it then stands.
    Edit {
        /// A path below the workspace, as the model wrote it.
        path: String,
        /// The text to replace.
        find: String,
        /// What stands there afterwards.
        replace: String,
    },
    /// A unified diff of one file.
    Diff {
        /// A path below the workspace, as the model wrote it.
        path: String,
        /// The patch.
        patch: String,
    },
    /// The file goes away.
    Delete {
        /// A path below the workspace, as the model wrote it.
        path: String,
    },
    /// The file gets another name.
    Move {
        /// Its name before.
        from: String,
        /// Its name after.
        to: String,
    },
}

/// All that one answer asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The operations, in order.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// Commands to run, in order.
    #[serde(default)]
    pub commands: Vec<String>,
    /// What it does to existing tests.
    #[serde(default)]
    pub changes_tests: Vec<TestDeclaration>,
    /// Tests that failed before and stay so.
    #[serde(default)]
    pub leaves_red: Vec<String>,
}
