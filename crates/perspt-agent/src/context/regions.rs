//! The regions of a large file that are shown: chosen by what is in focus, cut between lines, marked with their numbers.

use perspt_model::estimate_tokens;

use super::hits::{AROUND, Hit, Reason};
use super::source::{Lines, Source};

/// How far a region reaches.
#[derive(Clone, Copy)]
struct Reach {
    /// Items up to this many lines are shown whole.
    whole: u32,
    /// Instead of an item, what is around it is shown where it has at most this many lines.
    around: u32,
    /// Lines before and after an item.
    margin: u32,
    /// Lines before and after a line that is meant, in a longer item.
    near: u32,
    /// First lines of a longer item.
    head: u32,
}

/// What serves an edit: whole items with a little around them.
const WIDE: Reach = Reach { whole: 120, around: 60, margin: 3, near: 20, head: 20 };
/// What an edit cannot do without.
const NARROW: Reach = Reach { whole: 40, around: 0, margin: 0, near: 8, head: 4 };

/// Regions with fewer lines between them than this become one: a mark costs as much.
const GAP: u32 = 4;
/// What a mark line costs, about.
pub(super) const MARK: u64 = 20;
/// The lines at the top of a file, where imports stand.
const TOP: u32 = 25;

/// What is shown of a file.
pub(super) struct Cut {
    /// The regions in order.
    pub regions: Vec<Lines>,
    /// Parts in focus that no region shows.
    pub left_out: usize,
}

/// The regions for what is in focus that cost at most `most` tokens, the best first; then the top of the file. What must be
/// shown comes in any case, if need be only as far as an edit needs it.
pub(super) fn choose(source: &Source, hits: &[Hit], most: u64) -> Cut {
    let musts = musts(hits);
    let (mut regions, mut left_out) = (least(source, hits).regions, 0);
    for (at, hit) in hits.iter().enumerate() {
        let wide = merged(&regions, extents(source, hit, WIDE));
        let narrow = || merged(&regions, extents(source, hit, NARROW));
        if cost(source, &wide) <= most {
            regions = wide;
        } else if let Some(narrow) = Some(narrow()).filter(|narrow| cost(source, narrow) <= most) {
            regions = narrow;
        } else if at >= musts {
            left_out += 1;
        }
    }
    let top = merged(&regions, vec![top(source)]);
    if source.line_count() > 0 && cost(source, &top) <= most {
        regions = top;
    }
    Cut { regions, left_out }
}

/// What must be shown of a file, and no more.
pub(super) fn least(source: &Source, hits: &[Hit]) -> Cut {
    let (needed, others) = hits.split_at(musts(hits));
    let regions =
        needed.iter().fold(Vec::new(), |regions, hit| merged(&regions, extents(source, hit, NARROW)));
    Cut { regions, left_out: others.len() }
}

/// How many parts must be shown: those with findings and the definitions that are meant, as far as they can be told from
/// others of the same name; without any, the best part. A name that half a file defines leads to no refusal.
fn musts(hits: &[Hit]) -> usize {
    const MOST: usize = 8;
    let best = hits.iter().find(|hit| hit.reason == Reason::Defines).map_or(0, |hit| hit.score / AROUND);
    let is_meant = |hit: &&Hit| match hit.reason {
        Reason::Finding => true,
        Reason::Defines => hit.score / AROUND == best,
        Reason::Uses | Reason::Words => false,
    };
    hits.iter().take_while(is_meant).count().clamp(1, MOST).min(hits.len())
}

/// The lines to show for one part.
fn extents(source: &Source, hit: &Hit, reach: Reach) -> Vec<Lines> {
    let Some(block) = source.blocks.get(hit.block) else { return Vec::new() };
    let mut lines = block.lines;
    let mut item = block.item;
    while let Some(around) = item.and_then(|item| source.parent(item)) {
        let wider = source.items[around].lines;
        if length(wider) > reach.around {
            break;
        }
        (lines, item) = (wider, Some(around));
    }
    if length(lines) <= reach.whole {
        return vec![stretched(source, lines, reach.margin)];
    }
    let before_child =
        item.and_then(|item| source.first_child(item)).map(|child| child.lines.0.saturating_sub(1));
    let head_end = before_child.unwrap_or(u32::MAX).max(lines.0).min(lines.0 + reach.head - 1).min(lines.1);
    let mut regions = vec![(lines.0, head_end)];
    if hit.lines.is_empty() && before_child.is_none() {
        regions = vec![(lines.0, (lines.0 + reach.whole - 1).min(lines.1))];
    }
    for line in &hit.lines {
        let near = (line.saturating_sub(reach.near).max(lines.0), (line + reach.near).min(lines.1));
        regions = merged(&regions, vec![near]);
    }
    regions
}

fn length(lines: Lines) -> u32 {
    lines.1.saturating_sub(lines.0) + 1
}

fn stretched(source: &Source, lines: Lines, margin: u32) -> Lines {
    (lines.0.saturating_sub(margin).max(1), (lines.1 + margin).min(source.line_count()))
}

fn top(source: &Source) -> Lines {
    let first = source.items.iter().map(|item| item.lines.0).min().unwrap_or(u32::MAX);
    (1, first.saturating_sub(1).clamp(1, TOP).min(source.line_count().max(1)))
}

/// These regions and those, in order, with those that nearly meet joined.
fn merged(regions: &[Lines], more: Vec<Lines>) -> Vec<Lines> {
    let mut all: Vec<Lines> = regions.iter().copied().chain(more).collect();
    all.sort_unstable();
    let mut out: Vec<Lines> = Vec::new();
    for lines in all {
        match out.last_mut() {
            Some(last) if lines.0 <= last.1.saturating_add(GAP) => last.1 = last.1.max(lines.1),
            Some(_) | None => out.push(lines),
        }
    }
    out
}

/// What regions cost, with their marks.
pub(super) fn cost(source: &Source, regions: &[Lines]) -> u64 {
    regions.iter().map(|lines| estimate_tokens(source.slice(*lines)) + MARK).sum()
}

/// The regions with their mark lines. What stands between two marks is exactly these lines of the file.
pub(super) fn text(source: &Source, regions: &[Lines]) -> String {
    let mut out = String::new();
    let all = source.number(source.line_count());
    let mut shown = 0;
    let named = |first: u32, last: u32| {
        let (first, last) = (source.number(first), source.number(last));
        if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
    };
    for &(first, last) in regions {
        let skipped = if first > shown + 1 {
            format!("; {} not shown", named(shown + 1, first - 1))
        } else {
            String::new()
        };
        out.push_str(&format!("[{} of {all}{skipped}]\n", named(first, last)));
        out.push_str(source.slice((first, last)));
        if !out.ends_with('\n') {
            out.push('\n');
        }
        shown = last;
    }
    if shown < source.line_count() {
        out.push_str(&format!("[{} of {all} not shown]\n", named(shown + 1, source.line_count())));
    }
    out
}
