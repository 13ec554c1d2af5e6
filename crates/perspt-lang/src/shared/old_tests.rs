//! A candidate with the tests of its base: how its tree becomes "new code, old tests", and what is taken from the
//! candidate where that cannot be built.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Severity};

use super::compare::{ChangedSource, Comparison, FileRole, Layout, Renamed, SourceText};
use crate::plugin::{FromCandidate, OldTestFile, Pair};
use crate::syntax::{Item, Kind, Language, Source, parse};

/// Findings by which old tests cannot be built or collected.
const UNBUILT: [Class; 5] = [
    Class::CompileError,
    Class::SyntaxError,
    Class::ImportError,
    Class::CollectionError,
    Class::ModuleMissing,
];

/// What makes the candidate's tests those of its base.
pub(crate) fn old_tests(
    pair: &Pair<'_>,
    layout: &dyn Layout,
    compared: &Comparison,
    taken: &FromCandidate,
) -> BTreeMap<RelPath, OldTestFile> {
    let mut taken = taken.clone();
    taken.tests.extend(compared.renamed.keys().cloned());
    taken.imports.extend(compared.renamed.keys().map(|(path, _)| path.clone()));
    let moved = MovedFiles::of(compared, pair);
    let language = layout.language();
    let mut files = BTreeMap::new();
    for change in pair.base.tree().changes_to(pair.candidate.tree()) {
        let path = change.path;
        let role = layout.role(&path);
        if taken.files.contains(&path) || role == FileRole::Other || moved.new.contains(&path) {
            continue;
        }
        let side = compared.sources.get(&path);
        let old = match (role, change.before, change.after, side) {
            (FileRole::Mixed, _, None, _) => None,
            (FileRole::Mixed, _, _, Some(side)) => {
                let merged =
                    Merge { path: &path, side, taken: &taken, renamed: &compared.renamed, language }.mixed();
                (merged != side.candidate.text).then_some(OldTestFile::Text(merged))
            }
            // Tests that are the candidate's own keep what they need.
            (FileRole::Helper | FileRole::Data, None, _, _) if !taken.tests.is_empty() => None,
            (_, None, _, _) => Some(OldTestFile::Absent),
            (_, _, None, _) if moved.gone.contains(&path) => None,
            (FileRole::Tests | FileRole::Helper, _, Some(_), Some(side)) => {
                let merge = Merge { path: &path, side, taken: &taken, renamed: &compared.renamed, language };
                let merged = merge.region(0..side.base.text.len());
                Some(if merged == side.base.text { OldTestFile::Base } else { OldTestFile::Text(merged) })
            }
            _ => Some(OldTestFile::Base),
        };
        files.extend(old.map(|old| (path, old)));
    }
    files
}

/// Files that only changed their place, as far as tests are concerned.
struct MovedFiles {
    /// Files of the base whose tests are all elsewhere now.
    gone: BTreeSet<RelPath>,
    /// Where those tests are.
    new: BTreeSet<RelPath>,
}

impl MovedFiles {
    fn of(compared: &Comparison, pair: &Pair<'_>) -> MovedFiles {
        let is_gone = |path: &RelPath| !pair.candidate.tree().entries.contains_key(path);
        let is_new = |path: &RelPath| !pair.base.tree().entries.contains_key(path);
        let moved = |path: &RelPath| {
            compared.inventory.moved.iter().filter(move |(old, _)| old.file == *path).count()
        };
        let wholly = |(path, side): &(&RelPath, &ChangedSource)| {
            let tests = side.base.source.tests().count();
            is_gone(path) && tests > 0 && moved(path) >= tests
        };
        let gone: BTreeSet<RelPath> =
            compared.sources.iter().filter(wholly).map(|(path, _)| path.clone()).collect();
        let moved = compared.inventory.moved.iter();
        let new = moved.filter(|(old, new)| gone.contains(&old.file) && is_new(&new.file));
        MovedFiles { new: new.map(|(_, new)| new.file.clone()).collect(), gone }
    }
}

/// One file with the candidate's code and the base's tests.
struct Merge<'a> {
    path: &'a RelPath,
    side: &'a ChangedSource,
    taken: &'a FromCandidate,
    renamed: &'a Renamed,
    language: &'static Language,
}

/// A place of a text and what is to stand there.
type Edit = (Range<usize>, String);

impl Merge<'_> {
    fn is_taken(&self, item: &Item) -> bool {
        self.taken.tests.iter().any(|(path, name)| path == self.path && *name == item.name)
    }

    /// A part of the base's text, with what was taken from the candidate's.
    fn region(&self, range: Range<usize>) -> String {
        let (base, candidate) = (&self.side.base, &self.side.candidate);
        let inside = |item: &&Item| range.start <= item.range.start && item.range.end <= range.end;
        let mut edits: Vec<Edit> = Vec::new();
        if self.taken.imports.contains(self.path) {
            edits.extend(self.imports(&range));
        }
        let taken: Vec<&Item> = base
            .source
            .items
            .iter()
            .filter(inside)
            .filter(|item| item.kind != Kind::Head && self.is_taken(item))
            .collect();
        for item in &taken {
            let renamed = self.renamed.get(&(self.path.clone(), item.name.clone()));
            let now = candidate.source.item(renamed.unwrap_or(&item.name));
            edits.push((
                item.range.clone(),
                now.map_or(self.language.nothing.to_owned(), |now| candidate.excerpt(&now.range)),
            ));
        }
        // Tests that were taken may call something new.
        for new in candidate
            .source
            .items
            .iter()
            .filter(|new| new.kind == Kind::Other && base.source.item(&new.name).is_none())
        {
            let Some(beside) = taken.iter().rfind(|item| item.scope == new.scope) else { continue };
            let text =
                format!("\n{}{}", indent(&candidate.text, new.range.start), candidate.excerpt(&new.range));
            edits.push((beside.range.end..beside.range.end, text));
        }
        applied(&base.text, range, edits)
    }

    /// The candidate's import lines in place of the base's, scope by scope.
    fn imports(&self, range: &Range<usize>) -> Vec<Edit> {
        let (base, candidate) = (&self.side.base, &self.side.candidate);
        let inside = |at: &Range<usize>| range.start <= at.start && at.end <= range.end;
        let mut edits: Vec<Edit> = Vec::new();
        let heads = base.source.items.iter().filter(|item| item.kind == Kind::Head && inside(&item.range));
        let scopes: BTreeSet<&str> = heads.map(|head| head.name.as_str()).chain([""]).collect();
        for scope in scopes {
            let old: Vec<_> = base
                .source
                .imports
                .iter()
                .filter(|import| import.scope == scope && inside(&import.range))
                .collect();
            let of_scope = candidate.source.imports.iter().filter(|import| import.scope == scope);
            // At the top of a file that is more than tests, imports are the code's.
            let of_tests = of_scope.filter(|import| self.side.role != FileRole::Mixed || import.guarded);
            let first_item = base.source.items.iter().find(|item| item.scope == scope && inside(&item.range));
            let Some(at) = old.first().map(|old| old.range.start).or(first_item.map(|item| item.range.start))
            else {
                continue;
            };
            let spaces = indent(&base.text, at);
            let new: Vec<String> = of_tests.map(|import| candidate.excerpt(&import.range)).collect();
            let mut text = new.join(&format!("\n{spaces}"));
            if old.is_empty() && !new.is_empty() {
                text.push_str(&format!("\n{spaces}"));
            }
            edits.push((at..old.first().map_or(at, |old| old.range.end), text));
            edits.extend(old.iter().skip(1).map(|old| (old.range.clone(), String::new())));
        }
        edits
    }

    /// The candidate's text with the base's tests.
    fn mixed(&self) -> String {
        let (base, candidate) = (&self.side.base, &self.side.candidate);
        let (old, new) = (self.regions(&base.source), self.regions(&candidate.source));
        let mut edits: Vec<Edit> = Vec::new();
        for region in &new {
            match old.iter().find(|item| item.name == region.name) {
                Some(was) => edits.push((region.range.clone(), self.region(was.range.clone()))),
                None => edits.push((region.range.clone(), self.language.nothing.to_owned())),
            }
        }
        let gone = old.iter().filter(|was| !new.iter().any(|region| region.name == was.name));
        for was in gone.filter(|was| !self.is_taken(was)) {
            let scope = candidate.source.item(&was.scope).filter(|item| item.kind == Kind::Head);
            let end = match (was.scope.is_empty(), scope) {
                (true, _) => candidate.text.len(),
                (false, Some(scope)) if candidate.text[..scope.range.end].ends_with('}') => {
                    scope.range.end - 1
                }
                (false, _) => continue,
            };
            edits.push((end..end, format!("\n{}\n", self.region(was.range.clone()))));
        }
        applied(&candidate.text, 0..candidate.text.len(), edits)
    }

    /// The outermost parts of a source that are tests or exist for them.
    fn regions<'s>(&self, source: &'s Source) -> Vec<&'s Item> {
        let holds_tests = |head: &Item| {
            head.kind == Kind::Head
                && source.tests().any(|test| test.name.starts_with(&format!("{}::", head.name)))
        };
        let is_region = |item: &&Item| {
            item.guarded || item.kind == Kind::Test || (self.language.suites_are_tests && holds_tests(item))
        };
        let mut regions: Vec<&Item> = Vec::new();
        for item in source.items.iter().filter(is_region) {
            let within =
                |outer: &&Item| outer.range.start <= item.range.start && item.range.end <= outer.range.end;
            if !regions.iter().any(within) {
                regions.push(item);
            }
        }
        regions
    }
}

/// The spaces before a place in its line.
fn indent(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| c.is_whitespace()).collect()
}

/// A part of a text with its edits; of two that overlap the first is made.
fn applied(text: &str, range: Range<usize>, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    let mut out = String::new();
    let mut done = range.start;
    for (at, instead) in edits.iter().filter(|(at, _)| at.end <= range.end) {
        if at.start < done {
            continue;
        }
        out.push_str(text.get(done..at.start).unwrap_or_default());
        out.push_str(instead);
        done = at.end;
    }
    out.push_str(text.get(done..range.end).unwrap_or_default());
    out
}

/// What else must be taken from the candidate, given a reading of the tree that `old_tests` made.
pub(crate) fn take_more(
    pair: &Pair<'_>,
    layout: &dyn Layout,
    compared: &Comparison,
    so_far: &FromCandidate,
    reading: &Reading,
) -> FromCandidate {
    let files = old_tests(pair, layout, compared, so_far);
    let mut more = so_far.clone();
    let errors = reading
        .residuals
        .iter()
        .filter(|one| one.severity == Severity::Error && UNBUILT.contains(&one.class));
    for error in errors {
        let Some(file) = &error.file else { continue };
        let text = match files.get(file) {
            Some(OldTestFile::Text(text)) => text.clone(),
            Some(OldTestFile::Base) => pair.base.text(file).unwrap_or_default(),
            Some(OldTestFile::Absent) | None => continue,
        };
        let source = parse(layout.language(), &text);
        let side = compared.sources.get(file);
        let line = error.place.map(|place| place.line);
        let item = line.and_then(|line| at_line(&source, line));
        let is_code = layout.role(file) == FileRole::Mixed
            && item.is_some_and(|item| !source.is_of_tests(item.range.start));
        if is_code {
            continue;
        }
        if !so_far.imports.contains(file) && side.is_some_and(imports_differ) {
            more.imports.insert(file.clone());
        } else if let Some(item) =
            item.filter(|item| !so_far.tests.contains(&(file.clone(), item.name.clone())))
        {
            more.tests.insert((file.clone(), item.name.clone()));
        } else {
            more.files.insert(file.clone());
        }
    }
    more
}

/// The innermost item at a line; heads of scopes are none.
fn at_line(source: &Source, line: u32) -> Option<&Item> {
    let mut here = source.items.iter().filter(|item| item.lines.0 <= line && line <= item.lines.1);
    here.rfind(|item| item.kind != Kind::Head)
}

fn imports_differ(side: &ChangedSource) -> bool {
    let imports = |file: &SourceText| -> Vec<(String, String)> {
        let of_tests =
            file.source.imports.iter().filter(|import| side.role != FileRole::Mixed || import.guarded);
        of_tests.map(|import| (import.scope.clone(), file.excerpt(&import.range))).collect()
    };
    imports(&side.base) != imports(&side.candidate)
}
