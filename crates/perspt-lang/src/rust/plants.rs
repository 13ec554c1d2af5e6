//! Deliberate breaks that cargo must see.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::{lint, manifest};
use crate::plugin::{Expect, Files, Plant};

const TYPE_ERROR: &str = "\nconst PERSPT_PLANT: u32 = \"not a number\";\n";

/// Refused at the item, whatever the crate allows.
const LINT_ERROR: &str =
    "\n#[allow(dead_code)]\n#[deny(clippy::eq_op)]\nfn perspt_planted(x: u32) -> bool {\n    x == x\n}\n";

/// The plants of a stage; empty where no package has a source yet.
pub(crate) fn plants(stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
    match stage {
        StageKind::Build => {
            everywhere(root, files, TYPE_ERROR, "a type error", Expect::Red).into_iter().collect()
        }
        StageKind::Test => failing_test(root, files, name).into_iter().collect(),
        StageKind::Lint => {
            let refused = everywhere(root, files, LINT_ERROR, "a comparison with itself", Expect::Red);
            let messy = (!lint::is_unformatted(root, files)).then(|| unformatted(root, files, name));
            refused.into_iter().chain(messy.flatten()).collect()
        }
        StageKind::Structure | StageKind::Syntax | StageKind::Type => Vec::new(),
    }
}

/// The same text at the end of every package's root sources.
fn everywhere(root: &Root, files: &dyn Files, text: &str, what: &str, expect: Expect) -> Option<Plant> {
    let mut writes = BTreeMap::new();
    for package in &root.packages {
        let Some(manifest) = manifest::of(files, package) else { continue };
        for source in manifest::root_sources(files, package, &manifest) {
            let Some(before) = files.text(&source) else { continue };
            writes.insert(source, format!("{before}{text}"));
        }
    }
    let places: Vec<&str> = writes.keys().map(RelPath::as_str).collect();
    let what = format!("{what} in {}", places.join(", "));
    (!writes.is_empty()).then_some(Plant { what, writes, expect })
}

/// A file of its own that is not formatted, or the end of a root source where no such file is looked for. A source that
/// was not formatted before would hide it.
fn unformatted(root: &Root, files: &dyn Files, name: &str) -> Option<Plant> {
    const MESSY: &str = "const  _: () =  ();\n";
    let place = |package: &RelPath| {
        let manifest = manifest::of(files, package)?;
        let source = manifest::root_sources(files, package, &manifest).into_iter().next()?;
        Some(if manifest["package"]["autotests"] == false {
            let before = files.text(&source)?;
            (source, format!("{before}\n{MESSY}"))
        } else {
            (package.join(&format!("tests/{name}.rs")).ok()?, MESSY.to_owned())
        })
    };
    let (path, text) = root.packages.iter().find_map(place)?;
    let what = format!("a line in {path} that is not formatted");
    Some(Plant { what, writes: BTreeMap::from([(path, text)]), expect: Expect::Finding })
}

/// A test that fails: a file of its own below `tests/`, or at the end of a root source where the package
/// does not look for such files.
fn failing_test(root: &Root, files: &dyn Files, name: &str) -> Option<Plant> {
    root.packages.iter().find_map(|package| {
        let manifest = manifest::of(files, package)?;
        let source = manifest::root_sources(files, package, &manifest).into_iter().next()?;
        let body = format!("#[test]\nfn {name}() {{\n    panic!(\"planted by perspt\");\n}}\n");
        let (path, text) = if manifest["package"]["autotests"] == false {
            let before = files.text(&source)?;
            (source, format!("{before}\n#[cfg(test)]\nmod planted_{name} {{\n{body}}}\n"))
        } else {
            (package.join(&format!("tests/{name}.rs")).ok()?, body)
        };
        Some(Plant {
            what: format!("a failing test in {path}"),
            writes: BTreeMap::from([(path, text)]),
            expect: Expect::TestFails(name.to_owned()),
        })
    })
}
