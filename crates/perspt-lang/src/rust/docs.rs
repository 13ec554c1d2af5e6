//! Documentation of a Rust file, and the code blocks in it that rustdoc tries out. Indented blocks without
//! fences are not looked at, nor text that a macro or another file brings in.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;

use super::items;
use super::lexer::{Doc, Place, Token, lex, lex_with_docs};
use super::{manifest, strength};
use crate::plugin::Files;
use crate::shared::examples::Example;
use crate::shared::touch::Test;

/// Words after a fence that weaken the test it opens.
const MARKS: [&str; 4] = ["should_panic", "no_run", "compile_fail", "test_harness"];

/// The examples of one file; none where rustdoc does not look at it.
pub(crate) fn examples(files: &dyn Files, path: &RelPath) -> Vec<Example> {
    let text = manifest::is_documented(files, path).then(|| files.text(path)).flatten();
    text.map(|text| find(path, &text)).unwrap_or_default()
}

fn find(path: &RelPath, text: &str) -> Vec<Example> {
    let (tokens, comments) = lex_with_docs(text);
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut examples = Vec::new();
    for doc in runs(&tokens, comments) {
        let item = match doc.place {
            Place::Inside => "",
            Place::Before => items::name_after(&tokens, doc.end),
        };
        for block in blocks(&doc) {
            let key = if item.is_empty() { "doc".to_owned() } else { format!("doc::{item}") };
            let number = numbers.entry(key.clone()).or_default();
            *number += 1;
            let key = if *number > 1 { format!("{key}#{number}") } else { key };
            examples.push(block.example(path, key));
        }
    }
    examples
}

/// The documentation texts of a file: neighbouring comments and attributes make one.
fn runs(tokens: &[Token<'_>], comments: Vec<Doc>) -> Vec<Doc> {
    let mut pieces = comments;
    pieces.extend((0..tokens.len()).filter_map(|at| attribute(tokens, at)));
    // A comment before a token comes before what starts with it; the sort keeps the order of the others.
    pieces.sort_by_key(|piece| (piece.start, piece.end));
    let mut runs: Vec<Doc> = Vec::new();
    for piece in pieces {
        match runs.last_mut().filter(|run| run.end == piece.start && run.place == piece.place) {
            Some(run) => {
                run.lines.extend(piece.lines);
                run.end = piece.end;
            }
            None => runs.push(piece),
        }
    }
    runs
}

/// `#[doc = "…"]` or `#![doc = "…"]` at this place.
fn attribute(tokens: &[Token<'_>], start: usize) -> Option<Doc> {
    let inner = tokens.get(start + 1)?.text == "!";
    let open = start + 1 + usize::from(inner);
    let [bracket, doc, equals, literal, close] = tokens.get(open..open + 5)? else { return None };
    let shape = [tokens[start].text, bracket.text, doc.text, equals.text, close.text];
    if shape != ["#", "[", "doc", "=", "]"] {
        return None;
    }
    let text = unquoted(literal.text)?;
    let place = if inner { Place::Inside } else { Place::Before };
    let lines = text.lines().map(|line| (literal.line, line.to_owned())).collect();
    Some(Doc { start, end: open + 5, place, lines })
}

/// What a string literal says, as far as code in documentation needs it.
fn unquoted(literal: &str) -> Option<String> {
    let raw = literal.starts_with('r');
    let inside = literal.trim_start_matches('r').trim_matches('#').strip_prefix('"')?.strip_suffix('"')?;
    let escapes = [("\\n", "\n"), ("\\\"", "\""), ("\\t", "\t"), ("\\\\", "\\")];
    let said = escapes.iter().fold(inside.to_owned(), |text, (escape, said)| text.replace(escape, said));
    Some(if raw { inside.to_owned() } else { said })
}

/// One fenced block.
struct Block {
    info: String,
    body: String,
    line: u32,
}

fn blocks(doc: &Doc) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Block)> = None;
    for (number, line) in &doc.lines {
        let line = line.trim();
        let mark: String =
            line.chars().take_while(|&c| line.starts_with(c) && (c == '`' || c == '~')).collect();
        match &mut open {
            Some((fence, _)) if mark == line && mark.starts_with(fence.as_str()) => {
                blocks.extend(open.take().map(|(_, block)| block));
            }
            Some((_, block)) => {
                block.body.push_str(shown(line));
                block.body.push('\n');
            }
            None if mark.len() >= 3 && !line[mark.len()..].contains('`') => {
                let info = line[mark.len()..].to_owned();
                open = Some((mark, Block { info, body: String::new(), line: *number }));
            }
            None => {}
        }
    }
    blocks.extend(open.map(|(_, block)| block));
    blocks
}

/// A line of code without the sign that hides it from readers.
fn shown(line: &str) -> &str {
    if line == "#" { "" } else { line.strip_prefix("# ").unwrap_or(line) }
}

impl Block {
    fn example(&self, file: &RelPath, key: String) -> Example {
        let mut words: Vec<&str> =
            self.info.split([',', ' ', '\t']).filter(|word| !word.is_empty()).collect();
        let is_rust = is_rust(&words);
        words.retain(|word| *word != "rust");
        words.sort_unstable();
        let tokens = lex(&self.body);
        let code = tokens.iter().map(|token| token.text);
        let text: Vec<&str> = words.iter().copied().chain(["\u{2}"]).chain(code).collect();
        Example {
            file: file.clone(),
            key,
            test: Test {
                tokens: text.join("\u{1}"),
                marks: words.iter().filter(|word| is_mark(word)).count() + usize::from(!is_rust),
                strength: strength::of(&tokens),
                line: self.line,
            },
            runs: is_rust && !words.contains(&"ignore"),
        }
    }
}

/// Whether these words after a fence leave it Rust: none is strange, one says so, or one that only Rust has comes
/// before the first strange one.
fn is_rust(words: &[&str]) -> bool {
    let strange = words.iter().position(|word| !is_mark(word) && !is_plain(word)).unwrap_or(words.len());
    strange == words.len() || words.contains(&"rust") || words[..strange].iter().any(|word| is_mark(word))
}

/// A word that weakens the test.
fn is_mark(word: &str) -> bool {
    MARKS.contains(&word) || word.starts_with("ignore")
}

/// A word that leaves the test as it is.
fn is_plain(word: &str) -> bool {
    ["rust", "standalone_crate"].contains(&word) || word.starts_with("edition")
}
