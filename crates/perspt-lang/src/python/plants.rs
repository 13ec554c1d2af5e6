//! Deliberate breaks that Python's tools must see.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::roots;
use super::settings::Settings;
use crate::plugin::{Expect, Files, Plant};
use crate::shared::file_names::is_data_folder;
use crate::shared::glob;

const SYNTAX_ERROR: &str = "\ndef perspt_planted(:\n";
/// A failing test; both runners see its kind, whatever names of functions and classes pytest is told to look for.
fn failing(name: &str) -> String {
    format!(
        "import unittest\n\n\nclass Perspt{name}(unittest.TestCase):\n    def test_{name}(self):\n        \
         self.fail(\"planted by perspt\")\n"
    )
}

/// The plants of a stage.
pub(crate) fn plants(stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
    let sources = roots::own_sources(files, root);
    let plant = if stage == StageKind::Syntax {
        syntax_error(root, files, &sources)
    } else if stage == StageKind::Test {
        failing_test(root, files, &sources, &Settings::of(files, &root.dir), name)
    } else {
        None
    };
    plant.into_iter().collect()
}

fn syntax_error(root: &Root, files: &dyn Files, sources: &[RelPath]) -> Option<Plant> {
    let readable = sources.iter().find_map(|path| Some((path.clone(), files.text(path)?)));
    let (path, before) = match readable {
        Some(found) => found,
        None => (root.dir.join("perspt_planted.py").ok()?, String::new()),
    };
    Some(Plant {
        what: format!("a syntax error in {path}"),
        writes: BTreeMap::from([(path, format!("{before}{SYNTAX_ERROR}"))]),
        expect: Expect::Red,
    })
}

/// The test file that the settings name by itself: then no new file beside it is collected.
fn only_file(root: &Root, files: &dyn Files, settings: &Settings) -> Option<(RelPath, String)> {
    let named = settings.words("testpaths").iter().filter_map(|word| root.dir.join(word).ok());
    let mut texts = named.map(|path| files.text(&path).map(|text| (path, text)));
    let first = texts.next()??;
    texts.all(|other| other.is_some()).then_some(first)
}

/// A failing test beside the first test file and named in its way.
fn failing_test(
    root: &Root,
    files: &dyn Files,
    sources: &[RelPath],
    settings: &Settings,
    name: &str,
) -> Option<Plant> {
    let expect = Expect::TestFails(format!("test_{name}"));
    if let Some((path, text)) = only_file(root, files, settings) {
        return Some(Plant {
            what: format!("a failing test in {path}"),
            writes: BTreeMap::from([(path, format!("{text}\n\n{}", failing(name)))]),
            expect,
        });
    }
    let is_test = |path: &&RelPath| settings.names_tests(path);
    // A test that is data for others may be one that no run collects.
    let mut real = sources.iter().filter(is_test).filter(|path| !is_data(root, path, settings));
    let beside = real.next().or_else(|| sources.iter().find(is_test));
    let folder = beside.and_then(RelPath::parent).unwrap_or_else(|| root.dir.clone());
    let last = beside.is_some_and(|path| path.name().ends_with("_test.py"));
    let usual = if last { format!("{name}_test.py") } else { format!("test_{name}.py") };
    let path = folder.join(&settings.test_file(name).unwrap_or(usual)).ok()?;
    Some(Plant {
        what: format!("a failing test in {path}"),
        writes: BTreeMap::from([(path, failing(name))]),
        expect,
    })
}

/// Whether a test file of a root lies in a folder of data, or in one that pytest is told not to enter.
fn is_data(root: &Root, path: &RelPath, settings: &Settings) -> bool {
    let below =
        path.parent().and_then(|folder| folder.below(&root.dir).map(str::to_owned)).unwrap_or_default();
    let skipped = |part: &str| {
        settings.words("norecursedirs").iter().any(|pattern| glob::matches(pattern, part))
            || is_data_folder(part)
            || ["data", "resources"].contains(&part)
    };
    below.split('/').any(skipped)
}
