//! A plan is put right where it can be, with a note; what cannot be carried out has a sentence the architect can act on.

use perspt_agent::plan::{ProjectFacts, RootedNode, Settled, assign_roots, fallback, read_plan, settle};
use perspt_core::consent::TestChange;
use perspt_core::event::{ParseState, RepoMode};
use perspt_core::path::RelPath;
use perspt_core::plan::{NodeClass, OpenScope, Plan, PlanNode, TaskType};
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::path_rules::PathRules;
use serde_json::{Value, json};

use crate::support::{Memory, path};

fn with_project<T>(files: &Memory, repo_mode: RepoMode, look: impl Fn(&ProjectFacts<'_>) -> T) -> T {
    let path_rules = PathRules::new(files.tree(), &[], "");
    let plugins: Vec<&dyn Plugin> =
        perspt_lang::plugins().iter().map(|plugin| *plugin as &dyn Plugin).collect();
    let mut roots: Vec<Root> = plugins.iter().flat_map(|plugin| plugin.roots(files)).collect();
    if repo_mode == RepoMode::Greenfield {
        let dir = RelPath::root();
        let plugin = PluginName("python".to_owned());
        roots = vec![Root { packages: vec![dir.clone()], dir, plugin, has_tests: false }];
    }
    look(&ProjectFacts {
        tree: files.tree(),
        path_rules: &path_rules,
        repo_mode,
        roots: &roots,
        plugins: &plugins,
    })
}

fn settled_in(files: &Memory, repo_mode: RepoMode, tasks: Value) -> Result<Settled, Vec<String>> {
    let read = read_plan(&json!({ "tasks": tasks }).to_string()).map_err(|(_, faults)| faults)?;
    let mut settled = with_project(files, repo_mode, |project| settle(read.plan.clone(), project))?;
    settled.notes.splice(0..0, read.notes);
    Ok(settled)
}

fn project() -> Memory {
    Memory::new(&[
        ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\n"),
        ("calc/__init__.py", "def add(a, b):\n    return a + b\n"),
        ("tests/test_calc.py", "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n"),
    ])
}

/// A cargo workspace of two members beside a Python project.
fn two_roots() -> Memory {
    Memory::new(&[
        ("rs/Cargo.toml", "[workspace]\nmembers = [\"core\", \"app\"]\n"),
        ("rs/core/Cargo.toml", "[package]\nname = \"core\"\nversion = \"0.1.0\"\n"),
        ("rs/core/src/lib.rs", "#[test]\nfn t() {}\n"),
        ("rs/app/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\n"),
        ("rs/app/src/lib.rs", ""),
        ("py/pyproject.toml", "[project]\nname = \"p\"\n"),
        ("py/test_p.py", "def test_p():\n    pass\n"),
    ])
}

fn notes() -> Memory {
    Memory::new(&[("notes/monday.md", "milk\n"), ("deploy.sh", "true\n")])
}

fn task(id: &str, files: &[&str]) -> Value {
    json!({"id": id, "goal": "g", "output_files": files})
}

/// A task with more words to it.
fn with(mut task: Value, words: Value) -> Value {
    let Value::Object(words) = words else { panic!("not an object") };
    task.as_object_mut().unwrap().extend(words);
    task
}

#[track_caller]
fn refused(tasks: Value, why: &str) {
    let faults = settled_in(&project(), RepoMode::Existing, tasks).unwrap_err();
    assert!(faults.iter().any(|fault| fault.contains(why)), "no `{why}` in {faults:?}");
}

/// The plan, put right with this note and no other.
#[track_caller]
fn mended(tasks: Value, note: &str) -> Plan {
    let Settled { plan, notes } = settled_in(&project(), RepoMode::Existing, tasks).unwrap();
    assert!(notes.len() == 1 && notes[0].contains(note), "not `{note}` alone: {notes:?}");
    plan
}

fn node<'a>(plan: &'a Plan, id: &str) -> &'a PlanNode {
    plan.nodes.iter().find(|node| node.id.as_str() == id).unwrap()
}

fn after(plan: &Plan, id: &str) -> Vec<String> {
    node(plan, id).dependencies.iter().map(|id| id.to_string()).collect()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.nodes.iter().map(|node| node.id.as_str()).collect()
}

#[test]
fn a_good_plan_is_left_as_it_is() {
    let second = with(
        task("b", &["calc/b.py"]),
        json!({"dependencies": ["a"], "context_files": ["calc/a.py", "calc/__init__.py"]}),
    );
    let tasks = json!([task("a", &["calc/a.py"]), second]);
    let read = read_plan(&json!({ "tasks": tasks }).to_string()).unwrap();
    let settled = settled_in(&project(), RepoMode::Existing, tasks).unwrap();
    assert_eq!(settled, Settled { plan: read.plan, notes: vec![] });
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let many: Vec<String> = (0..21).map(|n| format!("calc/f{n}.py")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let long: Vec<String> = (0..20).map(|n| format!("calc/{}{n}.py", "x".repeat(200))).collect();
    let long = with(
        task("a", &long.iter().map(String::as_str).collect::<Vec<_>>()),
        json!({"goal": "é".repeat(1000), "leaves_red": vec!["t".repeat(200); 1], "changes_tests": (0..10).map(|n| json!({"path": "tests/test_calc.py", "test": format!("t{n}"), "why": "w".repeat(300)})).collect::<Vec<_>>()}),
    );
    let tasks: Vec<Value> = (0..41).map(|n| task(&format!("t{n}"), &[&format!("calc/f{n}.py")])).collect();
    let table = [
        (json!([]), "the plan is empty"),
        (json!([with(task("a", &[]), json!({"task_type": "command"}))]), "the plan is empty"),
        (json!([task("a", &["../x.py"])]), "outside the workspace"),
        (json!([task("a", &["/etc/x.py"])]), "absolute path"),
        (json!([task("a", &[".git/config"])]), "version control"),
        (json!([task("a", &["calc\\a.py"])]), "backslash"),
        (json!([task("a", &many)]), "touches 21 files"),
        (json!([long]), "bytes; 8000 is the most"),
        (json!(tasks), "41 tasks"),
        (json!(["write it"]), "task 1 is not an object"),
    ];
    for (tasks, why) in table {
        refused(tasks, why);
    }
}

#[test]
fn nothing_asks_for_tests_or_a_manifest_or_looks_at_the_label() {
    let bare = Memory::new(&[("c.py", "X = 1\n")]);
    let empty = Memory::new(&[]);
    for kind in ["code", "unit_test", "integration_test", "refactor", "documentation", "command"] {
        for (files, mode) in [(&bare, RepoMode::Existing), (&empty, RepoMode::Greenfield)] {
            let tasks = json!([with(task("a", &["d.py"]), json!({"task_type": kind}))]);
            let settled = settled_in(files, mode, tasks).unwrap();
            assert_eq!(settled.notes, Vec::<String>::new(), "{kind}");
        }
    }
    let tests = json!([with(task("a", &["test_x.py"]), json!({"task_type": "unit_test"}))]);
    assert!(settled_in(&empty, RepoMode::Greenfield, tests).unwrap().notes.is_empty());
}

#[test]
fn ids_become_slugs_and_references_follow() {
    let second = with(task("b", &["calc/b.py"]), json!({"dependencies": ["Add It!"]}));
    let plan = mended(json!([task("Add It!", &["calc/a.py"]), second]), "`Add It!` is written `add-it`");
    assert_eq!((ids(&plan), after(&plan, "b")), (vec!["add-it", "b"], vec!["add-it".to_owned()]));
    let plan = mended(json!([task("-", &["calc/a.py"])]), "is written `task-1`");
    assert_eq!(ids(&plan), ["task-1"]);
    let plan = mended(json!([task(&"x".repeat(90), &["calc/a.py"])]), "is written");
    assert_eq!(plan.nodes[0].id.as_str().len(), 64);
}

#[test]
fn goals_and_contracts_that_are_too_long_are_cut() {
    let plan = mended(
        json!([with(task("a", &["calc/a.py"]), json!({"goal": "é".repeat(1200)}))]),
        "its goal is cut",
    );
    assert_eq!(plan.nodes[0].goal.chars().count(), 1000);
    let contract = json!({"contract": {"invariants": vec!["x".repeat(500); 20]}});
    let plan = mended(json!([with(task("a", &["calc/a.py"]), contract)]), "its contract is too long");
    assert_eq!(plan.nodes[0].contract, Default::default());
    let plan = mended(json!([{"id": "do-it", "output_files": ["calc/a.py"]}]), "has no goal");
    assert_eq!(plan.nodes[0].goal, "do-it");
    let plan = mended(json!([{"goal": "do it", "output_files": ["calc/a.py"]}]), "has no id");
    assert_eq!(ids(&plan), ["task-1"]);
}

#[test]
fn of_two_tasks_with_one_file_the_first_to_be_worked_on_owns_it() {
    let plan = mended(
        json!([task("a", &["calc/x.py"]), task("b", &["calc/x.py", "calc/b.py"])]),
        "`calc/x.py` stands in two tasks: `a` owns it",
    );
    let b = node(&plan, "b");
    assert_eq!((&b.output_files, &b.modifies), (&vec![path("calc/b.py")], &vec![path("calc/x.py")]));
    assert_eq!((b.node_class, after(&plan, "b")), (NodeClass::Integration, vec!["a".to_owned()]));
    let early = with(task("a", &["calc/x.py"]), json!({"dependencies": ["b"]}));
    let plan = mended(json!([early, task("b", &["calc/x.py"])]), "`b` owns it");
    assert_eq!((after(&plan, "a"), after(&plan, "b")), (vec!["b".to_owned()], vec![]));
}

#[test]
fn tasks_that_change_the_same_file_do_so_one_after_another() {
    let modifies = json!({"modifies": ["calc/__init__.py"], "node_class": "integration"});
    let tasks =
        json!([with(task("a", &["calc/a.py"]), modifies.clone()), with(task("b", &["calc/b.py"]), modifies)]);
    let plan = mended(tasks, "`b` waits for `a`: both write `calc/__init__.py`");
    assert_eq!(after(&plan, "b"), ["a"]);
    let declares = json!({"changes_tests": ["tests/test_calc.py::test_add"]});
    let tasks = json!([
        with(task("a", &["calc/a.py"]), declares.clone()),
        with(task("b", &["calc/b.py"]), declares.clone())
    ]);
    assert_eq!(after(&mended(tasks, "both write `tests/test_calc.py`"), "b"), ["a"]);
    let tasks = json!([task("a", &["tests/test_calc.py"]), with(task("b", &["calc/b.py"]), declares)]);
    let plan = mended(tasks, "`a` owns it");
    assert_eq!(node(&plan, "b").modifies, [path("tests/test_calc.py")]);
}

#[test]
fn modifies_is_tidied() {
    let own = with(task("a", &["calc/a.py"]), json!({"modifies": ["calc/a.py"]}));
    assert_eq!(node(&mended(json!([own]), "is its own file"), "a").node_class, NodeClass::Implementation);
    let foreign = with(task("a", &["calc/a.py"]), json!({"modifies": ["calc/__init__.py"]}));
    assert_eq!(
        node(&mended(json!([foreign]), "is an integration task"), "a").node_class,
        NodeClass::Integration
    );
    let new = with(task("a", &[]), json!({"modifies": ["calc/new.py"]}));
    assert_eq!(node(&mended(json!([new]), "is not there yet"), "a").output_files, [path("calc/new.py")]);
    let later =
        with(task("b", &["calc/b.py"]), json!({"modifies": ["calc/x.py"], "node_class": "integration"}));
    let plan = mended(json!([later, task("a", &["calc/x.py"])]), "`b` waits for `a`: it changes `calc/x.py`");
    assert_eq!(after(&plan, "b"), ["a"]);
}

#[test]
fn an_edge_that_would_close_a_cycle_is_left_out() {
    let first = with(task("a", &["calc/a.py"]), json!({"context_files": ["calc/b.py"]}));
    let second = with(task("b", &["calc/b.py"]), json!({"dependencies": ["a"]}));
    let plan = mended(json!([first, second]), "`a` does not wait for `b`");
    assert_eq!((after(&plan, "a"), &node(&plan, "a").context_files), (vec![], &vec![]));
    let first =
        with(task("a", &["calc/a.py"]), json!({"modifies": ["calc/b.py"], "node_class": "integration"}));
    let second = with(task("b", &["calc/b.py"]), json!({"dependencies": ["a"]}));
    assert_eq!(
        after(&mended(json!([first, second]), "`a` does not wait for `b`"), "a"),
        Vec::<String>::new()
    );
}

#[test]
fn unknown_edges_cycles_and_ids_used_twice_are_put_right() {
    let on = |id: &str, on: &str| with(task(id, &[&format!("calc/{id}.py")]), json!({"dependencies": [on]}));
    let plan = mended(json!([task("c", &["calc/c.py"]), on("a", "z")]), "`z` is not in the plan");
    assert_eq!(after(&plan, "a"), Vec::<String>::new());
    let plan = mended(json!([on("a", "b"), on("b", "c"), on("c", "a")]), "`c` does not wait for `a`");
    assert_eq!(
        (after(&plan, "a"), after(&plan, "b"), after(&plan, "c").len()),
        (vec!["b".to_owned()], vec!["c".to_owned()], 0)
    );
    let twice = json!([task("a", &["calc/a.py"]), task("a", &["calc/x.py"]), on("b", "a")]);
    let plan = mended(twice, "`a` is used twice: the later one is `a-2`");
    assert_eq!((after(&plan, "b"), node(&plan, "a-2").output_files.len()), (vec!["a".to_owned()], 1));
    let alike = json!([task("a-2", &["calc/a.py"]), task("a", &["calc/x.py"]), task("a", &["calc/y.py"])]);
    let plan = mended(alike, "`a` is used twice: the later one is `a-3`");
    let ids: Vec<&str> = plan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["a-2", "a", "a-3"]);
}

#[test]
fn a_dependency_that_is_a_file_means_its_owner_or_nothing() {
    let on = |file: &str| with(task("b", &["calc/b.py"]), json!({"dependencies": [file]}));
    let plan = mended(json!([task("a", &["calc/a.py"]), on("calc/a.py")]), "it waits for its owner `a`");
    assert_eq!(after(&plan, "b"), ["a"]);
    for file in ["calc/__init__.py", "./calc/__init__.py", "calc/b.py", "calc"] {
        assert_eq!(after(&mended(json!([on(file)]), "is a file, not a task"), "b"), Vec::<String>::new());
    }
    assert_eq!(after(&mended(json!([on("b")]), "waits for itself"), "b"), Vec::<String>::new());
}

#[test]
fn files_of_two_domains_make_an_integration_task() {
    let class = |files: &[&str]| {
        let settled = settled_in(&two_roots(), RepoMode::Existing, json!([task("a", files)])).unwrap();
        assert!(settled.notes.iter().all(|note| note.contains("is an integration task: it writes")));
        node(&settled.plan, "a").node_class
    };
    assert_eq!(class(&["rs/core/src/a.rs", "py/a.py"]), NodeClass::Integration);
    assert_eq!(class(&["rs/core/src/a.rs", "rs/app/Cargo.toml"]), NodeClass::Integration);
    assert_eq!(class(&["rs/core/src/a.rs", "rs/Cargo.toml"]), NodeClass::Implementation);
}

#[test]
fn context_files_get_their_edges_and_must_exist() {
    let reads = |files: &[&str]| with(task("b", &["calc/b.py"]), json!({"context_files": files}));
    let plan =
        mended(json!([task("a", &["calc/a.py"]), reads(&["calc/a.py"])]), "`b` waits for `a`: it reads");
    assert_eq!(after(&plan, "b"), ["a"]);
    for missing in ["calc/none.py", "calc", "calc/", "/etc/passwd", "../x"] {
        let plan = mended(json!([reads(&[missing])]), "context file");
        assert_eq!(node(&plan, "b").context_files, []);
    }
    let many: Vec<String> = (0..25).map(|n| format!("f{n}.md")).collect();
    let texts: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x\n")).collect();
    let names: Vec<&str> = many.iter().map(String::as_str).collect();
    let settled = settled_in(&Memory::new(&texts), RepoMode::Existing, json!([reads(&names)])).unwrap();
    assert_eq!(node(&settled.plan, "b").context_files.len(), 20);
    assert!(settled.notes[0].contains("of 25 context files 20 are kept"));
}

#[test]
fn a_task_of_tests_waits_for_the_code_before_it_in_its_root() {
    let tasks = json!([
        task("rust", &["rs/core/src/a.rs"]),
        task("python", &["py/a.py"]),
        task("tests", &["py/test_a.py"]),
        task("late", &["py/b.py"])
    ]);
    let settled = settled_in(&two_roots(), RepoMode::Existing, tasks).unwrap();
    assert_eq!(after(&settled.plan, "tests"), ["python"]);
    assert_eq!(settled.notes, ["task `tests` waits for `python`: it tests what comes before it"]);
    let first = with(task("code", &["calc/a.py"]), json!({"dependencies": ["tests"]}));
    let tasks = json!([first, task("tests", &["tests/test_a.py"])]);
    let settled = settled_in(&project(), RepoMode::Existing, tasks).unwrap();
    assert_eq!((after(&settled.plan, "tests"), settled.notes), (vec![], vec![]));
}

#[test]
fn a_task_of_commands_alone_is_dropped_and_a_task_without_files_is_open() {
    let tasks = json!([
        task("a", &["calc/a.py"]),
        {"id": "run", "goal": "g", "task_type": "command", "dependencies": ["a"]},
        with(task("b", &["calc/b.py"]), json!({"dependencies": ["run"]}))
    ]);
    let plan = mended(tasks, "`run` only runs commands");
    assert_eq!((ids(&plan), after(&plan, "b")), (vec!["a", "b"], vec!["a".to_owned()]));
    let plan = mended(json!([{"id": "a", "goal": "g"}]), "lists no file");
    assert_eq!(plan.nodes[0].scope, OpenScope::Open);
}

#[test]
fn a_folder_is_left_out_and_alone_it_opens_the_scope() {
    for folder in ["calc/", "calc", "./calc/."] {
        let plan = mended(json!([task("a", &[folder, "calc/a.py"])]), "is a folder");
        assert_eq!(
            (&plan.nodes[0].output_files, plan.nodes[0].scope),
            (&vec![path("calc/a.py")], OpenScope::Listed)
        );
        let settled = settled_in(&project(), RepoMode::Existing, json!([task("a", &[folder])])).unwrap();
        assert_eq!(settled.plan.nodes[0].scope, OpenScope::Open, "{:?}", settled.notes);
    }
    let tasks = json!([task("a", &["new", "calc/a.py"]), task("b", &["new/x.py"])]);
    assert_eq!(mended(tasks, "`new` is a folder").nodes[0].output_files, [path("calc/a.py")]);
}

#[test]
fn labels_of_unknown_or_several_words_take_the_default() {
    for word in ["code | unit_test", "feature", ""] {
        let tasks = json!([with(task("a", &["calc/a.py"]), json!({"task_type": word}))]);
        assert_eq!(mended(tasks, "is no task_type").nodes[0].task_type, TaskType::Code);
    }
    let tasks = json!([with(task("a", &["calc/a.py"]), json!({"node_class": "core | leaf"}))]);
    assert_eq!(mended(tasks, "is no node_class").nodes[0].node_class, NodeClass::Implementation);
    let read = read_plan(&json!([with(task("a", &["a.py"]), json!({"task_type": "Unit-Test"}))]).to_string());
    assert_eq!(read.unwrap().plan.nodes[0].task_type, TaskType::UnitTest);
}

#[test]
fn null_and_unknown_words_say_nothing() {
    let bare = json!({"tasks": [task("a", &["calc/a.py"])]});
    let mut full = bare.clone();
    let words = "context_files modifies dependencies task_type node_class contract changes_tests leaves_red";
    for word in words.split(' ') {
        full["tasks"][0][word] = json!(null);
    }
    full["tasks"][0]["priority"] = json!("high");
    full["why"] = json!("because");
    assert_eq!(read_plan(&full.to_string()).unwrap(), read_plan(&bare.to_string()).unwrap());
}

#[test]
fn a_plan_in_another_shape_is_understood() {
    let tasks = json!([task("a", &["calc/a.py"])]);
    let plain = read_plan(&json!({ "tasks": tasks }).to_string()).unwrap().plan;
    let shapes = [
        tasks.to_string(),
        format!("```json\n{tasks}\n```"),
        format!("Here is the plan:\n{tasks}\nDone."),
        json!({"plan": {"tasks": tasks}}).to_string(),
        json!({ "plan": tasks }).to_string(),
        json!({ "nodes": tasks }).to_string(),
        tasks[0].to_string(),
    ];
    for shape in shapes {
        assert_eq!(read_plan(&shape).unwrap().plan, plain, "{shape}");
    }
    for (other, state) in [
        ("{\"answer\": 1}", ParseState::SchemaInvalid),
        ("[1, 2]", ParseState::SchemaInvalid),
        ("the list is []", ParseState::NoStructuredPayload),
        ("", ParseState::EmptyResponse),
    ] {
        assert_eq!(read_plan(other).unwrap_err().0, state, "{other}");
    }
}

#[test]
fn declared_tests_are_read_however_they_are_put() {
    let declares = |value: Value| {
        let tasks = json!([with(task("a", &["calc/a.py"]), json!({"changes_tests": value}))]);
        let read = read_plan(&json!({ "tasks": tasks }).to_string()).unwrap();
        let shown = |one: &perspt_core::consent::TestDeclaration| (one.subject(), one.change, one.to.clone());
        (read.plan.nodes[0].changes_tests.iter().map(shown).collect::<Vec<_>>(), read.notes.len())
    };
    let one = |subject: &str, change| (subject.to_owned(), change, None);
    let test = "tests/test_calc.py::test_add";
    let (update, remove) = (TestChange::Update, TestChange::Remove);
    let object = json!({"path": "tests/test_calc.py", "test": "test_add"});
    for (value, expected, notes) in [
        (json!([object]), vec![one(test, update)], 0),
        (object.clone(), vec![one(test, update)], 0),
        (json!(test), vec![one(test, update)], 0),
        (json!(["tests/test_calc.py", null]), vec![one("tests/test_calc.py", update)], 0),
        (json!([{"path": test, "change": "Remove", "why": null}]), vec![one(test, remove)], 0),
        (json!([{"test": test, "change": "delete it"}]), vec![one(test, update)], 1),
        (
            json!([{"file": "tests/test_calc.py", "test": ["a", "b"]}]),
            vec![one("tests/test_calc.py::a", update), one("tests/test_calc.py::b", update)],
            0,
        ),
        (json!(["../x.py", "tests/", {"test": "test_add"}, true]), vec![], 4),
    ] {
        assert_eq!(declares(value.clone()), (expected, notes), "{value}");
    }
    let moved = json!([{"path": "tests/test_calc.py", "change": "move", "to": "tests/unit/test_calc.py"}]);
    assert_eq!(declares(moved).0[0].2.as_deref(), Some("tests/unit/test_calc.py"));
    let red = with(task("a", &["calc/a.py"]), json!({"leaves_red": ["t", {"test": "u"}, "t"]}));
    assert_eq!(read_plan(&json!([red]).to_string()).unwrap().plan.nodes[0].leaves_red, ["t", "u"]);
}

#[test]
fn a_declared_test_needs_no_output_and_one_that_is_not_there_is_new() {
    let only = json!([with(task("a", &[]), json!({"changes_tests": ["tests/test_calc.py"]}))]);
    let settled = settled_in(&project(), RepoMode::Existing, only).unwrap();
    assert_eq!((settled.plan.nodes[0].scope, settled.notes), (OpenScope::Listed, vec![]));
    let new = json!([with(task("a", &["calc/a.py"]), json!({"changes_tests": ["tests/test_new.py"]}))]);
    let plan = mended(new, "is not there yet");
    assert_eq!(plan.nodes[0].output_files, [path("calc/a.py"), path("tests/test_new.py")]);
    assert!(plan.nodes[0].changes_tests.is_empty());
    let name = json!([with(task("a", &["calc/a.py"]), json!({"changes_tests": ["test_add"]}))]);
    let plan = mended(name, "names no file");
    assert_eq!(
        (plan.nodes[0].output_files.len(), plan.nodes[0].changes_tests.len()),
        (1, 0),
        "the name of a test is no path"
    );
    refused(
        json!([with(task("a", &["calc/a.py"]), json!({"changes_tests": [".git/config"]}))]),
        "version control",
    );
}

fn in_roots(placed: &[RootedNode]) -> Vec<String> {
    let roots =
        |one: &RootedNode| one.roots.iter().map(|root| root.dir.to_string()).collect::<Vec<_>>().join(",");
    placed.iter().map(|one| format!("{} in {}", one.node.id, roots(one))).collect()
}

#[test]
fn the_fallback_graph_is_one_node_in_every_root() {
    let graph = |files: &Memory, mode| with_project(files, mode, |project| fallback("do it", project));
    let names = |files: &Memory, mode| {
        assert_eq!(graph(files, mode), graph(files, mode));
        in_roots(&graph(files, mode))
    };
    assert_eq!(names(&project(), RepoMode::Existing), ["implementation in ."]);
    assert_eq!(names(&two_roots(), RepoMode::Existing), ["implementation in rs,py"]);
    assert_eq!(names(&notes(), RepoMode::Existing), ["implementation in "]);
    let empty = Memory::new(&[]);
    assert_eq!(names(&empty, RepoMode::Greenfield), ["implementation in ."]);
    let greenfield = graph(&empty, RepoMode::Greenfield);
    assert_eq!(greenfield[0].node.output_files, [path("pyproject.toml")]);
    for one in graph(&two_roots(), RepoMode::Existing).iter().chain(&greenfield) {
        assert_eq!(one.node.scope, OpenScope::Open);
        assert!(!one.node.goal.contains("without"));
    }
}

#[test]
fn a_node_is_verified_in_the_roots_of_its_files() {
    let tasks = json!([
        task("py", &["py/a.py"]),
        with(task("declared", &[]), json!({"changes_tests": ["py/test_p.py"]})),
        {"id": "open", "goal": "g"}
    ]);
    let settled = settled_in(&two_roots(), RepoMode::Existing, tasks).unwrap();
    let placed =
        with_project(&two_roots(), RepoMode::Existing, |project| assign_roots(settled.plan.clone(), project));
    assert_eq!(in_roots(&placed), ["py in py", "declared in py", "open in rs,py"]);
    let empty = Memory::new(&[]);
    let roots = |files: &[&str]| {
        let settled = settled_in(&empty, RepoMode::Greenfield, json!([task("a", files)])).unwrap();
        in_roots(&with_project(&empty, RepoMode::Greenfield, |project| {
            assign_roots(settled.plan.clone(), project)
        }))
    };
    assert_eq!(roots(&["main.py"]), ["a in ."], "a manifest is not needed");
    assert_eq!(roots(&["README.md"]), ["a in "]);
}

/// Whatever a plan says, what is settled needs no settling again, and every file has one owner.
#[test]
fn a_settled_plan_is_settled() {
    const FILES: [&str; 8] = [
        "calc/__init__.py",
        "calc/a.py",
        "calc/b.py",
        "calc/c.py",
        "tests/test_calc.py",
        "tests/test_a.py",
        "docs/x.md",
        "nowhere.txt",
    ];
    let mut seed = 7_u64;
    let mut roll = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut settled_plans = 0;
    for _ in 0..2000 {
        let count = 1 + roll(6);
        let mut some = |most: usize| -> Vec<&str> {
            let number = roll(most);
            (0..number).map(|_| FILES[roll(FILES.len())]).collect()
        };
        let mut tasks: Vec<Value> = (0..count)
            .map(|at| {
                let words = json!({"context_files": some(3), "modifies": some(2), "changes_tests": some(2)});
                with(task(&format!("t{at}"), &some(3)), words)
            })
            .collect();
        for task in &mut tasks {
            let on: Vec<String> = (0..roll(2)).map(|_| format!("t{}", roll(count))).collect();
            task["dependencies"] = json!(on);
            task["task_type"] = json!(["code", "command"][roll(2)]);
        }
        let Ok(once) = settled_in(&project(), RepoMode::Existing, json!(tasks)) else { continue };
        settled_plans += 1;
        let outputs: Vec<&RelPath> = once.plan.nodes.iter().flat_map(|node| &node.output_files).collect();
        assert_eq!(outputs.len(), once.plan.owners().len(), "{tasks:?}");
        let mut again = once.plan.clone();
        again.nodes.iter_mut().for_each(|node| node.scope = OpenScope::Listed);
        let again =
            with_project(&project(), RepoMode::Existing, |project| settle(again.clone(), project)).unwrap();
        assert_eq!(again.plan, once.plan, "{tasks:?}");
        let new = again
            .notes
            .iter()
            .find(|note| !note.contains("lists no file") && !note.contains("does not wait"));
        assert_eq!(new, None, "{tasks:?}");
    }
    assert!(settled_plans > 500, "{settled_plans}");
}
