//! perspt's own look at what a node did to Python files: existing tests, and what decides how they run.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Residual};
use perspt_core::tree::Change;

use super::items::{self, Found};
use super::lexer::lines;
use super::settings::Settings;
use super::stubs;
use super::{
    conditional, decides_evidence, doctests, fixtures, hiding, ini, is_test_material, is_test_name,
    is_test_source, packages, roots, stdlib,
};
use crate::plugin::{Files, Touch, Was};
use crate::shared::asked::{asks_for, asks_to_change};
use crate::shared::before::{Telling, as_before, text_of};
use crate::shared::examples::{self, Example};
use crate::shared::mends::renamed_as_asked;
use crate::shared::stubs::new_stubs;
use crate::shared::toml;
use crate::shared::touch::{
    HoldsTests, changed_test_file, compared, empty_tests, evidence_changed, forbidden_patterns, shown,
    vanished,
};

/// Words of a task that name pytest's settings, not pytest itself.
const SETTINGS: [&str; 11] = [
    "pytest.ini",
    "tool.pytest",
    "addopts",
    "pytest config",
    "pytest configuration",
    "pytest settings",
    "pytest options",
    "configure pytest",
    "testpaths",
    "pytest plugin",
    "pytest11",
];

/// Settings that hide tests or change what they mean, wherever they stand.
const HIDING: [&str; 6] =
    ["addopts", "python_files", "python_classes", "python_functions", "norecursedirs", "collect_ignore"];

/// Options that only change what is printed.
const HARMLESS: [&str; 10] =
    ["-q", "-v", "-vv", "-ra", "-rA", "-s", "--strict-markers", "--strict-config", "--strict", "--tb=short"];

/// The group of entry points whose modules pytest loads wherever they are installed.
const PLUGINS: &str = "pytest11";

/// Everything found between base and candidate.
pub(crate) fn structure(touch: &Touch<'_>) -> Vec<Residual> {
    let mut residuals = Vec::new();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    let shadows = Shadows::of(touch);
    let names = TestNames::of(touch.base);
    let is_test_name = |path: &RelPath| is_test_name(path) || names.hold(path);
    let changes = touch.base.tree().changes_to(touch.candidate.tree());
    for change in &changes {
        let path = &change.path;
        let runs_first = packages::runs_otherwise(touch, path, &is_test_name);
        let is_material = is_test_material(path) || names.hold(path);
        if is_material && !decides_evidence(path) && !runs_first {
            let holds_tests = HoldsTests::of(&found(touch.base, path).tests);
            residuals.extend(changed_test_file(touch, change, "py", holds_tests));
        }
        if is_test_source(path) || names.hold(path) {
            let (old, new) = (found(touch.base, path), found(touch.candidate, path));
            if change.before.is_some() && change.after.is_some() {
                residuals.extend(compared(touch, path, &old.tests, &new.tests));
                residuals.extend(marks_around(touch, path, &old, &new));
            }
            before.insert(path.clone(), old.tests);
            after.insert(path.clone(), new.tests);
        }
        if path.extension() == Some("py") && !is_material {
            residuals.extend(new_stubs(touch, path, stubs::find));
        }
        residuals.extend(evidence(touch, change, &shadows));
        if runs_first {
            residuals.extend(runs_before_tests(touch, path));
        }
    }
    residuals.extend(hiding::new_modules(touch));
    let is_code = |path: &&RelPath| {
        path.extension() == Some("py")
            && !is_test_material(path)
            && !names.hold(path)
            && !decides_evidence(path)
    };
    let sources: Vec<&RelPath> = changes.iter().map(|change| &change.path).filter(is_code).collect();
    residuals.extend(conditional::new_conditions(touch, &sources));
    residuals.extend(documentation(touch, &changes, &names));
    residuals.extend(empty_tests(&before, &after));
    residuals.extend(vanished(touch, &before, &after));
    residuals.extend(forbidden_patterns(touch, |path| path.extension() != Some("rs")));
    residuals
}

/// The candidate with its tests as they were, and without what is new among them.
pub(crate) fn tests_as_before(touch: &Touch<'_>) -> BTreeMap<RelPath, Was> {
    let names = TestNames::of(touch.base);
    let is_test = |path: &RelPath| {
        let fixtures = path.name() == "conftest.py" && !asks_for(touch.task, &["conftest.py", "conftest"]);
        fixtures || ((is_test_material(path) || names.hold(path)) && !decides_evidence(path))
    };
    let parts = |text: &str| (text.to_owned(), String::new());
    as_before(touch, &Telling { source: "py", is_test: &is_test, inside: &|_| None, parts: &parts })
}

/// The tokens of the test that a runner calls so, where this file holds it.
pub(crate) fn test_text(files: &dyn Files, file: &RelPath, test: &str) -> Option<String> {
    text_of(test, &found(files, file).tests)
}

/// The examples that pytest tries out, in all changed files. Test files are compared as a whole.
fn documentation(touch: &Touch<'_>, changes: &[Change], names: &TestNames) -> Vec<Residual> {
    let of = |files: &dyn Files| -> Vec<Example> {
        let paths = changes.iter().map(|change| &change.path).filter(|path| !is_test_material(path));
        let found = paths.filter_map(|path| Some(doctests::examples(files, path, names.settings(path)?)));
        found.flatten().collect()
    };
    let (before, now) = (of(touch.base), of(touch.candidate));
    let after = doctests::without_growth(&before, now.clone());
    let mut residuals = examples::compare(touch, &before, &after);
    let grown = now.iter().filter(|example| example.runs && !after.contains(example));
    residuals.extend(grown.map(|example| {
        let message = format!("the documentation test `{}` demands more than before", example.key);
        shown(Class::ExampleGrown, &example.file, message)
    }));
    residuals
}

/// The charge for a package of tests that does something else before its tests than it did.
fn runs_before_tests(touch: &Touch<'_>, path: &RelPath) -> Option<Residual> {
    let what = format!("`{path}` runs before the tests of its folder, and it does not do what it did");
    let folder = path.parent().map(|folder| folder.name().to_owned()).unwrap_or_default();
    evidence_changed(touch, path, &[path.as_str(), &format!("{folder}/{}", path.name())], what)
}

/// Which files hold tests by the names that the settings of their root give.
struct TestNames {
    roots: Vec<(RelPath, Settings)>,
}

impl TestNames {
    fn of(files: &dyn Files) -> TestNames {
        let roots = roots::find(files).into_iter().map(|root| root.dir);
        TestNames { roots: roots.map(|dir| (dir.clone(), Settings::of(files, &dir))).collect() }
    }

    fn settings(&self, path: &RelPath) -> Option<&Settings> {
        let above = self.roots.iter().filter(|(dir, _)| path.is_within(dir));
        above.max_by_key(|(dir, _)| dir.parts().count()).map(|(_, settings)| settings)
    }

    fn hold(&self, path: &RelPath) -> bool {
        self.settings(path).is_some_and(|settings| settings.names_tests(path))
    }
}

fn found(files: &dyn Files, path: &RelPath) -> Found {
    files.text(path).map(|text| items::find(&text)).unwrap_or_default()
}

/// Marks on a class or on the module reach tests whose own lines did not change.
fn marks_around(touch: &Touch<'_>, path: &RelPath, old: &Found, new: &Found) -> Vec<Residual> {
    let mut old_around = old.around.clone();
    // A module that had nothing outside its tests had no marks there either.
    for (key, item) in &new.around {
        if key == "module" {
            old_around.entry(key.clone()).or_insert_with(|| {
                let mut empty = item.clone();
                (empty.tokens, empty.marks, empty.strength) = Default::default();
                empty
            });
        }
    }
    let residuals = compared(touch, path, &old_around, &new.around);
    let weakened = residuals.into_iter().filter(|one| one.class == Class::TestWeakened && one.counts());
    let stand_on = || {
        shown(Class::TestChanged, path, "what existing tests of this file stand on was changed".to_owned())
    };
    let changed =
        touch.node.task_type.is_test() && !old.tests.is_empty() && !stands_on(old).is_subset(&stands_on(new));
    weakened.chain(changed.then(stand_on)).collect()
}

/// What stands around the tests of a file: tables, helpers, fixtures. What is only imported is not looked at.
fn stands_on(found: &Found) -> BTreeSet<String> {
    let lines = found.around.values().flat_map(|item| item.tokens.split('\u{2}'));
    let is_import = |line: &str| ["import\u{1}", "from\u{1}"].iter().any(|word| line.starts_with(word));
    lines.filter(|line| !is_import(line)).map(str::to_owned).collect()
}

fn evidence(touch: &Touch<'_>, change: &Change, shadows: &Shadows) -> Vec<Residual> {
    let path = &change.path;
    match path.name() {
        "pyproject.toml" => return settings(touch, change, &in_pyproject),
        "setup.cfg" => return settings(touch, change, &in_setup_cfg),
        "setup.py" => return settings(touch, change, &in_setup_py),
        _ => {}
    }
    if path.name() == "conftest.py" && (adapts_fixtures(touch, path) || is_only_renamed(touch, path)) {
        return Vec::new();
    }
    let (what, names) = if shadows.new.contains(path) {
        (
            format!("`{path}` hides a module of the standard library or of a tool"),
            vec![path.name().to_owned()],
        )
    } else if decides_evidence(path) {
        let did = match (change.before, change.after) {
            (None, _) => "is new",
            (_, None) => "is gone",
            (Some(_), Some(_)) => "was changed",
        };
        let stem = path.name().trim_end_matches(".py");
        // What describes an installed distribution has the same file names for all of them.
        let described = path.ancestors().find(super::is_installed);
        let names = match described {
            Some(folder) => vec![folder.as_str().to_owned()],
            None if super::chooses_python(path) => vec![path.name().to_owned(), "python version".to_owned()],
            None => vec![path.name().to_owned(), stem.to_owned()],
        };
        (format!("`{path}` decides how evidence is gathered, and it {did}"), names)
    } else {
        return Vec::new();
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    evidence_changed(touch, path, &names, what).into_iter().collect()
}

/// Whether a test node changes nothing but fixtures in a `conftest.py`, and the task asks for tests to be changed.
fn adapts_fixtures(touch: &Touch<'_>, path: &RelPath) -> bool {
    let texts = (touch.base.text(path), touch.candidate.text(path));
    let only_fixtures = matches!(&texts, (Some(before), Some(after)) if fixtures::only_differ(before, after));
    only_fixtures && touch.node.task_type.is_test() && asks_to_change(touch.task, "conftest", path.name())
}

/// Whether nothing of a file differs but names that the task wants to be others.
fn is_only_renamed(touch: &Touch<'_>, path: &RelPath) -> bool {
    let (Some(before), Some(after)) = (touch.base.text(path), touch.candidate.text(path)) else {
        return false;
    };
    let tokens = |text| lines(text).into_iter().flat_map(|line| line.tokens).collect::<Vec<_>>();
    renamed_as_asked(touch.task, &tokens(&before), &tokens(&after))
}

/// Files that newly hide a module at a place modules are imported from.
struct Shadows {
    new: BTreeSet<RelPath>,
}

impl Shadows {
    fn of(touch: &Touch<'_>) -> Shadows {
        let (before, after) = (&touch.base.tree().entries, &touch.candidate.tree().entries);
        let mut new = BTreeSet::new();
        for root in roots::find(touch.candidate) {
            for folder in ["", "src", "tests", "test"] {
                let folder = if folder.is_empty() { Ok(root.dir.clone()) } else { root.dir.join(folder) };
                let Ok(folder) = folder else { continue };
                for name in stdlib::MODULES.iter().chain(&stdlib::TOOLS) {
                    let is_tool = *name == "unittest" || stdlib::TOOLS.contains(name);
                    for file in [format!("{name}.py"), format!("{name}/__init__.py")] {
                        let Ok(path) = folder.join(&file) else { continue };
                        if after.contains_key(&path) && (is_tool || !before.contains_key(&path)) {
                            new.insert(path);
                        }
                    }
                }
            }
        }
        Shadows { new }
    }
}

/// pytest's settings in a file that holds other things too.
type Values = BTreeMap<String, String>;

/// Compares settings by what they say. In a file the session made, only what hides tests counts.
fn settings(touch: &Touch<'_>, change: &Change, read: &dyn Fn(&str) -> Values) -> Vec<Residual> {
    let path = &change.path;
    let of = |files: &dyn Files| files.text(path).map(|text| read(&text)).unwrap_or_default();
    let (before, after) = (of(touch.base), of(touch.candidate));
    let is_new = change.before.is_none() || touch.authored.contains(path);
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .filter(|key| !is_new || after.get(*key).is_some_and(|value| hides(key, value)))
        .filter_map(|key| {
            let what = format!(
                "pytest's setting `{key}` decides how evidence is gathered, and it is not what it was"
            );
            let mut residual = evidence_changed(touch, path, &SETTINGS, what)?;
            residual.symbol = Some(key.clone());
            Some(residual)
        })
        .collect()
}

fn hides(key: &str, value: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    if key == "addopts" {
        let words = value.split(['"', ',', '[', ']', ' ', '\n', '\\']).filter(|word| !word.is_empty());
        return words.into_iter().any(|word| !HARMLESS.contains(&word));
    }
    HIDING.contains(&key) || key == PLUGINS
}

fn in_pyproject(text: &str) -> Values {
    let document = toml::parse(text).unwrap_or_default();
    let mut settings = Values::new();
    let tools = document.get("tool").and_then(|tools| tools.as_object()).into_iter().flatten();
    for (tool, table) in tools.filter(|(tool, _)| tool.starts_with("pytest")) {
        let inner = table.get("ini_options").unwrap_or(table);
        for (key, value) in inner.as_object().into_iter().flatten() {
            settings.insert(format!("{tool}.{key}"), value.to_string());
        }
    }
    for table in [["project", "entry-points", PLUGINS].as_slice(), &["tool", "poetry", "plugins", PLUGINS]] {
        let plugins = toml::at(&document, table);
        settings.extend(plugins.map(|plugins| (table.join("."), plugins.to_string())));
    }
    settings
}

fn in_setup_cfg(text: &str) -> Values {
    let mut sections = ini::sections(text);
    let mut settings = sections.remove("tool:pytest").unwrap_or_default();
    let plugins = sections.remove("options.entry_points").and_then(|mut points| points.remove(PLUGINS));
    settings.extend(plugins.map(|plugins| (PLUGINS.to_owned(), plugins)));
    settings
}

/// A program: only that it names the group is seen.
fn in_setup_py(text: &str) -> Values {
    let lines = text.lines().filter(|line| line.contains(PLUGINS)).map(str::trim);
    let named: Vec<&str> = lines.collect();
    let found = (!named.is_empty()).then(|| (PLUGINS.to_owned(), named.join("\n")));
    found.into_iter().collect()
}
