//! The demo's recordings: a model's answers, written by hand, played back by tag.

use std::time::Duration;

use perspt_core::ids::NodeId;
use perspt_model::{Recorded, Tag};

macro_rules! answers {
    ($folder:literal: $(($intent:literal, $node:literal, $attempt:literal)),+ $(,)?) => {
        &[$(($intent, $node, $attempt, include_str!(concat!("../demo/", $folder, "/", $intent, "@", $node, "@", $attempt, ".txt")))),+]
    };
}

type Answers = &'static [(&'static str, &'static str, u32, &'static str)];

const RUST: Answers = answers!("rust":
    ("architect.greenfield", "-", 1),
    ("actuator.generate", "scaffold", 1),
    ("actuator.generate", "store", 1),
    ("correction", "store", 1),
    ("actuator.generate", "commands", 1),
    ("actuator.generate", "readme", 1),
);

const PYTHON: Answers = answers!("python":
    ("architect.greenfield", "-", 1),
    ("actuator.generate", "scaffold", 1),
    ("actuator.generate", "store", 1),
    ("correction", "store", 1),
    ("actuator.generate", "commands", 1),
);

const JAVASCRIPT: Answers = answers!("javascript":
    ("architect.greenfield", "-", 1),
    ("actuator.generate", "scaffold", 1),
    ("actuator.generate", "store", 1),
    ("correction", "store", 1),
    ("actuator.generate", "commands", 1),
);

const GO: Answers = answers!("go":
    ("architect.greenfield", "-", 1),
    ("actuator.generate", "scaffold", 1),
    ("actuator.generate", "store", 1),
    ("correction", "store", 1),
    ("actuator.generate", "commands", 1),
);

/// The pause between two pieces of an answer, so that it looks as if a model writes.
const PACE: Duration = Duration::from_millis(8);

/// The task of a demo.
pub fn task(language: &str) -> &'static str {
    match language {
        "python" => "build a Python command line to-do app with tests and JSON storage",
        "javascript" => "build a JavaScript command line to-do app with tests and JSON storage",
        "go" => "build a Golang command line to-do app with tests and JSON storage",
        _ => "build a Rust CLI todo app with tests and JSON storage",
    }
}

/// The recording of a demo.
pub fn recording(language: &str) -> Recorded {
    let answers = match language {
        "python" => PYTHON,
        "javascript" => JAVASCRIPT,
        "go" => GO,
        _ => RUST,
    };
    let pairs = answers.iter().map(|(intent, node, attempt, text)| {
        let tag = match *node {
            "-" => Tag::session(intent, *attempt),
            node => Tag::node(intent, &NodeId::from(node), *attempt),
        };
        (tag, *text)
    });
    Recorded::from_pairs(pairs).paced(PACE)
}
