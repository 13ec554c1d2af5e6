//! Building steps.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::stage::{Profile, Step, Streams};

/// A step with this name and command, in this folder; the rest is filled in with the methods below.
pub(crate) fn step(name: &str, argv: &[&str], cwd: &RelPath) -> Step {
    Step {
        name: name.to_owned(),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: cwd.clone(),
        // Tools write scratch files where TMPDIR says; outside the slot they may write nothing.
        env: BTreeMap::from([("TMPDIR".to_owned(), "{tmp}".to_owned())]),
        profile: Profile::Build,
        build_writes: Vec::new(),
        streams: Streams::Apart,
        reports: Vec::new(),
    }
}

/// The same step with this environment besides.
pub(crate) fn with_env(mut step: Step, env: &[(&str, &str)]) -> Step {
    step.env.extend(env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
    step
}

/// A folder of the tree as an absolute path with its hole.
pub(crate) fn in_tree(path: &RelPath) -> String {
    if path.is_root() { "{tree}".to_owned() } else { format!("{{tree}}/{}", path.as_str()) }
}
