//! One file as a package looks at it: its text as it may be shown, its lines, its items, and the blocks that its parts are
//! chosen by.

use perspt_core::path::RelPath;
use perspt_lang::plugin::Files;
use perspt_lang::{OutlineItem, outline};
use perspt_model::estimate_tokens;
use perspt_policy::mask::Masks;

/// First and last line, from 1.
pub(super) type Lines = (u32, u32);

/// Lines outside all items are taken in blocks of this many.
const LOOSE_BLOCK: u32 = 30;

/// A file that may be shown.
pub(super) struct Source {
    pub path: RelPath,
    /// Its text with placeholders for secrets. Lines are those of this text.
    pub text: String,
    pub items: Vec<OutlineItem>,
    /// The item around each item.
    parents: Vec<Option<usize>>,
    /// Its items in order, then the lines between them.
    pub blocks: Vec<Block>,
    /// Where each line begins, and the end of the text.
    starts: Vec<usize>,
    /// The block of each line; none for blank lines between items.
    owners: Vec<Option<usize>>,
    /// Where a placeholder stands for several lines: its line, and how many lines fewer there are.
    folded: Vec<(u32, u32)>,
}

/// Lines that belong together.
pub(super) struct Block {
    /// The item that they are.
    pub item: Option<usize>,
    pub lines: Lines,
}

impl Source {
    /// A file of the tree; `None` where it has no text. Secrets are masked before anything is cut.
    pub fn read(path: &RelPath, files: &dyn Files, masks: &Masks) -> Option<Source> {
        let masked = masks.mask(&files.text(path)?);
        let mut folded: Vec<(usize, u32)> = Vec::new();
        for (name, secret) in &masked.secrets {
            let fewer = count(secret.matches('\n').count());
            if fewer > 0 {
                folded.extend(masked.text.match_indices(name.as_str()).map(|(at, _)| (at, fewer)));
            }
        }
        folded.sort_unstable();
        let mut source = Source::of(path.clone(), masked.text);
        source.folded = folded.into_iter().map(|(at, fewer)| (source.line_at(at), fewer)).collect();
        Some(source)
    }

    fn of(path: RelPath, text: String) -> Source {
        let mut starts: Vec<usize> = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        let items = outline(&path, &text);
        let parents = parents(&items);
        let mut source = Source {
            path,
            text,
            items,
            parents,
            blocks: Vec::new(),
            starts,
            owners: Vec::new(),
            folded: Vec::new(),
        };
        source.divide();
        source
    }

    /// Divides the lines into blocks.
    fn divide(&mut self) {
        self.owners = vec![None; self.starts.len().saturating_sub(1)];
        for (at, item) in self.items.iter().enumerate() {
            self.blocks.push(Block { item: Some(at), lines: item.lines });
            let (first, last) = (index(item.lines.0), index(item.lines.1) + 1);
            self.owners.iter_mut().take(last).skip(first).for_each(|owner| *owner = Some(at));
        }
        let mut open: Option<usize> = None;
        for line in 1..=self.line_count() {
            let at = index(line);
            if self.owners[at].is_some() {
                open = None;
            } else if open.is_some_and(|block| line - self.blocks[block].lines.0 < LOOSE_BLOCK) {
                self.owners[at] = open;
                open.iter().for_each(|&block| self.blocks[block].lines.1 = line);
            } else if self.line(line).trim().is_empty() {
                open = None;
            } else {
                open = Some(self.blocks.len());
                self.owners[at] = open;
                self.blocks.push(Block { item: None, lines: (line, line) });
            }
        }
    }

    pub fn line_count(&self) -> u32 {
        count(self.starts.len().saturating_sub(1))
    }

    /// A line with its end.
    pub fn line(&self, line: u32) -> &str {
        self.slice((line, line))
    }

    /// The exact text of these lines.
    pub fn slice(&self, lines: Lines) -> &str {
        let start = self.starts.get(index(lines.0)).copied().unwrap_or(self.text.len());
        let end = self.starts.get(index(lines.1) + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default()
    }

    /// The block that a line is in.
    pub fn block_of(&self, line: u32) -> Option<usize> {
        self.owners.get(index(line)).copied().flatten()
    }

    /// The item around an item.
    pub fn parent(&self, item: usize) -> Option<usize> {
        self.parents.get(item).copied().flatten()
    }

    /// The first item inside an item.
    pub fn first_child(&self, item: usize) -> Option<&OutlineItem> {
        (self.parent(item + 1) == Some(item)).then(|| self.items.get(item + 1)).flatten()
    }

    /// The number that a line of this text has in the file itself.
    pub fn number(&self, line: u32) -> u32 {
        let before = self.folded.iter().filter(|(at, _)| *at < line);
        line + before.map(|(_, fewer)| fewer).sum::<u32>()
    }

    /// The line of this text that shows a line of the file, the last one where the file has no such line.
    pub fn line_of(&self, number: u32) -> u32 {
        let mut line = number;
        for (at, fewer) in &self.folded {
            line = if line > *at { line.saturating_sub(*fewer).max(*at) } else { line };
        }
        line.clamp(1, self.line_count().max(1))
    }

    pub fn tokens(&self) -> u64 {
        estimate_tokens(&self.text)
    }

    fn line_at(&self, byte: usize) -> u32 {
        count(self.starts.partition_point(|start| *start <= byte))
    }
}

fn index(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX - 1)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn parents(items: &[OutlineItem]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut parents = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        open.truncate(item.scope.len());
        while open.last().is_some_and(|&around| !items[around].holds(item.lines)) {
            open.pop();
        }
        parents.push(open.last().copied());
        open.push(at);
    }
    parents
}

#[cfg(test)]
mod tests {
    use perspt_core::path::RelPath;

    use super::Source;

    #[test]
    fn lines_after_a_folded_secret_keep_the_numbers_of_the_file() {
        let mut source = Source::of(RelPath::parse("a.txt").unwrap(), "a\n<key>\nb\nc\n".to_owned());
        source.folded = vec![(2, 3)];
        assert_eq!([1, 2, 3, 4].map(|line| source.number(line)), [1, 2, 6, 7]);
        assert_eq!([1, 2, 3, 5, 6, 7, 99].map(|number| source.line_of(number)), [1, 2, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn every_line_with_text_is_in_a_block() {
        let text = "import x\n\nA = 1\n\nclass B:\n    def c(self):\n        pass\n\nprint(1)\n";
        let source = Source::of(RelPath::parse("a.py").unwrap(), text.to_owned());
        let blocks: Vec<_> = source.blocks.iter().map(|block| (block.item.is_some(), block.lines)).collect();
        assert_eq!(
            blocks,
            [(true, (3, 3)), (true, (5, 7)), (true, (6, 7)), (false, (1, 2)), (false, (9, 9))]
        );
        assert_eq!(source.block_of(7), Some(2));
        assert_eq!(source.block_of(5), Some(1));
        assert_eq!((source.parent(2), source.first_child(1).map(|item| item.lines)), (Some(1), Some((6, 7))));
    }
}
