//! What stands for a file's text: its outline within some tokens, or one line about it.

use std::collections::BTreeSet;

use perspt_lang::OutlineItem;
use perspt_model::estimate_tokens;

use super::hits::Hit;
use super::source::Source;

/// In an outline of names, a row has at most this many.
const ROW: usize = 8;
/// A summary names at most this many items.
const NAMES: usize = 12;

/// How much an outline says.
#[derive(Clone, Copy)]
enum Detail {
    /// Every item with its signature, a line each.
    Signatures,
    /// Every item by name, those side by side in one row.
    Names,
    /// Signatures of outermost items, of those in focus and of what is around these.
    Outermost,
}

/// The outline of a file, in the most detail that costs at most `most` tokens. It says what it leaves out.
pub(super) fn outline(source: &Source, hits: &[Hit], most: u64) -> String {
    let focus = focused(source, hits);
    let texts =
        [Detail::Signatures, Detail::Names, Detail::Outermost].map(|detail| lines(source, &focus, detail));
    let title =
        format!("[outline of {} lines: lines, then what stands there]", source.number(source.line_count()));
    let fits = |lines: &&Vec<String>| estimate_tokens(&joined(&title, lines, 0)) <= most;
    if let Some(lines) = texts.iter().find(fits) {
        return joined(&title, lines, 0);
    }
    // Rows of names say the most in the least room.
    let [_, names, _] = texts;
    let left = most.saturating_mul(3).saturating_sub(title.len() as u64 + 60);
    let kept = first_rows(&names, left);
    joined(&title, &kept, names.len() - kept.len())
}

/// The first rows that fit.
fn first_rows(rows: &[String], bytes: u64) -> Vec<String> {
    let mut used = 0;
    let fits = |row: &&String| {
        used += row.len() as u64 + 1;
        used <= bytes
    };
    rows.iter().take_while(fits).cloned().collect()
}

fn joined(title: &str, lines: &[String], cut: usize) -> String {
    let end =
        if cut > 0 { format!("[{cut} more rows of the outline are not shown]\n") } else { String::new() };
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{title}\n{body}{end}")
}

/// The items in focus and those around them.
fn focused(source: &Source, hits: &[Hit]) -> BTreeSet<usize> {
    let mut focus = BTreeSet::new();
    for hit in hits {
        let mut item = source.blocks.get(hit.block).and_then(|block| block.item);
        while let Some(at) = item.filter(|at| focus.insert(*at)) {
            item = source.parent(at);
        }
    }
    focus
}

fn lines(source: &Source, focus: &BTreeSet<usize>, detail: Detail) -> Vec<String> {
    match detail {
        Detail::Signatures => source.items.iter().map(|item| line(source, item)).collect(),
        Detail::Outermost => {
            let items = source.items.iter().enumerate();
            let kept = items.filter(|(at, item)| item.scope.is_empty() || focus.contains(at));
            kept.map(|(_, item)| line(source, item)).collect()
        }
        Detail::Names => rows(source),
    }
}

fn line(source: &Source, item: &OutlineItem) -> String {
    let (first, last) = (source.number(item.lines.0), source.number(item.lines.1));
    format!("{}{first}-{last} {}", "  ".repeat(item.scope.len()), item.signature)
}

fn rows(source: &Source) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row: Vec<&OutlineItem> = Vec::new();
    let mut close = |row: &mut Vec<&OutlineItem>| {
        if let (Some(first), Some(last)) = (row.first(), row.last()) {
            let names = row.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", ");
            let lines = (source.number(first.lines.0), source.number(last.lines.1));
            rows.push(format!("{}{}-{} {names}", "  ".repeat(first.scope.len()), lines.0, lines.1));
        }
        row.clear();
    };
    for (at, item) in source.items.iter().enumerate() {
        let holds = source.first_child(at).is_some();
        if holds || row.len() == ROW || row.first().is_some_and(|first| first.scope != item.scope) {
            close(&mut row);
        }
        row.push(item);
        if holds {
            close(&mut row);
        }
    }
    close(&mut row);
    rows
}

/// One line about a file: how long it is and what is in it.
pub(super) fn summary(source: &Source) -> String {
    let outer: Vec<&str> =
        source.items.iter().filter(|item| item.scope.is_empty()).map(|item| item.name.as_str()).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in &outer {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.truncate(NAMES);
    let holds = if names.is_empty() { String::new() } else { format!(", with {}{rest}", names.join(", ")) };
    format!("[{} lines{holds}; none of it is shown]\n", source.number(source.line_count()))
}
