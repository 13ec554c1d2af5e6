//! What a node may write: its own files, what it declared, and a few new files beside its own.

use perspt_agent::apply::{FileAction, WriteScope};
use perspt_agent::plan::read_plan;
use perspt_core::event::{DiffNote, RootRef};
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, NodeId, TreeId};
use perspt_core::path::RelPath;
use perspt_core::plan::OpenScope;
use perspt_core::reading::PluginName;
use perspt_core::state::{Candidate, Found, Node, SessionState};
use perspt_lang::plugin::{Files, Plugin};
use serde_json::{Value, json};

use crate::support::{Memory, path};

const TREE: &[(&str, &str)] = &[
    ("pyproject.toml", ""),
    ("calc/__init__.py", ""),
    ("calc/core.py", ""),
    ("calc/data.json", ""),
    ("tests/test_calc.py", ""),
    ("README.md", ""),
    ("rs/Cargo.toml", ""),
    ("rs/src/lib.rs", ""),
];

fn root(dir: &str, plugin: &str) -> RootRef {
    let dir = if dir.is_empty() { RelPath::root() } else { path(dir) };
    RootRef { dir, plugin: PluginName(plugin.to_owned()) }
}

/// The session of a task in a Python project with a crate in a folder of its own; another task owns `calc/theirs.py`.
fn session(task: Value, roots: Vec<RootRef>, open: bool) -> SessionState {
    let other = json!({"id": "other", "goal": "g", "output_files": ["calc/theirs.py"]});
    let plan = read_plan(&json!([task, other]).to_string()).unwrap().plan;
    let mut state = SessionState::default();
    let id = TreeId(Sha::of(b"t"));
    let base = perspt_core::effect::TreeRef { id, manifest: BlobId::of(b"t") };
    state.found = Some(Found {
        base,
        files: 0,
        repo_mode: perspt_core::event::RepoMode::Existing,
        roots: vec![root("", "python"), root("rs", "rust")],
        since: None,
    });
    for mut spec in plan.nodes {
        if open {
            spec.scope = OpenScope::Open;
        }
        state.nodes.insert(spec.id.clone(), Node::new(spec, roots.clone()));
    }
    state
}

fn look<T>(state: &SessionState, tree: &[(&str, &str)], look: impl Fn(&WriteScope<'_>) -> T) -> T {
    let files = Memory::new(tree);
    let node = &state.nodes[&NodeId::from("one")];
    let known = |name: &str| node.roots.iter().any(|root| root.plugin.0 == name);
    let plugins: Vec<&dyn Plugin> = perspt_lang::plugins()
        .iter()
        .filter(|plugin| known(plugin.name()))
        .map(|plugin| *plugin as &dyn Plugin)
        .collect();
    look(&WriteScope::new(state, node, files.tree(), plugins))
}

#[derive(Debug, PartialEq)]
enum Say {
    Own,
    Widens,
    No,
}

fn write(state: &SessionState, file: &str) -> Say {
    look(state, TREE, |scope| match scope.check(&path(file), FileAction::Write) {
        Ok(()) if scope.widened() == [path(file)] => Say::Widens,
        Ok(()) => Say::Own,
        Err(_) => Say::No,
    })
}

fn python() -> Vec<RootRef> {
    vec![root("", "python")]
}

#[test]
fn a_new_file_beside_its_own_widens_the_scope_of_a_node() {
    let task = json!({"id": "one", "goal": "g", "output_files": ["calc/core.py"], "modifies": ["tests/test_calc.py"]});
    let state = session(task, python(), false);
    let table = [
        ("calc/core.py", Say::Own),
        ("tests/test_calc.py", Say::Own),
        ("calc/__init__.py", Say::Own),
        ("calc/helper.py", Say::Widens),
        ("calc/deep/data.json", Say::Widens),
        ("tests/test_more.py", Say::Widens),
        ("docs/guide.md", Say::Widens),
        ("CHANGES.rst", Say::Widens),
        ("calc/.gitignore", Say::Widens),
        ("calc/data.json", Say::No),
        ("README.md", Say::No),
        ("calc/theirs.py", Say::No),
        ("other/x.py", Say::No),
        ("rs/NOTES.md", Say::No),
        ("calc/CMakeLists.txt", Say::No),
        ("calc/Cargo.toml", Say::No),
        ("calc/uv.lock", Say::No),
        ("calc/package.json", Say::No),
        ("calc/yarn.lock", Say::No),
        ("calc/conftest.py", Say::No),
        ("tests/pytest.ini", Say::No),
        ("calc/build.rs", Say::No),
        ("calc/.env", Say::No),
        ("calc/server.pem", Say::No),
        ("calc/.github/workflows/ci.yml", Say::No),
        (".github/notes.md", Say::No),
        (".gitlab-ci.yml", Say::No),
        ("calc/.circleci/config.yml", Say::No),
        ("calc/Jenkinsfile", Say::No),
        ("calc/hooks/pre-commit", Say::No),
        ("calc/.husky/pre-push", Say::No),
    ];
    for (file, said) in table {
        assert_eq!(write(&state, file), said, "{file}");
    }
}

#[test]
fn beside_a_node_of_the_inner_root_lies_its_folder_alone() {
    let task = json!({"id": "one", "goal": "g", "output_files": ["rs/src/a.rs"]});
    let state = session(task, vec![root("rs", "rust")], false);
    assert_eq!(write(&state, "rs/src/b.rs"), Say::Widens);
    assert_eq!(write(&state, "rs/b.rs"), Say::No);
    assert_eq!(write(&state, "GUIDE.md"), Say::No, "it lies in another root");
    let task = json!({"id": "one", "goal": "g", "output_files": ["setup.py"]});
    assert_eq!(write(&session(task, python(), false), "rs/src/b.rs"), Say::No);
}

#[test]
fn five_new_files_are_the_most_and_they_may_be_touched_again() {
    let task = json!({"id": "one", "goal": "g", "output_files": ["calc/core.py"]});
    look(&session(task, python(), false), TREE, |scope| {
        let file = |n: usize| path(&format!("calc/f{n}.py"));
        assert!((0..5).all(|n| scope.check(&file(n), FileAction::Write).is_ok()));
        let refusal = scope.check(&file(5), FileAction::Write).unwrap_err();
        assert!(refusal.contains("5 new files beside them are the most"), "{refusal}");
        assert!(
            scope.check(&file(0), FileAction::Write).is_ok()
                && scope.check(&file(0), FileAction::Remove).is_ok()
        );
        assert_eq!(scope.widened(), (0..5).map(file).collect::<Vec<_>>());
    });
}

#[test]
fn a_file_of_the_answer_before_is_still_new() {
    let task = json!({"id": "one", "goal": "g", "output_files": ["calc/core.py"]});
    let mut state = session(task, python(), false);
    let tree: Vec<(&str, &str)> = TREE.iter().copied().chain([("calc/helper.py", "")]).collect();
    let check = |state: &SessionState| {
        look(state, &tree, |scope| scope.check(&path("calc/helper.py"), FileAction::Write).is_ok())
    };
    assert!(!check(&state));
    let base = state.found.as_ref().unwrap().base;
    let diff = DiffNote { create: vec![path("calc/helper.py")], ..DiffNote::default() };
    let branch = perspt_core::effect::Branch { base, changes: None, tree: base.id };
    let best = Candidate::new(branch, diff);
    state.nodes.get_mut(&NodeId::from("one")).unwrap().best = Some(best);
    assert!(check(&state));
}

#[test]
fn declared_tests_are_the_nodes_to_change_and_no_others() {
    let declares = json!([
        {"path": "tests/test_calc.py", "test": "test_add", "change": "move", "to": "tests/unit/test_add.py"},
        {"path": "tests/pytest.ini"},
    ]);
    let task = json!({"id": "one", "goal": "g", "output_files": ["calc/core.py"], "changes_tests": declares});
    let state = session(task, python(), false);
    for file in ["tests/test_calc.py", "tests/pytest.ini", "tests/unit/test_add.py"] {
        assert_eq!(write(&state, file), Say::Own, "{file}");
    }
    assert_eq!(write(&state, "tests/test_other.py"), Say::No);
}

#[test]
fn an_open_node_writes_sources_tests_and_prose() {
    let state = session(json!({"id": "one", "goal": "g"}), python(), true);
    let table = [
        ("calc/core.py", Say::Own),
        ("calc/new.py", Say::Own),
        ("pyproject.toml", Say::Own),
        ("tests/test_new.py", Say::Own),
        ("README.md", Say::Own),
        ("static/page.html", Say::Widens),
        ("tests/test_calc.py", Say::Own),
        ("calc/data.json", Say::No),
        ("rs/src/lib.rs", Say::No),
        (".github/workflows/ci.yml", Say::No),
        ("notes.pem", Say::No),
    ];
    for (file, said) in table {
        assert_eq!(write(&state, file), said, "{file}");
    }
}

#[test]
fn a_node_that_is_the_whole_task_writes_what_the_task_is_about() {
    let mut state = session(json!({"id": "one", "goal": "g"}), python(), true);
    let task = "mend `.github/workflows/ci.yml`, and notes.pem.".to_owned();
    let (id, folder) = ("s".into(), "/w".to_owned());
    state.meta = Some(perspt_core::event::SessionStarted::new(id, folder, task, "m".to_owned()));
    for node in state.nodes.values_mut() {
        node.solo = true;
    }
    for file in ["calc/data.json", "rs/src/lib.rs", "tests/test_calc.py", ".github/workflows/ci.yml"] {
        assert_eq!(write(&state, file), Say::Own, "{file}");
    }
    for file in [".github/workflows/release.yml", "notes.pem", "calc/theirs.py"] {
        assert_eq!(write(&state, file), Say::No, "{file}");
    }
}

#[test]
fn where_no_language_knows_the_folder_an_open_node_writes_its_files() {
    let mut state = session(json!({"id": "one", "goal": "g"}), vec![], true);
    state.found.as_mut().unwrap().roots.clear();
    for file in ["notes/monday.md", "deploy.sh", "calc/data.json"] {
        assert_eq!(write(&state, file), Say::Own, "{file}");
    }
    for file in [".github/workflows/ci.yml", "id_rsa", "Cargo.lock"] {
        assert_eq!(write(&state, file), Say::No, "{file}");
    }
}
