//! Looking at what a plan promises of a node, on its candidate. What it means is for the judge.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::contract::{Breach, Check, PromiseFound, PromiseKind, PromiseReading, Rule};
use perspt_core::grade::FileKind;
use perspt_core::path::RelPath;
use perspt_core::plan::PlanNode;
use perspt_core::tree::Change;
use perspt_lang::plugin::{Files, Pair};
use perspt_lang::signature::{Fulfilled, Promised, promised};
use perspt_lang::{Imported, imports};

use super::patterns::pattern;

/// Places that are named of one promise.
const PLACES: usize = 5;

/// What became of each promise of a node's contract.
pub fn measured_promises(spec: &PlanNode, changes: &[Change], files: &Pair<'_>) -> Vec<PromiseReading> {
    let look = Look::of(spec, changes, files);
    let contract = &spec.contract;
    let mut found = Vec::new();
    let mut add = |kind, promise: String, is: PromiseFound| {
        found.push(PromiseReading { kind, promise, found: is });
    };
    for promise in contract.interface_signature.iter().flat_map(|text| promised(text)) {
        let is = look.signature(&promise, &look.own_code());
        add(PromiseKind::Signature, promise.text, is);
    }
    for text in contract.forbidden_patterns.iter().filter(|text| !text.trim().is_empty()) {
        add(PromiseKind::ForbiddenPattern, format!("no `{text}`"), look.not_written(text));
    }
    for check in &contract.checks {
        add(PromiseKind::Invariant, check.to_string(), look.check(check));
    }
    for text in &contract.invariants {
        add(PromiseKind::Invariant, text.clone(), unmeasured("it is prose: no tool looks at it"));
    }
    found
}

fn unmeasured(why: &str) -> PromiseFound {
    PromiseFound::Unmeasured { why: why.to_owned() }
}

fn found(mut breaches: Vec<Breach>) -> PromiseFound {
    breaches.truncate(PLACES);
    if breaches.is_empty() { PromiseFound::Kept } else { PromiseFound::Broken { breaches } }
}

/// A candidate, with what the node makes of it.
struct Look<'a> {
    files: &'a Pair<'a>,
    /// Files that the node is to make, and those that it changed, as far as they are there.
    own: Vec<RelPath>,
    /// The lines that the node wrote, of each file that it changed.
    written: BTreeMap<RelPath, BTreeSet<u32>>,
}

impl<'a> Look<'a> {
    fn of(spec: &PlanNode, changes: &[Change], files: &'a Pair<'a>) -> Look<'a> {
        let is_there = |path: &&RelPath| files.candidate.tree().entries.contains_key(*path);
        let changed = changes.iter().map(|change| &change.path);
        let mut own: Vec<RelPath> = Vec::new();
        for path in spec.output_files.iter().chain(changed).filter(is_there) {
            if !own.contains(path) {
                own.push(path.clone());
            }
        }
        Look { files, own, written: written_lines(changes, files) }
    }

    fn own_code(&self) -> Vec<RelPath> {
        self.own.iter().filter(|path| FileKind::of(path) == FileKind::Code).cloned().collect()
    }

    /// The files that a check is about.
    fn about(&self, check: &Check) -> Vec<RelPath> {
        let Some(place) = &check.file else {
            return self.own.iter().filter(|path| FileKind::of(path) != FileKind::Prose).cloned().collect();
        };
        let paths = self.files.candidate.tree().entries.keys();
        paths.filter(|path| is_in(path, place)).cloned().collect()
    }

    fn check(&self, check: &Check) -> PromiseFound {
        let about = self.about(check);
        if about.is_empty() {
            let place = check.file.as_ref().map_or("no file that it could be about", RelPath::as_str);
            return unmeasured(&format!("not there: {place}"));
        }
        match &check.rule {
            Rule::MustContain(text) => self.contains(text, &about),
            Rule::MustNotContain(text) => self.lacks(text, &about),
            Rule::MustNotImport(module) => self.does_not_import(module, &about),
            Rule::Signature(text) => match promised(text).as_slice() {
                [promise] => self.signature(promise, &about),
                _ => unmeasured("it is not one signature"),
            },
        }
    }

    /// Whether a signature is declared, first of all in these files.
    fn signature(&self, promise: &Promised, first: &[RelPath]) -> PromiseFound {
        let read = |path: &RelPath| Some((path.clone(), self.files.candidate.text(path)?));
        let texts: Vec<(RelPath, String)> = first.iter().filter_map(read).collect();
        let here = promise.is_in(&as_sources(&texts));
        if !promise.is_signature() || here == Fulfilled::Yes {
            return self.fulfilled(promise, &texts, here);
        }
        // It may stand in a file that was there before.
        let others = self.files.candidate.tree().entries.keys();
        let others = others.filter(|path| FileKind::of(path) == FileKind::Code && !first.contains(path));
        let others: Vec<(RelPath, String)> =
            others.filter_map(read).filter(|(_, text)| text.contains(promise.name())).collect();
        match promise.is_in(&as_sources(&others)) {
            Fulfilled::Yes => PromiseFound::Kept,
            Fulfilled::Unclear(why) if here == Fulfilled::Missing => unmeasured(&why),
            Fulfilled::Missing | Fulfilled::Otherwise { .. } | Fulfilled::Unclear(_) => {
                self.fulfilled(promise, &texts, here)
            }
        }
    }

    fn fulfilled(&self, promise: &Promised, texts: &[(RelPath, String)], is: Fulfilled) -> PromiseFound {
        let text = &promise.text;
        let direction = |file: &RelPath| format!("declare `{text}` in `{file}`");
        match is {
            Fulfilled::Yes => PromiseFound::Kept,
            Fulfilled::Unclear(why) => unmeasured(&why),
            Fulfilled::Missing => {
                let Some((file, _)) = texts.first() else { return unmeasured("no code was written") };
                let what = format!("the plan promises `{text}`, and nothing declares `{}`", promise.name());
                found(vec![Breach { file: Some(file.clone()), line: None, what, direction: direction(file) }])
            }
            Fulfilled::Otherwise { source, line, declared, how } => {
                let Some((file, _)) = texts.get(source) else { return unmeasured("no code was written") };
                let what = format!("the plan promises `{text}`, and here stands `{declared}`: {how}");
                found(vec![Breach {
                    file: Some(file.clone()),
                    line: Some(line),
                    what,
                    direction: direction(file),
                }])
            }
        }
    }

    /// Whether no line that the node wrote matches a pattern.
    fn not_written(&self, text: &str) -> PromiseFound {
        let code = |path: &&RelPath| FileKind::of(path) != FileKind::Prose;
        let changed: Vec<RelPath> = self.written.keys().filter(code).cloned().collect();
        if changed.is_empty() {
            return unmeasured("no code was written");
        }
        let (new, _) = self.matching(text, &changed, |line| {
            (format!("the contract forbids `{text}`"), format!("write line {line} without `{text}`"))
        });
        found(new)
    }

    fn lacks(&self, text: &str, about: &[RelPath]) -> PromiseFound {
        let (new, mut old) = self.matching(text, about, |line| {
            (format!("`{text}` must not stand here"), format!("write line {line} without `{text}`"))
        });
        if !new.is_empty() || old.is_empty() {
            return found(new);
        }
        old.truncate(PLACES);
        PromiseFound::BrokenBefore { breaches: old }
    }

    fn contains(&self, text: &str, about: &[RelPath]) -> PromiseFound {
        let Some(pattern) = pattern(text) else { return unmeasured("it is empty") };
        let is_in =
            |path: &RelPath| self.files.candidate.text(path).is_some_and(|text| pattern.is_match(&text));
        if about.iter().any(is_in) {
            return PromiseFound::Kept;
        }
        let file = about.first().cloned();
        let place = if about.len() == 1 { "it".to_owned() } else { format!("one of {} files", about.len()) };
        let (what, direction) = (format!("{place} must contain `{text}`"), format!("write `{text}` there"));
        found(vec![Breach { file, line: None, what, direction }])
    }

    fn does_not_import(&self, module: &str, about: &[RelPath]) -> PromiseFound {
        let (mut new, mut old, mut looked) = (Vec::new(), Vec::new(), false);
        for path in about {
            let of = |files: &dyn Files| files.text(path).and_then(|text| imports(path, &text));
            let Some(now) = of(self.files.candidate) else { continue };
            looked = true;
            let before: Vec<Imported> = of(self.files.base).unwrap_or_default();
            for import in now.iter().filter(|import| import.is_of(module)) {
                let breach = Breach {
                    file: Some(path.clone()),
                    line: Some(import.line),
                    what: format!("it must not import `{module}`, and imports `{}`", import.from),
                    direction: format!("do without `{}` here", import.from),
                };
                let is_old = before.iter().any(|one| one.from == import.from);
                if is_old { old.push(breach) } else { new.push(breach) }
            }
        }
        if !looked {
            return unmeasured("its imports cannot be read");
        }
        if !new.is_empty() || old.is_empty() {
            return found(new);
        }
        old.truncate(PLACES);
        PromiseFound::BrokenBefore { breaches: old }
    }

    /// The first match of a pattern in each file: those on lines that the node wrote, and those that were there before.
    fn matching(
        &self,
        text: &str,
        about: &[RelPath],
        words: impl Fn(u32) -> (String, String),
    ) -> (Vec<Breach>, Vec<Breach>) {
        let (mut new, mut old) = (Vec::new(), Vec::new());
        let Some(pattern) = pattern(text) else { return (new, old) };
        for path in about {
            let Some(content) = self.files.candidate.text(path) else { continue };
            let is_written = |line: u32| self.written.get(path).is_some_and(|lines| lines.contains(&line));
            let (mut line, mut counted, mut first, mut written) = (1u32, 0, None, None);
            for found in pattern.find_iter(&content) {
                let lines_to = |at: usize, from: usize| content[from..at].matches('\n').count() as u32;
                line += lines_to(found.start(), counted);
                counted = found.start();
                first.get_or_insert(line);
                let last = line + lines_to(found.end(), counted);
                written = (line..=last).find(|line| is_written(*line));
                if written.is_some() {
                    break;
                }
            }
            let breach = |line: u32| {
                let (what, direction) = words(line);
                Breach { file: Some(path.clone()), line: Some(line), what, direction }
            };
            match (written, first) {
                (Some(line), _) => new.push(breach(line)),
                (None, Some(line)) => old.push(breach(line)),
                (None, None) => {}
            }
        }
        (new, old)
    }
}

fn as_sources(texts: &[(RelPath, String)]) -> Vec<(&RelPath, &str)> {
    texts.iter().map(|(path, text)| (path, text.as_str())).collect()
}

/// Whether a file is meant by a place: the file, a folder around it, or a module as a language names it.
fn is_in(path: &RelPath, place: &RelPath) -> bool {
    let module = place.as_str().trim_start_matches("crate::").replace("::", "/").replace('.', "/");
    let bare = path.as_str().rsplit_once('.').map_or(path.as_str(), |(bare, _)| bare);
    let is_module =
        bare.strip_suffix(&module).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    path == place || path.is_within(place) || is_module
}

/// The lines that were written, of each file that was changed. A line that stood anywhere in these files before is only moved;
/// how far it is indented does not matter.
fn written_lines(changes: &[Change], files: &Pair<'_>) -> BTreeMap<RelPath, BTreeSet<u32>> {
    let mut before: BTreeMap<String, usize> = BTreeMap::new();
    for text in changes.iter().filter_map(|change| files.base.text(&change.path)) {
        for line in text.lines() {
            *before.entry(line.trim().to_owned()).or_default() += 1;
        }
    }
    let mut written = BTreeMap::new();
    for change in changes.iter().filter(|change| change.after.is_some()) {
        let text = files.candidate.text(&change.path).unwrap_or_default();
        let lines: &mut BTreeSet<u32> = written.entry(change.path.clone()).or_default();
        for (at, line) in text.lines().enumerate() {
            match before.get_mut(line.trim()).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => drop(lines.insert(at as u32 + 1)),
            }
        }
    }
    written
}
