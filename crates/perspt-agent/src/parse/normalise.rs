//! What stands around an answer and is no part of it: reasoning, channel marks, tags around the whole.

use super::notes::Notes;

const REASONING: [&str; 5] = ["think", "thinking", "reasoning", "thought", "reflection"];
const WRAPPERS: [&str; 6] = ["answer", "output", "response", "result", "final", "final_answer"];
/// Marks that some servers leave at the end of an answer.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|return|>",
    "<|end|>",
    "<|end_of_text|>",
    "</s>",
    "<end_of_turn>",
];

/// An answer without its frame, and what was taken away.
#[derive(Debug, Clone)]
pub(super) struct Framed {
    pub text: String,
    /// What was taken as reasoning although nothing opens it.
    pub before: Option<String>,
    pub notes: Notes,
}

/// The answer without its frame. Where a mark could also belong to the answer, both readings are given.
pub(super) fn normalise(answer: &str) -> Vec<Framed> {
    let mut notes = Notes::default();
    let mut text = answer;
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        notes.add("byte order mark removed");
        text = rest;
    }
    let crlf;
    let line_ends = text.matches('\n').count();
    // Where every line of an answer ends in CRLF, that is how it was sent, and not how its files shall be.
    if line_ends > 0 && line_ends == text.matches("\r\n").count() {
        notes.add("lines ended in CRLF");
        crlf = text.replace("\r\n", "\n");
        text = &crlf;
    }
    let text = unframed(text, &mut notes);
    let mut out = vec![Framed { text: text.to_owned(), before: None, notes: notes.clone() }];
    if let Some((before, rest)) = after_unopened(text) {
        let mut notes = notes.clone();
        notes.add("reasoning removed");
        let text = unframed(rest, &mut notes).to_owned();
        out.push(Framed { text, before: Some(before.to_owned()), notes });
    }
    if let Some(inner) = in_one_fence(text) {
        notes.add("a fence around the whole answer removed");
        out.push(Framed { text: inner.to_owned(), before: None, notes });
    }
    out
}

/// The text without leading reasoning, channel marks and tags around all of it.
fn unframed<'a>(text: &'a str, notes: &mut Notes) -> &'a str {
    let mut text = text;
    loop {
        let trimmed = text.trim();
        let next = if let Some(rest) = after_reasoning(trimmed) {
            notes.add("reasoning removed");
            rest
        } else if let Some(rest) = final_channel(trimmed) {
            notes.add("channel marks removed");
            rest
        } else if let Some(rest) = ENDS.iter().find_map(|end| trimmed.strip_suffix(end)) {
            notes.add("end mark removed");
            rest
        } else if let Some(rest) = inside_tag(trimmed) {
            notes.add("a tag around the answer removed");
            rest
        } else {
            return text;
        };
        text = next;
    }
}

/// What follows reasoning that is opened at the beginning. Where it is not closed, nothing follows.
fn after_reasoning(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let tag = REASONING.iter().find(|tag| inner.starts_with(&format!("{tag}>")))?;
    let close = format!("</{tag}>");
    Some(text.find(&close).map_or("", |at| &text[at + close.len()..]))
}

/// Reasoning and what follows it, where its beginning stood in the prompt: a closing tag with no opening one before it.
fn after_unopened(text: &str) -> Option<(&str, &str)> {
    let (at, tag) = REASONING.iter().filter_map(|tag| Some((text.find(&format!("</{tag}>"))?, tag))).min()?;
    let is_opened = text[..at].contains(&format!("<{tag}>"));
    (!is_opened).then(|| (&text[..at], &text[at + tag.len() + 3..]))
}

fn final_channel(text: &str) -> Option<&str> {
    const FINAL: &str = "<|channel|>final";
    if !text.starts_with("<|channel|>") && !text.starts_with("<|start|>") && !text.starts_with("<|message|>")
    {
        return None;
    }
    match text.find(FINAL) {
        Some(at) => {
            let behind = &text[at + FINAL.len()..];
            behind.find("<|message|>").map(|at| &behind[at + "<|message|>".len()..])
        }
        None => Some(""),
    }
}

fn inside_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let tag = WRAPPERS.iter().find(|tag| inner.starts_with(&format!("{tag}>")))?;
    inner[tag.len() + 1..].strip_suffix(&format!("</{tag}>"))
}

/// What stands in a fence that begins with the first line and ends with the last one, where that is no JSON.
fn in_one_fence(text: &str) -> Option<&str> {
    let text = text.trim();
    let (first, rest) = text.split_once('\n')?;
    let (body, last) = rest.rsplit_once('\n')?;
    let marks = first.trim_end().trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_fence = marks.len() >= 3 && (marks.chars().all(|c| c == '`') || marks.chars().all(|c| c == '~'));
    let is_text = matches!(first[marks.len()..].trim(), "" | "markdown" | "md" | "text" | "txt");
    // The frame's own line end belongs to its last line.
    (is_fence && is_text && last.trim_end() == marks).then(|| &rest[..body.len() + 1])
}
