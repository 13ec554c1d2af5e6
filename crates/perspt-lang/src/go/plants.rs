//! Deliberate breaks that go must see.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::{is_test_source, roots};
use crate::plugin::{Expect, Files, Plant};

const TYPE_ERROR: &str = "\nvar persptPlant int = \"not a number\"\n";
const FORM_ERROR: &str = "\nvar   persptPlant   =   1\n";

/// The plants of a stage; empty where there is no source yet.
pub(crate) fn plants(stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
    let plant = match stage {
        StageKind::Build => everywhere(root, files, TYPE_ERROR, "a type error"),
        StageKind::Lint => everywhere(root, files, FORM_ERROR, "a line out of form"),
        StageKind::Test => failing_test(root, files, name),
        StageKind::Structure | StageKind::Syntax | StageKind::Type => None,
    };
    plant.into_iter().collect()
}

/// One source of each package, the first without tests and conditions where there is one.
fn packages(root: &Root, files: &dyn Files) -> BTreeMap<RelPath, (RelPath, String)> {
    let mut found: BTreeMap<RelPath, (RelPath, String)> = BTreeMap::new();
    let mut sources: Vec<&RelPath> = roots::own_sources(files, root);
    sources.sort_by_key(|path| (is_test_source(path), path.name().matches('_').count()));
    for path in sources {
        let (Some(folder), Some(text)) = (path.parent(), files.text(path)) else { continue };
        if package_of(&text).is_some() && !text.contains("//go:build") && !found.contains_key(&folder) {
            found.insert(folder, (path.clone(), text));
        }
    }
    found
}

/// The same text at the end of one source of every package.
fn everywhere(root: &Root, files: &dyn Files, text: &str, what: &str) -> Option<Plant> {
    let sources = packages(root, files).into_values();
    let writes: BTreeMap<RelPath, String> =
        sources.map(|(path, before)| (path, format!("{before}{text}"))).collect();
    let places: BTreeSet<&str> = writes.keys().map(RelPath::as_str).collect();
    let what = format!("{what} in {}", places.into_iter().collect::<Vec<_>>().join(", "));
    (!writes.is_empty()).then_some(Plant { what, writes, expect: Expect::Red })
}

/// A test that fails, in a file of its own; beside other tests where there are some.
fn failing_test(root: &Root, files: &dyn Files, name: &str) -> Option<Plant> {
    let packages = packages(root, files);
    let tested: BTreeSet<RelPath> = roots::own_sources(files, root)
        .into_iter()
        .filter(|path| is_test_source(path))
        .filter_map(RelPath::parent)
        .collect();
    let (folder, (_, text)) =
        packages.iter().find(|(folder, _)| tested.contains(*folder)).or_else(|| packages.iter().next())?;
    let package = package_of(text)?;
    let test = format!("Test_{name}");
    let path = folder.join(&format!("perspt{name}_test.go")).ok()?;
    let text = format!(
        "package {package}\n\nimport \"testing\"\n\nfunc {test}(t *testing.T) {{\n\tt.Fatal(\"planted by perspt\")\n}}\n"
    );
    Some(Plant {
        what: format!("a failing test in {path}"),
        writes: BTreeMap::from([(path, text)]),
        expect: Expect::TestFails(test),
    })
}

/// The name in a file's package clause.
fn package_of(text: &str) -> Option<&str> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with("package "))?;
    line.split_whitespace().nth(1).map(|name| name.trim_end_matches(';'))
}
