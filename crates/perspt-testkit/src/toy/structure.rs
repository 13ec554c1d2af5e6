//! What a candidate did to existing tests and to what decides about evidence.

use std::collections::BTreeMap;

use perspt_core::inventory::{ChangedEvidence, ChangedTest, Fate, Inventory, TestId};
use perspt_core::path::RelPath;
use perspt_lang::plugin::{Files, OldTestFile, Pair, StructureFindings};

/// The tests of a text: each line by its test's name.
pub(super) fn tests(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .map(str::trim)
        .filter_map(|line| {
            let rest = line.strip_prefix("test ").or_else(|| line.strip_prefix("skip "))?;
            Some((rest.split_once(':')?.0.trim(), line))
        })
        .collect()
}

pub(super) fn structure(pair: &Pair<'_>) -> StructureFindings {
    let mut inventory = Inventory::default();
    for change in pair.base.tree().changes_to(pair.candidate.tree()) {
        let path = &change.path;
        if super::is_source(path) {
            compared(pair, path, &mut inventory);
        }
        if path.name() == "toy.run" {
            let what = "toy.run decides how evidence is gathered".to_owned();
            inventory.evidence.push(ChangedEvidence { path: path.clone(), what, settled_by_results: false });
        }
    }
    StructureFindings { residuals: Vec::new(), inventory }
}

fn text(files: &dyn Files, path: &RelPath) -> String {
    files.text(path).unwrap_or_default()
}

fn compared(pair: &Pair<'_>, path: &RelPath, inventory: &mut Inventory) {
    let (before, after) = (text(pair.base, path), text(pair.candidate, path));
    let (before, after) = (tests(&before), tests(&after));
    let id = |name: &str| TestId { file: path.clone(), name: name.to_owned(), runner: name.to_owned() };
    for (name, old) in &before {
        let new = after.get(name).copied().unwrap_or_default();
        let fate = if new.is_empty() { Fate::Removed } else { Fate::Changed };
        if new != *old {
            let weaker =
                (new.starts_with("skip ") && old.starts_with("test ")).then(|| "now skipped".to_owned());
            let (old, new) = ((*old).to_owned(), new.to_owned());
            inventory.changed.push(ChangedTest {
                id: id(name),
                fate,
                old,
                new,
                weaker: weaker.into_iter().collect(),
            });
        }
    }
    inventory.added.extend(after.keys().filter(|name| !before.contains_key(*name)).map(|name| id(name)));
}

/// The candidate with the tests of its base: its code, then the old test lines.
pub(super) fn old_tests(pair: &Pair<'_>) -> BTreeMap<RelPath, OldTestFile> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let sources = changes.into_iter().filter(|change| super::is_source(&change.path));
    let was = sources.map(|change| {
        let was = match (super::is_test_file(&change.path), change.before) {
            (true, Some(_)) => OldTestFile::Base,
            (true, None) => OldTestFile::Absent,
            (false, _) => {
                let (old, new) = (text(pair.base, &change.path), text(pair.candidate, &change.path));
                let is_test = |line: &&str| line.starts_with("test ") || line.starts_with("skip ");
                let code = new.lines().filter(|line| !is_test(line));
                let lines: Vec<&str> = code.chain(old.lines().filter(is_test)).collect();
                OldTestFile::Text(format!("{}\n", lines.join("\n")))
            }
        };
        (change.path, was)
    });
    was.collect()
}
