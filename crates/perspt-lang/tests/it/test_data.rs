//! Data that tests compare with, in both languages.

use perspt_core::plan::TaskType;
use perspt_core::reading::StageKind;
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

#[test]
fn a_project_that_is_data_for_tests_is_no_root_of_its_own() {
    let names = ["pyproject.toml", "Cargo.toml"];
    for (plugin, project, ending) in projects() {
        let manifest = names[usize::from(ending == "rs")];
        let text = "[package]\nname = \"inner\"\nversion = \"0.1.0\"\n";
        let roots = |files: &Map| -> Vec<String> {
            plugin.roots(files).iter().map(|root| root.dir.as_str().to_owned()).collect()
        };
        for folder in
            ["tests/fixtures/proj", "tests/data/x", "golden/x", "expected/a/b", "test_data", "snapshots/x"]
        {
            let files =
                project.with(&format!("{folder}/{manifest}"), text).with(&format!("{folder}/a.{ending}"), "");
            assert_eq!(roots(&files), [""], "{folder}");
        }
        for folder in ["inner", "snapshots"] {
            let files =
                project.with(&format!("{folder}/{manifest}"), text).with(&format!("{folder}/a.{ending}"), "");
            assert_eq!(roots(&files), ["", folder], "a project of its own");
        }
        let alone =
            Map::of(&[(&format!("golden/x/{manifest}"), text), (&format!("golden/x/a.{ending}"), "")]);
        assert_eq!(roots(&alone), ["golden/x"], "nothing lies above it");
    }
    let text = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n";
    let member =
        Map::of(&[("Cargo.toml", "[workspace]\nmembers = [\"golden/a\"]\n"), ("golden/a/Cargo.toml", text)]);
    let roots = plugin("rust").unwrap().roots(&member);
    assert_eq!((roots.len(), roots[0].packages.len()), (1, 1), "what the workspace names is no data");
}

#[test]
fn a_failing_test_is_planted_where_tests_run_and_not_among_their_data() {
    let python = plugin("python").unwrap();
    for (data, settings) in [
        ("tests/fixtures/proj/test_p.py", ""),
        ("tests/data/test_p.py", ""),
        ("tests/examples/test_p.py", "[pytest]\nnorecursedirs = examples\n"),
    ] {
        let files = Map::of(&[
            ("pytest.ini", settings),
            ("demo.py", "x = 1\n"),
            ("tests/test_z.py", "def test_z(): pass\n"),
            (data, "def test_p(): assert False\n"),
        ]);
        let plants = python.plants(StageKind::Test, &python.roots(&files)[0], &files);
        assert_eq!(plants[0].what, "a failing test in tests/test_perspt_planted.py", "{data}");
    }
}
