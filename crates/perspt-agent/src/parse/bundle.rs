//! Bundles: from an answer's JSON to artifacts, or to what the model must be told.

use perspt_core::bundle::Bundle;
use perspt_core::event::{ParseState, RetryClass};
use serde::Deserialize;

use super::layers::{Payload, Read, read};

/// The most commands of an answer.
const COMMANDS: usize = 10;
/// The most tests an answer may declare one by one; more are declared by file.
const DECLARED: usize = 40;

/// A bundle as it was read, before its meaning is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBundle {
    /// Operations on files.
    Bundle(Bundle, ParseState),
    /// The model says its scope is too small.
    Replan(String),
    /// Nothing that can be used.
    Rejected {
        /// The end state.
        state: ParseState,
        /// What to do about it.
        retry: RetryClass,
        /// What was wrong.
        violations: Vec<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplanAnswer {
    requires_replan: Replan,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replan {
    reason: String,
    #[serde(default)]
    needed_files: Vec<String>,
    #[serde(default, rename = "needed_nodes")]
    _needed_nodes: Vec<String>,
}

fn malformed(state: ParseState, violation: String) -> ReadBundle {
    ReadBundle::Rejected { state, retry: RetryClass::Malformed, violations: vec![violation] }
}

/// Reads an answer as a bundle.
pub fn read_bundle(text: &str) -> ReadBundle {
    let Payload { json, state } = match read(text) {
        Read::Object(payload) => payload,
        Read::Nothing(state, why) => return malformed(state, why),
    };
    if let Ok(answer) = serde_json::from_str::<ReplanAnswer>(&json) {
        let Replan { reason, needed_files, .. } = answer.requires_replan;
        let files = if needed_files.is_empty() {
            String::new()
        } else {
            format!(" (it asks for {})", needed_files.join(", "))
        };
        return ReadBundle::Replan(format!("{reason}{files}"));
    }
    let bundle = match serde_json::from_str::<Bundle>(&json) {
        Ok(bundle) => bundle,
        Err(error) => {
            return malformed(ParseState::SchemaInvalid, format!("the JSON is not a bundle: {error}"));
        }
    };
    if bundle.artifacts.is_empty() && bundle.commands.is_empty() {
        return malformed(ParseState::SchemaInvalid, "the bundle holds no artifact".to_owned());
    }
    for (what, count, most) in [
        ("commands", bundle.commands.len(), COMMANDS),
        ("changes_tests", bundle.changes_tests.len(), DECLARED),
        ("leaves_red", bundle.leaves_red.len(), DECLARED),
    ] {
        if count > most {
            let violation = format!("`{what}` has {count} entries; {most} is the most");
            return malformed(ParseState::SchemaInvalid, violation);
        }
    }
    ReadBundle::Bundle(bundle, state)
}
