//! What in a Python project decides how tests run, and what of it a candidate changed.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::checkers::Checker;
use super::{decides_evidence, ini, is_test_name, roots};
use crate::plugin::{Files, Pair};
use crate::shared::compare::{ChangedSource, Comparison};
use crate::shared::reaches_tests;
use crate::shared::toml;
use crate::syntax::{Item, Source};

/// The group of entry points whose modules pytest loads wherever they are installed.
const PLUGINS: &str = "pytest11";

/// Modules whose code runs the tests.
const RUNNERS: [&str; 9] = [
    "unittest",
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "xdist",
    "coverage",
    "hypothesis",
    "exceptiongroup",
];

/// Everything found between base and candidate.
pub(crate) fn changed(
    pair: &Pair<'_>,
    compared: &Comparison,
    standard: &BTreeSet<String>,
) -> Vec<ChangedEvidence> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let tested: Vec<RelPath> =
        roots::find(pair.base).into_iter().filter(|root| root.has_tests).map(|root| root.dir).collect();
    // A project without tests may bring its own way to run them.
    let has_tests = |path: &RelPath| tested.iter().any(|dir| path.is_within(dir));
    let hides = hiding(pair, standard);
    let mut found = Vec::new();
    for change in &changes {
        let path = &change.path;
        if let Some(what) = hides.get(path) {
            found.push(entry(path, what.clone(), false));
        } else if has_tests(path) {
            found.extend(rules(pair, change, compared.sources.get(path)));
        }
    }
    found.extend(before_the_project(pair, &changes));
    found.extend(reaches_tests::code_that_asks(compared));
    let told: BTreeSet<RelPath> = found.iter().map(|known| known.path.clone()).collect();
    found.extend(reaches_tests::changed(compared).into_iter().filter(|new| !told.contains(&new.path)));
    found
}

fn entry(path: &RelPath, what: String, settled_by_results: bool) -> ChangedEvidence {
    ChangedEvidence { path: path.clone(), what, settled_by_results }
}

/// What one changed file decides.
fn rules(pair: &Pair<'_>, change: &Change, side: Option<&ChangedSource>) -> Vec<ChangedEvidence> {
    let path = &change.path;
    let read: fn(&str) -> Values = match path.name() {
        "pyproject.toml" => in_pyproject,
        "setup.cfg" => in_setup_cfg,
        "setup.py" => in_setup_py,
        "conftest.py" => return side.into_iter().filter_map(|side| conftest(path, side)).collect(),
        _ if is_of_checker(path) && !checks_types(pair.base, path) => return Vec::new(),
        _ if decides_evidence(path) => {
            let did = match (change.before, change.after) {
                (None, _) => "is new",
                (_, None) => "is gone",
                (Some(_), Some(_)) => "was changed",
            };
            return vec![entry(path, format!("`{path}` decides how tests run, and it {did}"), false)];
        }
        _ => return Vec::new(),
    };
    let of = |files: &dyn Files| files.text(path).map(|text| read(&text)).unwrap_or_default();
    let (before, after) = (of(pair.base), of(pair.candidate));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // A project may take up a type checker; one that it has is not told to look away.
    let is_new = |key: &str| is_of_type_checker(key) && !checks_types(pair.base, path);
    let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key) && !is_new(key));
    changed.map(|key| entry(path, format!("the setting `{key}` is not what it was"), false)).collect()
}

/// Whether a file holds the settings of a type checker alone.
fn is_of_checker(path: &RelPath) -> bool {
    ["mypy.ini", ".mypy.ini", "pyrightconfig.json", "ty.toml"].contains(&path.name())
}

/// Whether a setting is a type checker's.
fn is_of_type_checker(key: &str) -> bool {
    Checker::ALL.iter().any(|checker| key.split(['.', '-']).next() == Some(checker.name()))
}

/// Whether some type checker is configured in the folder of a file.
fn checks_types(files: &dyn Files, path: &RelPath) -> bool {
    let dir = path.parent().unwrap_or_else(RelPath::root);
    Checker::ALL.into_iter().any(|checker| checker.is_configured(files, &dir))
}

/// A `conftest.py`: hooks and plugins decide how tests run, fixtures are settled by results. One whose old fixtures are
/// gone or changed is told as what tests use.
fn conftest(path: &RelPath, side: &ChangedSource) -> Option<ChangedEvidence> {
    let hooks = |source: &Source| -> Vec<(String, Vec<_>, Vec<String>)> {
        let found = source.items.iter().filter(|item| is_hook(item));
        found.map(|item| (item.name.clone(), item.tokens.clone(), item.cases.clone())).collect()
    };
    let (before, now) = (hooks(&side.base.source), hooks(&side.candidate.source));
    if before != now {
        let of_both = before.iter().chain(&now).filter(|hook| !(before.contains(hook) && now.contains(hook)));
        let names: BTreeSet<String> = of_both.map(|(name, ..)| format!("`{name}`")).collect();
        let names: Vec<String> = names.into_iter().collect();
        return Some(entry(
            path,
            format!("hooks and plugins of the test runner: {}", names.join(", ")),
            false,
        ));
    }
    let known = |new: &Item| {
        side.base.source.item(&new.name).is_some_and(|old| old.tokens == new.tokens && old.cases == new.cases)
    };
    let differs = side.candidate.source.items.iter().any(|new| !known(new))
        || imported(&side.base.source) != imported(&side.candidate.source);
    differs.then(|| entry(path, "fixtures and helpers of tests".to_owned(), true))
}

fn imported(source: &Source) -> BTreeSet<&(String, String)> {
    source.imports.iter().flat_map(|import| &import.binds).collect()
}

/// What pytest looks for by its name.
fn is_hook(item: &Item) -> bool {
    let name = item.last();
    name.starts_with("pytest_") || name.starts_with("collect_ignore")
}

/// Files that newly hide a module of the standard library or of a runner, at a place modules are imported from.
fn hiding(pair: &Pair<'_>, standard: &BTreeSet<String>) -> BTreeMap<RelPath, String> {
    let (before, after) = (&pair.base.tree().entries, &pair.candidate.tree().entries);
    let mut found = BTreeMap::new();
    for root in roots::find(pair.candidate) {
        let folders = ["src", "tests", "test"].map(|folder| root.dir.join(folder).ok());
        for folder in folders.into_iter().flatten().chain([root.dir.clone()]) {
            for name in standard.iter().map(String::as_str).chain(RUNNERS) {
                let is_tool = RUNNERS.contains(&name);
                for file in [format!("{name}.py"), format!("{name}/__init__.py")] {
                    let Ok(path) = folder.join(&file) else { continue };
                    if after.contains_key(&path) && (is_tool || !before.contains_key(&path)) {
                        found.insert(
                            path,
                            format!("it hides the module `{name}` of the standard library or of a tool"),
                        );
                    }
                }
            }
        }
    }
    found
}

/// New modules in folders of tests with the name of a module of the project: tests import the nearer one.
fn before_the_project(pair: &Pair<'_>, changes: &[Change]) -> Vec<ChangedEvidence> {
    let there = |path: &RelPath| {
        pair.base.tree().entries.contains_key(path) && pair.candidate.tree().entries.contains_key(path)
    };
    let new = changes.iter().filter(|change| change.before.is_none()).map(|change| &change.path);
    let modules = new.filter(|path| path.extension() == Some("py") && !is_test_name(path));
    let mut found = Vec::new();
    for (path, (folder, name)) in modules.filter_map(|path| Some((path, module(path)?))) {
        let beside_tests = pair.candidate.tree().entries.keys().any(|test| {
            (is_test_name(test) || test.name() == "conftest.py") && test.parent().as_ref() == Some(&folder)
        });
        let roots = roots::find(pair.candidate).into_iter().filter(|root| path.is_within(&root.dir));
        let places = roots.flat_map(|root| [Some(root.dir.clone()), root.dir.join("src").ok()]).flatten();
        let files = places.filter(|place| *place != folder).flat_map(|place| {
            [place.join(&format!("{name}.py")), place.join(&format!("{name}/__init__.py"))]
        });
        let hidden = files.flatten().find(|file| there(file)).filter(|_| beside_tests);
        found.extend(hidden.map(|hidden| {
            entry(
                path,
                format!("it stands before the project's own `{hidden}` where tests import from"),
                true,
            )
        }));
    }
    found
}

/// The folder a file is imported from, and the module's name.
fn module(path: &RelPath) -> Option<(RelPath, String)> {
    let folder = path.parent()?;
    match path.name() {
        "__main__.py" | "conftest.py" | "setup.py" => None,
        "__init__.py" => Some((folder.parent()?, folder.name().to_owned())),
        name => Some((folder, name.strip_suffix(".py")?.to_owned())),
    }
}

/// The settings of runners and type checkers in a file that holds other things too.
type Values = BTreeMap<String, String>;

fn in_pyproject(text: &str) -> Values {
    let document = toml::parse(text).unwrap_or_default();
    let mut settings = Values::new();
    let tools = document.get("tool").and_then(|tools| tools.as_object()).into_iter().flatten();
    let decides = |tool: &str| tool.starts_with("pytest") || ["mypy", "pyright", "ty", "tox"].contains(&tool);
    for (tool, table) in tools.filter(|(tool, _)| decides(tool)) {
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
    for (section, values) in sections.iter().filter(|(section, _)| section.starts_with("mypy")) {
        settings.extend(values.iter().map(|(key, value)| (format!("{section}.{key}"), value.clone())));
    }
    let plugins = sections.remove("options.entry_points").and_then(|mut points| points.remove(PLUGINS));
    settings.extend(plugins.map(|plugins| (PLUGINS.to_owned(), plugins)));
    settings
}

/// A program: only that it names the group is seen.
fn in_setup_py(text: &str) -> Values {
    let named: Vec<&str> = text.lines().filter(|line| line.contains(PLUGINS)).map(str::trim).collect();
    let found = (!named.is_empty()).then(|| (PLUGINS.to_owned(), named.join("\n")));
    found.into_iter().collect()
}
