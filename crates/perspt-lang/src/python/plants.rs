//! Deliberate breaks that Python's tools must see.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::settings::Settings;
use super::{checkers, is_test_source, roots};
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
    match stage {
        StageKind::Syntax => syntax_error(root, files, &sources).into_iter().collect(),
        StageKind::Test => {
            let settings = Settings::of(files, &root.dir);
            failing_test(root, files, &sources, &settings, name).into_iter().collect()
        }
        StageKind::Type => type_error(files, &sources, name).into_iter().collect(),
        StageKind::Lint => {
            let unformatted =
                checkers::has_ruff_format(files, root).then(|| unformatted(root, &sources, name));
            let broken = syntax_error(root, files, &sources);
            broken.into_iter().chain(unformatted.flatten()).collect()
        }
        StageKind::Structure | StageKind::Build => Vec::new(),
    }
}

/// A call with the wrong type at the end of every source that holds no tests: the checker need not look at all of them.
fn type_error(files: &dyn Files, sources: &[RelPath], name: &str) -> Option<Plant> {
    const FILES: usize = 20;
    let code = sources.iter().filter(|path| !is_test_source(path) && path.name() != "conftest.py");
    let readable = code.filter_map(|path| Some((path.clone(), files.text(path)?))).take(FILES);
    let error = format!("\n\ndef {name}(x: int) -> int:\n    return x\n\n\n{name}(\"text\")\n");
    let writes: BTreeMap<RelPath, String> =
        readable.map(|(path, before)| (path, format!("{before}{error}"))).collect();
    let places: Vec<&str> = writes.keys().map(RelPath::as_str).take(3).collect();
    let more = if writes.len() > places.len() { " and others" } else { "" };
    let what = format!("a type error in {}{more}", places.join(", "));
    (!writes.is_empty()).then_some(Plant { what, writes, expect: Expect::Red })
}

/// A new file that is not formatted, beside the first source.
fn unformatted(root: &Root, sources: &[RelPath], name: &str) -> Option<Plant> {
    let beside = sources.iter().find(|path| !is_test_source(path)).and_then(RelPath::parent);
    let path = beside.unwrap_or_else(|| root.dir.clone()).join(&format!("{name}.py")).ok()?;
    Some(Plant {
        what: format!("a line in {path} that is not formatted"),
        writes: BTreeMap::from([(path, "x  =  1\n".to_owned())]),
        expect: Expect::Finding,
    })
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
    let named = |path: &&RelPath| settings.words("testpaths").is_empty() || is_named(root, path, settings);
    let mut real = sources.iter().filter(is_test).filter(|path| !is_data(root, path, settings)).filter(named);
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

/// Whether pytest looks for tests at this place.
fn is_named(root: &Root, path: &RelPath, settings: &Settings) -> bool {
    let places = settings.words("testpaths").iter().filter_map(|word| root.dir.join(word).ok());
    places.into_iter().any(|place| path.is_within(&place))
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
