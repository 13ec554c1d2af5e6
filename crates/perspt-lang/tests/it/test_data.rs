//! Data that tests compare with, in both languages.

use perspt_core::plan::TaskType;
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, charged, node, touched};

/// Both plugins, each with a project of its own and the ending of its sources.
fn projects() -> [(&'static dyn Plugin, Map, &'static str); 2] {
    let rust = [("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n"), ("src/lib.rs", "")];
    let python = [("pyproject.toml", "[project]\nname = \"demo\"\n"), ("demo.py", "x = 1\n")];
    [(plugin("rust").unwrap(), Map::of(&rust), "rs"), (plugin("python").unwrap(), Map::of(&python), "py")]
}

#[test]
fn what_tests_compare_with_is_theirs_wherever_it_lies() {
    let folders = [
        "testdata",
        "test_data",
        "test-data",
        "fixtures",
        "golden",
        "goldens",
        "snapshots",
        "__snapshots__",
        "expected",
        "expected_output",
        "expectations",
        "__golden__",
        "approved",
    ];
    for (plugin, project, _) in projects() {
        for folder in folders {
            for name in [format!("{folder}/a.json"), format!("src/demo/{folder}/deep/a.txt")] {
                let base = project.with(&name, "1\n");
                let charge =
                    |candidate: &Map, kind: TaskType| touched(plugin, &base, candidate, &node(kind, &[]), "");
                let changed = charge(&base.with(&name, "2\n"), TaskType::Code);
                assert_eq!(charged(&changed), [format!("test-changed {name}")]);
                let gone = charge(&base.without(&name), TaskType::Code);
                assert_eq!(charged(&gone), [format!("test-deleted {name}")]);
                let shown = charge(&base.with(&name, "2\n"), TaskType::UnitTest);
                assert_eq!((charged(&shown), shown[0].class.as_str()), (vec![], "test-changed"));
            }
            let new = project.with(&format!("{folder}/new.json"), "1\n");
            let added = touched(plugin, &project, &new, &node(TaskType::Code, &[]), "");
            assert_eq!(charged(&added), [] as [String; 0]);
        }
    }
}

#[test]
fn a_source_below_a_folder_of_data_is_data_unless_it_may_be_a_module() {
    for (plugin, project, ending) in projects() {
        for (folder, is_data) in [
            ("testdata", true),
            ("golden", true),
            ("fixtures", false),
            ("snapshots", false),
            ("expected", false),
            ("expected_output", true),
        ] {
            let name = format!("src/{folder}/case.{ending}");
            let base = project.with(&name, "");
            let candidate = base.with(&name, "\n");
            let found = charged(&touched(plugin, &base, &candidate, &node(TaskType::Code, &[]), ""));
            assert_eq!(found.len(), usize::from(is_data), "{name}: {found:?}");
        }
    }
}
