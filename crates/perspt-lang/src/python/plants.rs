//! Deliberate breaks that Python's tools must see.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::settings::Settings;
use super::{is_test_source, roots};
use crate::plugin::{Expect, Files, Plant};
use crate::shared::glob;
use crate::shared::places::is_data_folder;
use crate::shared::words::names as named_in;

const SYNTAX_ERROR: &str = "\ndef perspt_planted(:\n";
const BROKEN_MODULE: &str = "raise ImportError(\"perspt plant\")\n";
const TEST_NAME: &str = "test_perspt_planted";
const FAILING_TEST: &str = "import unittest\n\n\nclass PersptPlanted(unittest.TestCase):\n    \
                            def test_perspt_planted(self):\n        self.fail(\"planted by perspt\")\n";

/// The plants of a stage.
pub(crate) fn plants(stage: StageKind, root: &Root, files: &dyn Files) -> Vec<Plant> {
    let sources = roots::own_sources(files, root);
    match stage {
        StageKind::Structure | StageKind::Build => Vec::new(),
        StageKind::Syntax => syntax_error(root, files, &sources).into_iter().collect(),
        StageKind::Test => {
            let settings = Settings::of(files, &root.dir);
            let failing = failing_test(root, files, &sources, &settings).into_iter();
            failing.chain(broken_modules(files, &sources, &settings)).collect()
        }
    }
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

/// A failing test beside the first test file and named in its way; both runners see its kind, whatever names
/// of functions and classes pytest is told to look for.
fn failing_test(root: &Root, files: &dyn Files, sources: &[RelPath], settings: &Settings) -> Option<Plant> {
    if let Some((path, text)) = only_file(root, files, settings) {
        return Some(Plant {
            what: format!("a failing test in {path}"),
            writes: BTreeMap::from([(path, format!("{text}\n\n{FAILING_TEST}"))]),
            expect: Expect::TestFails(TEST_NAME.to_owned()),
        });
    }
    let is_test = |path: &&RelPath| settings.names_tests(path);
    // A test that is data for others may be one that no run collects.
    let mut real = sources.iter().filter(is_test).filter(|path| !is_data(root, path, settings));
    let beside = real.next().or_else(|| sources.iter().find(is_test));
    let folder = beside.and_then(RelPath::parent).unwrap_or_else(|| root.dir.clone());
    let last = beside.is_some_and(|path| path.name().ends_with("_test.py"));
    let usual = if last { "perspt_planted_test.py" } else { "test_perspt_planted.py" };
    let name = settings.test_file("perspt_planted").unwrap_or_else(|| usual.to_owned());
    let path = folder.join(&name).ok()?;
    Some(Plant {
        what: format!("a failing test in {path}"),
        writes: BTreeMap::from([(path, FAILING_TEST.to_owned())]),
        expect: Expect::TestFails(TEST_NAME.to_owned()),
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

/// Every module of the root that is no test, broken at import.
fn broken_modules(files: &dyn Files, sources: &[RelPath], settings: &Settings) -> Option<Plant> {
    let is_test = |path: &&RelPath| is_test_source(path) || settings.names_tests(path);
    let modules: Vec<&RelPath> = sources
        .iter()
        .filter(|path| !is_test(path) && !["conftest.py", "setup.py"].contains(&path.name()))
        .collect();
    let names: Vec<&str> = modules.iter().filter_map(|path| name_of(path)).collect();
    let mut tests = sources.iter().filter(is_test).filter_map(|path| files.text(path));
    let named = tests.any(|text| named_in(&text, &names));
    let writes: BTreeMap<RelPath, String> =
        modules.iter().map(|path| ((*path).clone(), BROKEN_MODULE.to_owned())).collect();
    (!writes.is_empty()).then(|| Plant {
        what: match writes.len() {
            1 => "one module broken at import".to_owned(),
            many => format!("{many} modules broken at import"),
        },
        writes,
        expect: if named { Expect::SomeTestTurnsRed } else { Expect::SomeTestTurnsRedIfAnyNamesTheCode },
    })
}

/// The name a module is imported by: its file's, or for a package its folder's.
fn name_of(path: &RelPath) -> Option<&str> {
    match path.name() {
        "__init__.py" | "__main__.py" => path.as_str().rsplit('/').nth(1),
        name => name.strip_suffix(".py"),
    }
}
