//! Finding the JSON of an answer, for plans and bundles alike.

use perspt_core::event::{Capture, ParseState};
use perspt_core::hash::Sha;
use serde_json::Value;

/// Records what came, whatever it is.
pub fn capture(text: &str) -> Capture {
    const FIRST_LINE_CHARS: usize = 120;
    let first_line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    Capture {
        hash: Sha::of(text.as_bytes()),
        length: text.len() as u64,
        first_line: first_line.chars().take(FIRST_LINE_CHARS).collect(),
    }
}

/// JSON found in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// The text of the JSON, as it is in the answer.
    pub json: String,
    /// Whether it was the whole answer or stood in a fence.
    pub state: ParseState,
}

/// What was found in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// One JSON object.
    Object(Payload),
    /// None, and the state that says why, with a line for the model.
    Nothing(ParseState, String),
}

/// Finds the one JSON object of an answer: the whole text, or the one fenced block that is an object.
pub fn read(text: &str) -> Read {
    let whole = text.trim();
    if whole.is_empty() {
        return Read::Nothing(ParseState::EmptyResponse, "the answer was empty".to_owned());
    }
    if is_object(whole) {
        return Read::Object(Payload { json: whole.to_owned(), state: ParseState::StructuredOk });
    }
    let mut objects: Vec<&str> = fenced_blocks(text).into_iter().filter(|block| is_object(block)).collect();
    match (objects.pop(), objects.is_empty()) {
        (Some(json), true) => {
            Read::Object(Payload { json: json.to_owned(), state: ParseState::TolerantRecoveryOk })
        }
        (Some(_), false) => Read::Nothing(
            ParseState::SchemaInvalid,
            format!("{} JSON objects came where one was asked for", objects.len() + 1),
        ),
        (None, _) => nothing(whole),
    }
}

fn nothing(whole: &str) -> Read {
    match serde_json::from_str::<Value>(whole) {
        Ok(_) => Read::Nothing(ParseState::SchemaInvalid, "the answer is JSON, but not an object".to_owned()),
        Err(error) if whole.starts_with('{') => Read::Nothing(
            ParseState::SchemaInvalid,
            format!("the answer begins like a JSON object and is not one: {error}"),
        ),
        Err(_) => Read::Nothing(
            ParseState::NoStructuredPayload,
            "no JSON object was found; prose and bare code blocks are not an answer".to_owned(),
        ),
    }
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The bodies of all fenced blocks, in order. A fence is a line of three or more backticks or tildes; it
/// is closed by a line of at least as many of the same. Linear in the text.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let Some(mark) = bare.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let run = bare.chars().take_while(|c| *c == mark).count();
        if run < 3 {
            continue;
        }
        match open {
            None => open = Some((mark, run, at)),
            Some((opened, length, body)) if opened == mark && run >= length && bare.len() == run => {
                blocks.push(text[body..start].trim());
                open = None;
            }
            Some(_) => {}
        }
    }
    blocks
}
