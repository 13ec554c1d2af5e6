//! Which parts of a file are in focus, the best first.

use std::collections::{BTreeMap, BTreeSet};

use super::focus::Focus;
use super::source::Source;
use super::words::words;

/// At most this many parts are chosen by words alone.
const BY_WORDS: usize = 8;
/// In a long part, at most this many lines are chosen by words.
const LINES_BY_WORDS: usize = 3;

/// A definition's score is this much for every name around it that is in focus too.
pub(super) const AROUND: u64 = 1 << 32;

/// Why a part is in focus, the strongest reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// A finding is in it.
    Finding,
    /// It defines a name that is in focus.
    Defines,
    /// It holds such a name.
    Uses,
    /// It has words of the task.
    Words,
}

/// A part of a file that is in focus.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub reason: Reason,
    /// How much it is so, beside others with the same reason.
    pub score: u64,
    pub block: usize,
    /// The lines in it that are meant, where that can be said.
    pub lines: Vec<u32>,
}

/// What is in focus in a file.
pub(super) struct Hits {
    /// The best first.
    pub parts: Vec<Hit>,
    /// How many different words of the focus the part has that has most of them.
    pub most_words: usize,
}

/// What is in focus in a file. Words count only where no finding and no name leads to a definition.
pub(super) fn hits(source: &Source, focus: &Focus) -> Hits {
    let seen = Seen::of(source, focus);
    let mut found: BTreeMap<usize, Hit> = BTreeMap::new();
    let mut add = |hit: Hit| {
        found.entry(hit.block).or_insert(hit);
    };
    let findings = focus.lines.iter().filter(|(path, _)| *path == source.path);
    let lines: BTreeSet<u32> = findings.map(|(_, number)| source.line_of(*number)).collect();
    let mut by_block: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for line in lines {
        if let Some(block) = source.block_of(line) {
            by_block.entry(block).or_default().push(line);
        }
    }
    for (block, lines) in by_block {
        add(Hit { reason: Reason::Finding, score: 0, block, lines });
    }
    seen.definitions(source, focus).for_each(&mut add);
    seen.uses().for_each(&mut add);
    if !found.values().any(|hit| hit.reason <= Reason::Defines) {
        for hit in seen.by_words(source) {
            found.entry(hit.block).or_insert(hit);
        }
    }
    let mut parts: Vec<Hit> = found.into_values().collect();
    parts.sort_by_key(|hit| (hit.reason, std::cmp::Reverse(hit.score), hit.block));
    Hits { parts, most_words: seen.words.values().map(BTreeMap::len).max().unwrap_or(0) }
}

/// What of the focus stands where, by block.
#[derive(Default)]
struct Seen {
    /// Lines with each name.
    names: BTreeMap<usize, BTreeMap<String, Vec<u32>>>,
    /// How often each word stands there, at most [`Seen::OFTEN`].
    words: BTreeMap<usize, BTreeMap<String, u64>>,
    /// How many different words of the focus a line has.
    lines: BTreeMap<usize, Vec<(usize, u32)>>,
    blocks: usize,
}

impl Seen {
    const OFTEN: u64 = 3;
    /// A word in an item's own name counts as if it stood there this often.
    const IN_NAME: u64 = 6;

    fn of(source: &Source, focus: &Focus) -> Seen {
        let names: BTreeSet<&str> = focus.names.iter().map(String::as_str).collect();
        let sought: BTreeSet<&str> = focus.words.iter().map(String::as_str).collect();
        let mut seen = Seen { blocks: source.blocks.len(), ..Seen::default() };
        for line in 1..=source.line_count() {
            let Some(block) = source.block_of(line) else { continue };
            let text = source.line(line);
            for name in identifiers(text).filter(|name| names.contains(name)) {
                let lines = seen.names.entry(block).or_default().entry(name.to_owned()).or_default();
                if lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
            let mut here = words(text);
            here.retain(|word| sought.contains(word.as_str()));
            seen.add(block, here.iter(), 1);
            here.sort_unstable();
            here.dedup();
            if !here.is_empty() {
                seen.lines.entry(block).or_default().push((here.len(), line));
            }
        }
        for (block, item) in source.items.iter().enumerate() {
            let here = words(&item.name);
            seen.add(block, here.iter().filter(|word| sought.contains(word.as_str())), Seen::IN_NAME);
        }
        seen
    }

    fn add<'w>(&mut self, block: usize, words: impl Iterator<Item = &'w String>, times: u64) {
        for word in words {
            let count = self.words.entry(block).or_default().entry(word.clone()).or_default();
            *count = if times == 1 { (*count + 1).min(Seen::OFTEN) } else { *count + times };
        }
    }

    /// Items whose name is in focus. One whose surroundings are in focus too is meant more than others of its name; then
    /// words decide.
    fn definitions(&self, source: &Source, focus: &Focus) -> impl Iterator<Item = Hit> {
        let is_named = |name: &String| focus.names.contains(name);
        let scores = self.word_scores(source);
        let named = source.items.iter().enumerate().filter(move |(_, item)| is_named(&item.name));
        named.map(move |(block, item)| {
            let around = item.scope.iter().filter(|name| is_named(name)).count() as u64;
            let words = scores.get(&block).copied().unwrap_or(0).min(AROUND - 1);
            let score = around * AROUND + words;
            Hit { reason: Reason::Defines, score, block, lines: self.best_lines(block) }
        })
    }

    /// Blocks with names in focus; rare names count for more.
    fn uses(&self) -> impl Iterator<Item = Hit> {
        let mut spread: BTreeMap<&str, usize> = BTreeMap::new();
        for names in self.names.values() {
            names.keys().for_each(|name| *spread.entry(name).or_default() += 1);
        }
        self.names.iter().map(move |(&block, names)| {
            let rare = |name: &String| rarity(self.blocks, spread.get(name.as_str()).copied().unwrap_or(1));
            let lines: BTreeSet<u32> = names.values().flatten().copied().collect();
            let score = names.keys().map(rare).sum();
            Hit { reason: Reason::Uses, score, block, lines: lines.into_iter().collect() }
        })
    }

    /// How many and how rare the words of the focus are that each block has.
    fn word_scores(&self, source: &Source) -> BTreeMap<usize, u64> {
        let mut spread: BTreeMap<&str, usize> = BTreeMap::new();
        for words in self.words.values() {
            words.keys().for_each(|word| *spread.entry(word).or_default() += 1);
        }
        let rare = |word: &str| rarity(self.blocks, spread.get(word).copied().unwrap_or(1));
        let score = |(&block, words): (&usize, &BTreeMap<String, u64>)| {
            let sum: u64 = words.iter().map(|(word, times)| rare(word) * (2 + times)).sum();
            let lines =
                source.blocks.get(block).map_or(1, |block| u64::from(block.lines.1 - block.lines.0) + 1);
            // Long parts hold many words by chance.
            (block, sum * 200 / (200 + lines))
        };
        self.words.iter().map(score).collect()
    }

    /// The blocks with the most and rarest words of the focus, those far behind the best left out.
    fn by_words(&self, source: &Source) -> Vec<Hit> {
        let hit = |(block, score)| Hit { reason: Reason::Words, score, block, lines: self.best_lines(block) };
        let mut scored: Vec<Hit> = self.word_scores(source).into_iter().map(hit).collect();
        scored.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.block));
        let best = scored.first().map_or(0, |hit| hit.score);
        scored.retain(|hit| hit.score > 0 && hit.score * 2 >= best);
        scored.truncate(BY_WORDS);
        scored
    }

    fn best_lines(&self, block: usize) -> Vec<u32> {
        let mut lines = self.lines.get(&block).cloned().unwrap_or_default();
        lines.sort_by_key(|(words, line)| (std::cmp::Reverse(*words), *line));
        lines.truncate(LINES_BY_WORDS);
        let mut lines: Vec<u32> = lines.into_iter().map(|(_, line)| line).collect();
        lines.sort_unstable();
        lines
    }
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty())
}

/// How much something says that stands in some of all blocks: thousandths of the logarithm of all by some.
fn rarity(all: usize, some: usize) -> u64 {
    logarithm(all as u64 + 1).saturating_sub(logarithm(some as u64))
}

/// The logarithm to the base of two in thousandths, straight between the powers of two: the same on every machine.
fn logarithm(number: u64) -> u64 {
    let number = number.max(1);
    let power = number.ilog2();
    u64::from(power) * 1000 + (((number - (1 << power)) * 1000) >> power)
}
