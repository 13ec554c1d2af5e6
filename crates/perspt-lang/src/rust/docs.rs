//! Code blocks in the documentation of a Rust file that rustdoc builds or runs. Blocks without fences are not looked
//! at, nor text that an attribute, a macro or another file brings in.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;

use super::doc_names::sources_of;
use super::layout::{RUST, module_of};
use super::manifest;
use crate::plugin::Files;
use crate::syntax::{Item, Kind, Source, Token, parse};

/// Words after a fence that weaken the test it opens.
const MARKS: [&str; 4] = ["should_panic", "no_run", "compile_fail", "test_harness"];

/// The examples of one file; none where rustdoc does not look at it.
pub(crate) fn examples(files: &dyn Files, path: &RelPath) -> Vec<Item> {
    let text = files.text(path).filter(|text| text.contains("```") || text.contains("~~~"));
    let Some(text) = text.filter(|_| manifest::is_documented(files, path)) else { return Vec::new() };
    let source = parse(&RUST, &text);
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut items = Vec::new();
    for run in runs(&text) {
        let owner = if run.inner { Vec::new() } else { owner(&source, run.end) };
        let name = std::iter::once("doc".to_owned()).chain(owner).collect::<Vec<_>>().join("::");
        for block in blocks(&run) {
            let number = numbers.entry(name.clone()).or_default();
            *number += 1;
            let name = if *number > 1 { format!("{name}#{number}") } else { name.clone() };
            items.extend(block.item(name));
        }
    }
    items
}

/// How the reader of results calls an example: `rest` is what its name has after `doc`.
pub(crate) fn runner(path: &RelPath, rest: &str) -> String {
    let (owner, number) =
        rest.split_once('#').map_or((rest, String::new()), |(owner, n)| (owner, format!("#{n}")));
    let item = format!("{}{owner}", module_of(path));
    let item = item.trim_start_matches("::");
    match item.is_empty() {
        true => format!("doc::{path}{number}"),
        false => format!("doc::{}::{item}{number}", sources_of(path.as_str())),
    }
}

/// The path of the definition that documentation before it is about.
fn owner(source: &Source, end: usize) -> Vec<String> {
    let next = source.defines.iter().find(|define| define.start >= end);
    next.map(|define| define.path.iter().cloned().chain([define.text.clone()]).collect()).unwrap_or_default()
}

/// Neighbouring lines of documentation.
struct Run<'t> {
    inner: bool,
    lines: Vec<(u32, &'t str)>,
    end: usize,
}

fn runs(text: &str) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let mut at = 0;
    let mut joins = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        let trimmed = line.trim();
        let outer =
            trimmed.strip_prefix("///").filter(|rest| !rest.starts_with('/')).map(|rest| (false, rest));
        let Some((inner, rest)) = outer.or_else(|| trimmed.strip_prefix("//!").map(|rest| (true, rest)))
        else {
            joins = false;
            continue;
        };
        let line = (number as u32 + 1, rest);
        match runs.last_mut().filter(|run| joins && run.inner == inner) {
            Some(run) => {
                run.lines.push(line);
                run.end = at;
            }
            None => runs.push(Run { inner, lines: vec![line], end: at }),
        }
        joins = true;
    }
    runs
}

/// One fenced block.
struct Block<'t> {
    info: &'t str,
    lines: Vec<&'t str>,
    places: (u32, u32),
}

fn blocks<'t>(run: &Run<'t>) -> Vec<Block<'t>> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Block<'t>)> = None;
    for (number, line) in &run.lines {
        let line = line.trim();
        let mark: String =
            line.chars().take_while(|&c| line.starts_with(c) && (c == '`' || c == '~')).collect();
        match &mut open {
            Some((fence, _)) if mark == line && mark.starts_with(fence.as_str()) => {
                blocks.extend(open.take().map(|(_, block)| block));
            }
            Some((_, block)) => {
                block.lines.push(line);
                block.places.1 = *number;
            }
            None if mark.len() >= 3 && !line[mark.len()..].contains('`') => {
                let info = &line[mark.len()..];
                open = Some((mark, Block { info, lines: Vec::new(), places: (*number, *number) }));
            }
            None => {}
        }
    }
    blocks.extend(open.map(|(_, block)| block));
    blocks
}

impl Block<'_> {
    /// The test that the block is; `None` where rustdoc does not build it.
    fn item(&self, name: String) -> Option<Item> {
        let words: Vec<&str> = self.info.split([',', ' ', '\t']).filter(|word| !word.is_empty()).collect();
        let builds = is_rust(&words) && !words.contains(&"ignore");
        let marks: Vec<&str> = words.iter().copied().filter(|word| MARKS.contains(word)).collect();
        let code = self.lines.iter().copied().filter(|line| !line.is_empty() && *line != "#");
        let lines = marks.iter().copied().chain(code);
        builds.then(|| Item {
            name,
            scope: String::new(),
            kind: Kind::Test,
            guarded: false,
            ambient: false,
            range: 0..0,
            lines: self.places,
            tokens: lines.map(|line| Token { text: line.to_owned(), is_name: false }).collect(),
            cases: Vec::new(),
            context: Vec::new(),
            assertions: self.lines.iter().filter(|line| line.contains("assert")).count(),
            skips: marks.len(),
            exact: 0,
            vacuous: 0,
        })
    }
}

/// Whether these words after a fence leave it Rust: none is strange, one says so, or one that only Rust has comes
/// before the first strange one.
fn is_rust(words: &[&str]) -> bool {
    let is_mark = |word: &str| MARKS.contains(&word) || word.starts_with("ignore");
    let is_plain = |word: &str| ["rust", "standalone_crate"].contains(&word) || word.starts_with("edition");
    let strange = words.iter().position(|word| !is_mark(word) && !is_plain(word)).unwrap_or(words.len());
    strange == words.len() || words.contains(&"rust") || words[..strange].iter().any(|word| is_mark(word))
}
