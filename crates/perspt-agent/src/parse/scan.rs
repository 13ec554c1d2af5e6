//! Looking through an answer from its beginning: JSON is found by its own brackets, blocks by their fences.

use std::ops::Range;

use super::blocks::{begins_blocks, blocks, is_order};
use super::fit::{Fit, fit};
use super::json::{Found, read_json};
use super::lines::{Fence, Line, lines, text_of};
use super::notes::Notes;
use super::opening::Page;
use super::pairs::is_pair_mark;
use super::steps::count;
use super::wanted::{Finder, Payload, Wanted};
use super::words::{lone_word, may_be_path, named_path};

/// A payload and how it was found.
#[derive(Debug)]
pub(super) struct Hit {
    pub payload: Payload,
    pub finder: Finder,
    pub stand: Stand,
    pub notes: Notes,
}

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// Nothing.
    First,
    /// Something.
    Within,
}

impl Stand {
    fn after(before: &str) -> Stand {
        if before.trim().is_empty() { Stand::First } else { Stand::Within }
    }
}

/// All that was found in an answer.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub hits: Vec<Hit>,
    /// Lines for the model; with one of them nothing is accepted.
    pub faults: Vec<String>,
    pub notes: Notes,
    /// Blocks that name no file and could be one.
    pub unlabelled: Vec<String>,
}

impl Scan {
    /// A block that names no file. It is left out where text stands before it that names no file either.
    pub fn left_out(&mut self, above: &[Line<'_>], open: &Line<'_>, body: &[Line<'_>]) {
        if body.iter().any(is_pair_mark) {
            return self.fault("SEARCH/REPLACE lines name no file: put `### edit path` above their fence");
        }
        let (mut named, mut last) = (None, None);
        // Names of languages are one word in small letters.
        let info = open.fence.map_or("", |fence| fence.info);
        let first =
            info.split_whitespace().next().filter(|word| word.starts_with(|c: char| c.is_uppercase()));
        let second = info.split_whitespace().nth(1).filter(|word| may_be_path(word));
        let is_text = |line: &&str| !line.is_empty() && !is_order(line);
        for line in above.iter().map(|line| line.text).filter(is_text) {
            named = named.or_else(|| named_path(line));
            last = Some(line);
        }
        // A single word, such as `Makefile`, may be one.
        let named = named.or_else(|| last.and_then(lone_word)).or(second).or(first);
        match (named, last) {
            (Some(path), _) => self.unlabelled.push(format!(
                "a block of code may be `{path}`, or not: put `### write {path}` directly above it, or leave it out"
            )),
            (None, Some(_)) if is_code(info, body) => {
                let line = "a block of code names no file: put `### write path` directly above it, or leave it out";
                self.unlabelled.push(line.to_owned());
            }
            (None, Some(_)) => self.notes.add("an unlabelled block was left out"),
            (None, None) => {
                let line = "a block of code has no path above it: name it by `### write path`, or leave it out";
                self.unlabelled.push(line.to_owned());
            }
        }
    }

    /// Files beside a block that could be one are not the whole answer. JSON is: it needs no block.
    fn settle(&mut self) {
        let is_json =
            |hit: &Hit| matches!(hit.finder, Finder::Json | Finder::FencedJson | Finder::JsonInText);
        let unlabelled = std::mem::take(&mut self.unlabelled);
        if self.hits.iter().any(|hit| !is_json(hit)) {
            unlabelled.into_iter().for_each(|line| self.fault(line));
        } else if !unlabelled.is_empty() {
            self.notes.add("an unlabelled block was left out");
            self.unlabelled = unlabelled;
        }
    }

    pub fn fault(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.faults.contains(&line) {
            self.faults.push(line);
        }
    }

    /// Takes a JSON value that stands in the answer.
    fn json(&mut self, found: Found, finder: Finder, stand: Stand, wanted: &Wanted<'_>) {
        match fit(&found.value, wanted) {
            Fit::Is(payload, mut notes) => {
                notes.extend(found.notes);
                self.hits.push(Hit { payload, finder, stand, notes });
            }
            Fit::Wrong(line) => self.fault(line),
            Fit::Other => self.notes.add("JSON of another kind left out"),
        }
    }
}

/// Whether a block is long enough to be a file and calls itself code. What shows a command or its output is neither.
fn is_code(info: &str, body: &[Line<'_>]) -> bool {
    const SHOWN: &[&str] = &["", "bash", "console", "log", "output", "sh", "shell", "text", "txt", "zsh"];
    const EXAMPLE_LINES: usize = 3;
    let word = info.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    let lines = body.iter().filter(|line| !line.text.trim().is_empty()).count();
    !SHOWN.contains(&word.as_str()) && lines > EXAMPLE_LINES
}

/// Looks through an answer.
pub(super) fn scan(text: &str, wanted: &Wanted<'_>) -> Scan {
    let mut out = Scan::default();
    let begin = text.len() - text.trim_start().len();
    if matches!(text.as_bytes().get(begin), Some(b'{' | b'[')) {
        match read_json(text, begin) {
            Ok(found) if text[found.end..].trim().is_empty() => {
                let is_object = found.value.is_object();
                out.json(found, Finder::Json, Stand::First, wanted);
                if out.hits.is_empty() && out.faults.is_empty() {
                    let kind = if is_object { "an object of another form" } else { "not an object" };
                    out.fault(format!("the answer is JSON, but {kind}: {}", form(wanted)));
                }
                return out;
            }
            Ok(_) | Err(_) => {}
        }
    }
    let lines = lines(text);
    walk(text, &Page::new(&lines), wanted, &mut out);
    out.settle();
    out
}

/// What the JSON should look like, in a few words.
fn form(wanted: &Wanted<'_>) -> &'static str {
    if wanted.allows_files() {
        "it must be {\"artifacts\": [{\"operation\": \"write\", \"path\": \"...\", \"content\": \"...\"}]}"
    } else {
        "it must be {\"tasks\": [...]}"
    }
}

/// Goes through an answer until blocks begin. Every step goes on behind what it looked at.
fn walk(text: &str, page: &Page<'_>, wanted: &Wanted<'_>, out: &mut Scan) {
    let lines = page.lines;
    let (mut at, mut since) = (0, 0);
    while at < text.len() {
        let number = lines.partition_point(|line| line.end() <= at);
        let line = &lines[number];
        let is_start = at == line.start;
        if !is_start && !text[at..line.end()].trim().is_empty() {
            out.notes.add("text around the answer left out");
        }
        if is_start && wanted.allows_files() && begins_blocks(page, number) {
            return blocks(page, since..number, wanted, out);
        }
        at = match line.fence {
            Some(_) if is_start => {
                let next = fenced(text, lines, since..number, wanted, out);
                since = lines.partition_point(|line| line.start < next);
                next
            }
            Some(_) | None => {
                let found = out.hits.len();
                let next = in_line(text, at, line.end(), wanted, out);
                if out.hits.len() > found {
                    since = lines.partition_point(|line| line.start < next);
                }
                next
            }
        };
    }
}

/// JSON in lines outside of blocks.
pub(super) fn in_text(lines: &[Line<'_>], range: Range<usize>, wanted: &Wanted<'_>, out: &mut Scan) {
    let text = text_of(&lines[range]);
    let mut at = 0;
    while at < text.len() {
        at = in_line(&text, at, text.len(), wanted, out);
    }
}

/// Where a line begins, or the end of the text.
fn start_of(lines: &[Line<'_>], number: usize) -> usize {
    lines.get(number).map_or_else(|| lines.last().map_or(0, Line::end), |line| line.start)
}

/// A fence outside of blocks: JSON, or code without a path. Gives the byte to go on with.
fn fenced(text: &str, lines: &[Line<'_>], above: Range<usize>, wanted: &Wanted<'_>, out: &mut Scan) -> usize {
    let number = above.end;
    if let Some(next) = fenced_json(text, lines, number, wanted, out) {
        return next;
    }
    let Some(open) = lines[number].fence else { return lines[number].end() };
    let close =
        lines[number + 1..].iter().position(|line| line.fence.is_some_and(|fence| fence.closes(&open)));
    match close {
        Some(length) => {
            out.left_out(&lines[above], &lines[number], &lines[number + 1..number + 1 + length]);
            start_of(lines, number + length + 2)
        }
        None => {
            out.fault("a block is not closed: the answer may have been cut off");
            text.len()
        }
    }
}

/// JSON in a fence ends where its brackets end: a string may hold lines that look like the fence's end.
fn fenced_json(
    text: &str,
    lines: &[Line<'_>],
    number: usize,
    wanted: &Wanted<'_>,
    out: &mut Scan,
) -> Option<usize> {
    let open = lines[number].fence?;
    let body = &text[lines[number].end()..];
    let begin = text.len() - body.trim_start().len();
    if !begins_json(&text[begin..]) {
        return None;
    }
    match read_json(text, begin) {
        Ok(found) => {
            let close = close_after(text, lines, found.end, &open)?;
            out.json(found, Finder::FencedJson, Stand::Within, wanted);
            Some(close)
        }
        Err(broken) if broken.had_key && matches!(open.info, "" | "json" | "jsonc" | "json5") => {
            out.fault(format!("the JSON is broken at byte {}: {}", broken.at, broken.why));
            Some(text.len())
        }
        Err(_) => None,
    }
}

/// The byte behind the fence that closes what ended at `end`, if nothing else stands before it.
fn close_after(text: &str, lines: &[Line<'_>], end: usize, open: &Fence<'_>) -> Option<usize> {
    let next = text.len() - text[end..].trim_start().len();
    if next == text.len() {
        return Some(next);
    }
    let line = &lines[lines.partition_point(|line| line.end() <= next)];
    (line.start + open.indent <= next && line.fence?.closes(open)).then(|| line.end())
}

/// Whether a text begins like JSON that could be an answer.
fn begins_json(text: &str) -> bool {
    let is_list = |rest: &str| rest.trim_start().starts_with('{');
    text.starts_with('{') || text.strip_prefix('[').is_some_and(is_list)
}

/// JSON within a line of text, perhaps over many lines. Gives the byte to go on with.
fn in_line(text: &str, from: usize, end: usize, wanted: &Wanted<'_>, out: &mut Scan) -> usize {
    let Some(found) = text[from..end].find(['{', '[']) else {
        count(end - from);
        return end;
    };
    count(found + 1);
    let begin = from + found;
    if !begins_json(&text[begin..]) {
        return begin + 1;
    }
    match read_json(text, begin) {
        Ok(found) => {
            let stop = found.end;
            out.json(found, Finder::JsonInText, Stand::after(&text[..begin]), wanted);
            stop
        }
        Err(broken) if broken.had_key => {
            out.fault(format!("the JSON is broken at byte {}: {}", broken.at, broken.why));
            text.len()
        }
        Err(broken) => broken.at.max(begin + 1),
    }
}
