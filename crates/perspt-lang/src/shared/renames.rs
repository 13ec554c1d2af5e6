//! Names that a candidate gave to something everywhere: the old one is gone from the code, and the new one is defined
//! there.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;

use super::compare::{FileRole, Layout};
use crate::plugin::{Files, Pair};
use crate::syntax::{Item, code_names, parse};

/// The names of the code on both sides, looked up when they are first asked for.
pub(crate) struct Renames<'a> {
    pair: &'a Pair<'a>,
    layout: &'a dyn Layout,
    names: Option<Names>,
    /// New names by old ones, as far as tests have shown them.
    known: BTreeMap<String, String>,
}

struct Names {
    defined_before: BTreeSet<String>,
    defined_now: BTreeSet<String>,
    used_now: BTreeSet<String>,
}

impl<'a> Renames<'a> {
    /// Of a candidate.
    pub(crate) fn of(pair: &'a Pair<'a>, layout: &'a dyn Layout) -> Renames<'a> {
        Renames { pair, layout, names: None, known: BTreeMap::new() }
    }

    /// Whether nothing but such names tells two items apart.
    pub(crate) fn explain(&mut self, old: &Item, new: &Item) -> bool {
        let same_shape = old.tokens.len() == new.tokens.len() && old.context.len() == new.context.len();
        if !same_shape || old.cases.len() > new.cases.len() {
            return false;
        }
        let mut found: BTreeMap<&str, &str> = BTreeMap::new();
        let old_cases = old.cases.iter().flat_map(|case| words(case));
        let new_cases = new.cases.iter().take(old.cases.len()).flat_map(|case| words(case));
        let tokens = old.tokens.iter().map(|token| token.text.as_str()).chain(old_cases);
        let others = new.tokens.iter().map(|token| token.text.as_str()).chain(new_cases);
        let (tokens, others): (Vec<&str>, Vec<&str>) = (tokens.collect(), others.collect());
        if tokens.len() != others.len() || old.context != new.context {
            return false;
        }
        for (one, other) in tokens.into_iter().zip(others) {
            let differs = one != other && !(is_name(one) && is_name(other));
            if differs || *found.entry(one).or_insert(other) != other {
                return false;
            }
        }
        // Where a name now means two things, it is not known which of them a test means.
        let targets: BTreeSet<&&str> = found.values().collect();
        let is_one_to_one = targets.len() == found.len();
        let changed: Vec<(&str, &str)> = found.into_iter().filter(|(one, other)| one != other).collect();
        let fits = is_one_to_one && changed.iter().all(|(one, other)| self.is_renamed(one, other));
        if fits {
            self.known.extend(changed.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())));
        }
        fits
    }

    fn is_renamed(&mut self, old: &str, new: &str) -> bool {
        if self.known.get(old).is_some_and(|known| known != new) {
            return false;
        }
        let names = self.names.get_or_insert_with(|| Names::of(self.pair, self.layout));
        names.defined_before.contains(old)
            && !names.defined_before.contains(new)
            && names.defined_now.contains(new)
            && !names.used_now.contains(old)
    }
}

fn words(case: &str) -> impl Iterator<Item = &str> {
    case.split('\u{1}').filter(|word| !word.is_empty())
}

fn is_name(token: &str) -> bool {
    let starts = token.starts_with(|first: char| first.is_alphabetic() || first == '_');
    starts && token.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Names {
    fn of(pair: &Pair<'_>, layout: &dyn Layout) -> Names {
        let is_code = |path: &&RelPath| {
            layout.is_source(path) && matches!(layout.role(path), FileRole::Mixed | FileRole::Other)
        };
        let defined = |files: &dyn Files| -> BTreeSet<String> {
            let mut names = BTreeSet::new();
            for path in files.tree().entries.keys().filter(is_code) {
                // A module has its file's name.
                let parts = path.parts().map(|part| part.split('.').next().unwrap_or(part));
                names.extend(parts.map(str::to_owned));
                let source = parse(layout.language(), &files.text(path).unwrap_or_default());
                let of_code = source.defines.iter().filter(|spot| !source.is_of_tests(spot.start));
                names.extend(of_code.map(|spot| spot.text.clone()));
            }
            names
        };
        let now = pair.candidate.tree().entries.keys().filter(is_code);
        let texts = now.filter_map(|path| pair.candidate.text(path));
        Names {
            defined_before: defined(pair.base),
            defined_now: defined(pair.candidate),
            used_now: texts.flat_map(|text| code_names(layout.language(), &text)).collect(),
        }
    }
}
