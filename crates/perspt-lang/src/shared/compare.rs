//! What a candidate did to the tests of its base, test by test, in whatever language: which are the same under another
//! layout, name or place, which are not, and what they use.

use std::collections::BTreeMap;
use std::ops::Range;

use perspt_core::inventory::{ChangedSupport, ChangedTest, Fate, Inventory, TestId};
use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::renames::Renames;
use crate::plugin::{Files, Pair};
use crate::syntax::{Item, Kind, Language, Source, parse};

/// What a file is to tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// It holds tests and what they use, and nothing else.
    Tests,
    /// It holds what tests use, and no test that a runner collects.
    Helper,
    /// It holds code, and may hold tests beside it.
    Mixed,
    /// It is read by tests and is no source.
    Data,
    /// It is nothing to tests.
    Other,
}

/// What a language knows of its files.
pub(crate) trait Layout {
    /// The language.
    fn language(&self) -> &'static Language;
    /// What a file is to tests.
    fn role(&self, path: &RelPath) -> FileRole;
    /// How a runner that names no files calls a test of a file.
    fn runner(&self, path: &RelPath, name: &str) -> String;
    /// The tests in the documentation of a file.
    fn docs(&self, files: &dyn Files, path: &RelPath) -> Vec<Item>;
    /// Whether a file is a source of the language.
    fn is_source(&self, path: &RelPath) -> bool;
}

/// A changed source on both sides.
pub(crate) struct ChangedSource {
    /// What it is to tests.
    pub role: FileRole,
    /// As it is in the base; empty where it is not there.
    pub base: SourceText,
    /// As it is in the candidate.
    pub candidate: SourceText,
}

/// A text and what it says.
pub(crate) struct SourceText {
    pub text: String,
    pub source: Source,
}

impl SourceText {
    /// A part of the text.
    pub(crate) fn excerpt(&self, range: &Range<usize>) -> String {
        self.text.get(range.clone()).unwrap_or_default().to_owned()
    }
}

impl ChangedSource {
    /// Items of a side that exist for tests alone and are none themselves.
    pub(crate) fn support<'s>(&self, source: &'s Source) -> impl Iterator<Item = &'s Item> {
        let whole = matches!(self.role, FileRole::Tests | FileRole::Helper) || source.guarded;
        source.items.iter().filter(move |item| item.kind != Kind::Test && (whole || item.guarded))
    }
}

/// Tests and helpers that differ from their old text only in names that changed everywhere: by file
/// and old name, with the name in the same file now.
pub(crate) type Renamed = BTreeMap<(RelPath, String), String>;

/// Everything that was compared.
pub(crate) struct Comparison {
    /// Tests and what they use; what decides how they run is looked at elsewhere.
    pub inventory: Inventory,
    /// Those that only got new names in them.
    pub renamed: Renamed,
    /// The changed sources.
    pub sources: BTreeMap<RelPath, ChangedSource>,
}

/// A test of one side.
struct SideTest<'s> {
    id: TestId,
    item: &'s Item,
    text: String,
    /// Its file; `None` for a test in documentation.
    file: Option<&'s SourceText>,
}

/// Compares a candidate with its base.
pub(crate) fn compare(pair: &Pair<'_>, layout: &dyn Layout) -> Comparison {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let changed = changes.iter().filter(|change| layout.is_source(&change.path));
    let sources: BTreeMap<RelPath, ChangedSource> =
        changed.map(|change| (change.path.clone(), both_sides(pair, layout, &change.path))).collect();
    let docs = |files: &dyn Files| -> BTreeMap<RelPath, Vec<Item>> {
        changes.iter().map(|change| (change.path.clone(), layout.docs(files, &change.path))).collect()
    };
    let (old_docs, new_docs) = (docs(pair.base), docs(pair.candidate));
    let mut renames = Renames::of(pair, layout);
    let mut matching = Matching {
        old: tests_of(&sources, layout, |sides| &sides.base, &old_docs),
        new: tests_of(&sources, layout, |sides| &sides.candidate, &new_docs),
        inventory: Inventory::default(),
        renamed: BTreeMap::new(),
    };
    matching.run(&mut renames);
    let Matching { mut inventory, mut renamed, .. } = matching;
    let (support, explained) = support(&sources, &mut renames);
    inventory.support = support;
    inventory.support.extend(changes.iter().filter_map(|change| data(pair, layout, change, &changes)));
    renamed.extend(explained);
    Comparison { inventory, renamed, sources }
}

fn both_sides(pair: &Pair<'_>, layout: &dyn Layout, path: &RelPath) -> ChangedSource {
    let side = |files: &dyn Files| {
        let text = files.text(path).unwrap_or_default();
        let source = parse(layout.language(), &text);
        SourceText { text, source }
    };
    ChangedSource { role: layout.role(path), base: side(pair.base), candidate: side(pair.candidate) }
}

fn tests_of<'s>(
    sides: &'s BTreeMap<RelPath, ChangedSource>,
    layout: &dyn Layout,
    side: fn(&ChangedSource) -> &SourceText,
    docs: &'s BTreeMap<RelPath, Vec<Item>>,
) -> Vec<SideTest<'s>> {
    let make = |path: &RelPath, item: &'s Item, text: String, file| SideTest {
        id: TestId { file: path.clone(), name: item.name.clone(), runner: layout.runner(path, &item.name) },
        item,
        text,
        file,
    };
    let mut tests = Vec::new();
    for (path, sides) in
        sides.iter().filter(|(_, sides)| matches!(sides.role, FileRole::Tests | FileRole::Mixed))
    {
        let file = side(sides);
        tests.extend(file.source.tests().map(|item| make(path, item, file.excerpt(&item.range), Some(file))));
    }
    for (path, items) in docs {
        tests.extend(items.iter().map(|item| {
            let text = item.tokens.iter().map(|token| format!("{}\n", token.text)).collect();
            make(path, item, text, None)
        }));
    }
    tests
}

/// Tests of both sides that have no counterpart yet.
struct Matching<'s> {
    old: Vec<SideTest<'s>>,
    new: Vec<SideTest<'s>>,
    inventory: Inventory,
    renamed: Renamed,
}

impl Matching<'_> {
    /// The same name first, then the same text anywhere; what is left was changed, removed or added.
    fn run(&mut self, renames: &mut Renames<'_>) {
        let kept = self.in_place(&mut |old, new| old.is_kept_in(new));
        let renamed = self.in_place(&mut |old, new| renames.explain(old, new));
        self.hidden(kept.iter().chain(&renamed));
        self.renamed.extend(renamed.into_iter().map(|(old, new)| ((old.id.file, old.id.name), new.id.name)));
        let is_doc = |found: &SideTest<'_>| found.id.is_doc();
        let moved = self.pairs(&mut |old, new| is_doc(old) == is_doc(new) && old.item.is_kept_in(new.item));
        let renamed = self.pairs(&mut |old, new| !is_doc(old) && renames.explain(old.item, new.item));
        self.hidden(moved.iter().chain(&renamed));
        let here = renamed.iter().filter(|(old, new)| old.id.file == new.id.file);
        self.renamed
            .extend(here.map(|(old, new)| ((old.id.file.clone(), old.id.name.clone()), new.id.name.clone())));
        for (old, new) in moved.into_iter().chain(renamed) {
            self.inventory.moved.push((old.id, new.id));
        }
        for (old, new) in self.in_place(&mut |_, _| true) {
            let weaker = weaker(&old.item, &new.item);
            let (id, fate) = (old.id, Fate::Changed);
            self.inventory.changed.push(ChangedTest { id, fate, old: old.text, new: new.text, weaker });
        }
        for old in std::mem::take(&mut self.old) {
            let (id, fate, weaker) = (old.id, Fate::Removed, Vec::new());
            self.inventory.changed.push(ChangedTest { id, fate, old: old.text, new: String::new(), weaker });
        }
        self.inventory.added.extend(std::mem::take(&mut self.new).into_iter().map(|new| new.id));
    }

    /// Tests whose text is unchanged, but hidden by a later definition of the same name.
    fn hidden<'p>(&mut self, pairs: impl Iterator<Item = &'p (MatchedTest, MatchedTest)>) {
        for (old, new) in pairs.filter(|(old, new)| new.hiding.len() > old.hiding.len()) {
            self.inventory.changed.push(ChangedTest {
                id: old.id.clone(),
                fate: Fate::Changed,
                old: old.text.clone(),
                new: new.hiding.last().cloned().unwrap_or_default(),
                weaker: vec!["a later definition of its name hides it".to_owned()],
            });
        }
    }

    /// Takes out every pair that belongs together, each test once.
    fn pairs(
        &mut self,
        belong: &mut dyn FnMut(&SideTest<'_>, &SideTest<'_>) -> bool,
    ) -> Vec<(MatchedTest, MatchedTest)> {
        let mut pairs = Vec::new();
        let mut left = Vec::new();
        for old in std::mem::take(&mut self.old) {
            match self.new.iter().position(|new| belong(&old, new)) {
                Some(at) => pairs.push((old.into(), self.new.remove(at).into())),
                None => left.push(old),
            }
        }
        self.old = left;
        pairs
    }

    /// The same for tests at the same place.
    fn in_place(&mut self, belong: &mut dyn FnMut(&Item, &Item) -> bool) -> Vec<(MatchedTest, MatchedTest)> {
        let mut places: BTreeMap<TestId, SideTest<'_>> = BTreeMap::new();
        for new in std::mem::take(&mut self.new) {
            places.insert(new.id.clone(), new);
        }
        let (mut pairs, mut left) = (Vec::new(), Vec::new());
        for old in std::mem::take(&mut self.old) {
            if places.get(&old.id).is_some_and(|new| belong(old.item, new.item)) {
                let new = places.remove(&old.id);
                pairs.extend(new.map(|new| (old.into(), new.into())));
            } else {
                left.push(old);
            }
        }
        self.old = left;
        self.new = places.into_values().collect();
        pairs
    }
}

/// A test that has found its counterpart.
struct MatchedTest {
    id: TestId,
    item: Item,
    text: String,
    /// What hides it.
    hiding: Vec<String>,
}

impl From<SideTest<'_>> for MatchedTest {
    fn from(found: SideTest<'_>) -> MatchedTest {
        let hiding = |file: &SourceText| {
            file.source.hiding(found.item).iter().map(|range| file.excerpt(range)).collect()
        };
        let hiding = found.file.map(hiding).unwrap_or_default();
        MatchedTest { id: found.id, item: found.item.clone(), text: found.text, hiding }
    }
}

/// What is weaker by form.
fn weaker(old: &Item, new: &Item) -> Vec<String> {
    let mut words = Vec::new();
    if new.assertions < old.assertions {
        words.push(format!("{} assertions before, {} now", old.assertions, new.assertions));
    }
    if new.exact < old.exact {
        words.push(format!("{} comparisons with one value before, {} now", old.exact, new.exact));
    }
    if new.vacuous > old.vacuous {
        words.push("a new condition in it always holds".to_owned());
    }
    if new.skips > old.skips {
        words.push("a new mark skips it, or changes when it runs or what it expects".to_owned());
    }
    match old.lost_cases(new) {
        0 => {}
        lost => words.push(format!("{lost} of its {} cases are gone or changed", old.cases.len())),
    }
    words
}

/// What tests use and what lost or changed something, an entry for each file.
fn support(
    sides: &BTreeMap<RelPath, ChangedSource>,
    renames: &mut Renames<'_>,
) -> (Vec<ChangedSupport>, Renamed) {
    let (mut entries, mut explained) = (Vec::new(), Renamed::new());
    for (path, side) in sides {
        let (lost, renamed) = lost_support(side, sides, renames);
        explained.extend(renamed.into_iter().map(|name| ((path.clone(), name.clone()), name)));
        if !lost.is_empty() {
            let what = format!("what tests use is not what it was: {}", lost.join(", "));
            entries.push(ChangedSupport { path: path.clone(), what });
        }
    }
    (entries, explained)
}

/// Names of what a file held for tests and no longer has as it was, and of what only got new names in it.
fn lost_support(
    side: &ChangedSource,
    all: &BTreeMap<RelPath, ChangedSource>,
    renames: &mut Renames<'_>,
) -> (Vec<String>, Vec<String>) {
    let holds_tests = |head: &Item| {
        let below = format!("{}::", head.name);
        side.base.source.tests().any(|test| test.name.starts_with(&below))
    };
    let (mut lost, mut explained) = (Vec::new(), Vec::new());
    for old in side.support(&side.base.source) {
        let is_head = old.kind == Kind::Head && (holds_tests(old) || old.guarded || old.tokens.is_empty());
        let same_name = |new: &&Item| new.kind != Kind::Test && new.last() == old.last();
        if is_head {
            continue;
        }
        let now = &side.candidate.source;
        let is_hidden = |new: &Item| now.hiding(new).len() > side.base.source.hiding(old).len();
        let mut elsewhere = all.values().flat_map(|side| &side.candidate.source.items).filter(same_name);
        if let Some(new) = now.items.iter().filter(same_name).find(|new| old.is_kept_in(new)) {
            lost.extend(is_hidden(new).then(|| format!("`{}`, which a later definition hides", old.name)));
        } else if let Some(new) = now.items.iter().filter(same_name).find(|new| renames.explain(old, new))
            && !is_hidden(new)
        {
            explained.push(old.name.clone());
        } else if !elsewhere.any(|new| old.is_kept_in(new)) {
            lost.push(format!("`{}`", old.name));
        }
    }
    (lost, explained)
}

/// A file that tests read and that lost or changed something.
fn data(pair: &Pair<'_>, layout: &dyn Layout, change: &Change, changes: &[Change]) -> Option<ChangedSupport> {
    let before = change.before.filter(|_| layout.role(&change.path) == FileRole::Data)?;
    let what = match change.after {
        None if changes.iter().any(|other| {
            other.before.is_none() && other.after.is_some_and(|after| after.hash == before.hash)
        }) =>
        {
            return None;
        }
        None => "what tests read is gone",
        Some(_) => "what tests read was changed",
    };
    let texts = (pair.base.text(&change.path), pair.candidate.text(&change.path));
    let only_grew = matches!(&texts, (Some(old), Some(new)) if grew(old, new));
    (!only_grew).then(|| ChangedSupport { path: change.path.clone(), what: what.to_owned() })
}

/// Whether a text has every line of another one, in the same order.
fn grew(old: &str, new: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim_end().trim_end_matches(',').to_owned()).collect()
    };
    let new = lines(new);
    let mut left = new.iter();
    lines(old).iter().all(|line| left.any(|other| other == line))
}
