//! A candidate with the tests of its base: how its tree becomes "new code, old tests", and what must be conceded where
//! that cannot be built.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Severity};

use super::compare::{Compared, Layout, Renamed, Role, Sides};
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
    compared: &Compared,
    concessions: &FromCandidate,
) -> BTreeMap<RelPath, OldTestFile> {
    let mut conceded = concessions.clone();
    conceded.tests.extend(compared.renamed.keys().cloned());
    conceded.imports.extend(compared.renamed.keys().map(|(path, _)| path.clone()));
    let homes = Homes::of(compared, pair);
    let language = layout.language();
    let mut was = BTreeMap::new();
    for change in pair.base.tree().changes_to(pair.candidate.tree()) {
        let path = change.path;
        let role = layout.role(&path);
        if conceded.files.contains(&path) || role == Role::Other || homes.kept.contains(&path) {
            continue;
        }
        let side = compared.sides.get(&path);
        let stands = match (role, change.before, change.after, side) {
            (Role::Mixed, _, None, _) => None,
            (Role::Mixed, _, _, Some(side)) => {
                let blended =
                    Blend { path: &path, side, conceded: &conceded, renamed: &compared.renamed, language }
                        .mixed();
                (blended != side.candidate.0).then_some(OldTestFile::Text(blended))
            }
            // What conceded tests may need stays.
            (Role::Helper | Role::Data, None, _, _) if !conceded.tests.is_empty() => None,
            (_, None, _, _) => Some(OldTestFile::Absent),
            (_, _, None, _) if homes.left.contains(&path) => None,
            (Role::Tests | Role::Helper, _, Some(_), Some(side)) => {
                let blend =
                    Blend { path: &path, side, conceded: &conceded, renamed: &compared.renamed, language };
                let blended = blend.region(0..side.base.0.len());
                Some(if blended == side.base.0 { OldTestFile::Base } else { OldTestFile::Text(blended) })
            }
            _ => Some(OldTestFile::Base),
        };
        was.extend(stands.map(|stands| (path, stands)));
    }
    was
}

/// Files that only changed their place, as far as tests are concerned.
struct Homes {
    /// Gone files whose tests all stand elsewhere now.
    left: BTreeSet<RelPath>,
    /// Where those stand.
    kept: BTreeSet<RelPath>,
}

impl Homes {
    fn of(compared: &Compared, pair: &Pair<'_>) -> Homes {
        let is_gone = |path: &RelPath| !pair.candidate.tree().entries.contains_key(path);
        let is_new = |path: &RelPath| !pair.base.tree().entries.contains_key(path);
        let moved = |path: &RelPath| {
            compared.inventory.moved.iter().filter(move |(old, _)| old.file == *path).count()
        };
        let wholly = |(path, side): &(&RelPath, &Sides)| {
            let tests = side.base.1.tests().count();
            is_gone(path) && tests > 0 && moved(path) >= tests
        };
        let left: BTreeSet<RelPath> =
            compared.sides.iter().filter(wholly).map(|(path, _)| path.clone()).collect();
        let moved = compared.inventory.moved.iter();
        let kept = moved.filter(|(old, new)| left.contains(&old.file) && is_new(&new.file));
        Homes { kept: kept.map(|(_, new)| new.file.clone()).collect(), left }
    }
}

/// Puts the tests of a file back.
struct Blend<'a> {
    path: &'a RelPath,
    side: &'a Sides,
    conceded: &'a FromCandidate,
    renamed: &'a Renamed,
    language: &'static Language,
}

/// A place of a text and what is to stand there.
type Edit = (Range<usize>, String);

impl Blend<'_> {
    fn is_conceded(&self, item: &Item) -> bool {
        self.conceded.tests.iter().any(|(path, name)| path == self.path && *name == item.name)
    }

    /// A part of the base's text, with what was conceded from the candidate's.
    fn region(&self, range: Range<usize>) -> String {
        let (base, candidate) = (&self.side.base, &self.side.candidate);
        let inside = |item: &&Item| range.start <= item.range.start && item.range.end <= range.end;
        let mut edits: Vec<Edit> = Vec::new();
        if self.conceded.imports.contains(self.path) {
            edits.extend(self.imports(&range));
        }
        let conceded: Vec<&Item> = base
            .1
            .items
            .iter()
            .filter(inside)
            .filter(|item| item.kind != Kind::Head && self.is_conceded(item))
            .collect();
        for item in &conceded {
            let renamed = self.renamed.get(&(self.path.clone(), item.name.clone()));
            let now = candidate.1.item(renamed.unwrap_or(&item.name));
            edits.push((
                item.range.clone(),
                now.map_or(self.language.nothing.to_owned(), |now| said(&candidate.0, &now.range)),
            ));
        }
        // What conceded tests call may be new.
        for new in
            candidate.1.items.iter().filter(|new| new.kind == Kind::Other && base.1.item(&new.name).is_none())
        {
            let Some(beside) = conceded.iter().rfind(|item| item.scope == new.scope) else { continue };
            let text =
                format!("\n{}{}", indent(&candidate.0, new.range.start), said(&candidate.0, &new.range));
            edits.push((beside.range.end..beside.range.end, text));
        }
        applied(&base.0, range, edits)
    }

    /// The candidate's import lines in place of the base's, scope by scope.
    fn imports(&self, range: &Range<usize>) -> Vec<Edit> {
        let (base, candidate) = (&self.side.base, &self.side.candidate);
        let inside = |at: &Range<usize>| range.start <= at.start && at.end <= range.end;
        let mut edits: Vec<Edit> = Vec::new();
        let heads = base.1.items.iter().filter(|item| item.kind == Kind::Head && inside(&item.range));
        let scopes: BTreeSet<&str> = heads.map(|head| head.name.as_str()).chain([""]).collect();
        for scope in scopes {
            let old: Vec<_> = base
                .1
                .imports
                .iter()
                .filter(|import| import.scope == scope && inside(&import.range))
                .collect();
            let of_scope = candidate.1.imports.iter().filter(|import| import.scope == scope);
            // At the top of a file that is more than tests, imports are the code's.
            let of_tests = of_scope.filter(|import| self.side.role != Role::Mixed || import.guarded);
            let first_item = base.1.items.iter().find(|item| item.scope == scope && inside(&item.range));
            let Some(at) = old.first().map(|old| old.range.start).or(first_item.map(|item| item.range.start))
            else {
                continue;
            };
            let spaces = indent(&base.0, at);
            let new: Vec<String> = of_tests.map(|import| said(&candidate.0, &import.range)).collect();
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
        let (old, new) = (self.regions(&base.1), self.regions(&candidate.1));
        let mut edits: Vec<Edit> = Vec::new();
        for region in &new {
            match old.iter().find(|item| item.name == region.name) {
                Some(was) => edits.push((region.range.clone(), self.region(was.range.clone()))),
                None => edits.push((region.range.clone(), self.language.nothing.to_owned())),
            }
        }
        let gone = old.iter().filter(|was| !new.iter().any(|region| region.name == was.name));
        for was in gone.filter(|was| !self.is_conceded(was)) {
            let scope = candidate.1.item(&was.scope).filter(|item| item.kind == Kind::Head);
            let end = match (was.scope.is_empty(), scope) {
                (true, _) => candidate.0.len(),
                (false, Some(scope)) if candidate.0[..scope.range.end].ends_with('}') => scope.range.end - 1,
                (false, _) => continue,
            };
            edits.push((end..end, format!("\n{}\n", self.region(was.range.clone()))));
        }
        applied(&candidate.0, 0..candidate.0.len(), edits)
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

fn said(text: &str, range: &Range<usize>) -> String {
    text.get(range.clone()).unwrap_or_default().to_owned()
}

/// The spaces before a place in its line.
fn indent(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| c.is_whitespace()).collect()
}

/// A part of a text with its edits; of two that overlap the first stands.
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

/// What more must be conceded, given a reading of the tree that `was` made.
pub(crate) fn take_more(
    pair: &Pair<'_>,
    layout: &dyn Layout,
    compared: &Compared,
    so_far: &FromCandidate,
    reading: &Reading,
) -> FromCandidate {
    let was = old_tests(pair, layout, compared, so_far);
    let mut more = so_far.clone();
    let errors = reading
        .residuals
        .iter()
        .filter(|one| one.severity == Severity::Error && UNBUILT.contains(&one.class));
    for error in errors {
        let Some(file) = &error.file else { continue };
        let text = match was.get(file) {
            Some(OldTestFile::Text(text)) => text.clone(),
            Some(OldTestFile::Base) => pair.base.text(file).unwrap_or_default(),
            Some(OldTestFile::Absent) | None => continue,
        };
        let source = parse(layout.language(), &text);
        let side = compared.sides.get(file);
        let line = error.place.map(|place| place.line);
        let item = line.and_then(|line| at_line(&source, line));
        let is_code = layout.role(file) == Role::Mixed
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

fn imports_differ(side: &Sides) -> bool {
    let of = |(text, source): &(String, Source)| -> Vec<(String, String)> {
        let of_tests = source.imports.iter().filter(|import| side.role != Role::Mixed || import.guarded);
        of_tests.map(|import| (import.scope.clone(), said(text, &import.range))).collect()
    };
    of(&side.base) != of(&side.candidate)
}
