//! Each way a plan can be wrong has a sentence the architect can act on.

use perspt_agent::plan::{Ground, fallback, read_plan, validate};
use perspt_core::event::RepoMode;
use perspt_core::plan::TaskType;
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::bounds::Bounds;
use serde_json::{Value, json};

use crate::support::{Memory, path};

fn faults_in(files: &Memory, repo_mode: RepoMode, tasks: Value) -> Vec<String> {
    let (plan, _) = read_plan(&json!({ "tasks": tasks }).to_string()).unwrap();
    with_ground(files, repo_mode, |ground| validate(&plan, ground))
}

fn with_ground<T>(files: &Memory, repo_mode: RepoMode, look: impl Fn(&Ground<'_>) -> T) -> T {
    let bounds = Bounds::new(files.tree(), &[], "");
    let plugins: Vec<&dyn Plugin> =
        perspt_lang::plugins().iter().map(|plugin| *plugin as &dyn Plugin).collect();
    let mut roots: Vec<Root> = plugins.iter().flat_map(|plugin| plugin.roots(files)).collect();
    if roots.is_empty() {
        let dir = perspt_core::path::RelPath::root();
        let plugin = PluginName("python".to_owned());
        roots.push(Root { packages: vec![dir.clone()], dir, plugin, has_tests: false });
    }
    look(&Ground { tree: files.tree(), bounds: &bounds, repo_mode, roots: &roots, plugins: &plugins })
}

fn project() -> Memory {
    Memory::new(&[
        ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\n"),
        ("calc/__init__.py", "def add(a, b):\n    return a + b\n"),
        ("tests/test_calc.py", "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n"),
    ])
}

#[track_caller]
fn refused(tasks: Value, why: &str) {
    let faults = faults_in(&project(), RepoMode::Existing, tasks);
    assert!(faults.iter().any(|fault| fault.contains(why)), "no `{why}` in {faults:?}");
}

fn task(id: &str, files: &[&str]) -> Value {
    json!({"id": id, "goal": "g", "output_files": files})
}

#[test]
fn a_good_plan_has_no_fault() {
    let tasks = json!([task("a", &["calc/a.py"]), {"id": "b", "goal": "g", "output_files": ["calc/b.py"], "dependencies": ["a"], "context_files": ["calc/a.py", "calc/__init__.py"]}]);
    assert_eq!(faults_in(&project(), RepoMode::Existing, tasks), Vec::<String>::new());
}

#[test]
fn an_empty_plan_is_refused() {
    refused(json!([]), "the plan is empty");
}

#[test]
fn a_duplicate_or_odd_id_is_refused() {
    refused(json!([task("a", &["calc/a.py"]), task("a", &["calc/b.py"])]), "used twice");
    refused(json!([task("a b", &["calc/a.py"])]), "must be 1 to 64");
}

#[test]
fn an_unknown_dependency_is_refused() {
    refused(
        json!([{"id": "a", "goal": "g", "output_files": ["calc/a.py"], "dependencies": ["z"]}]),
        "`z`, which is not in the plan",
    );
}

#[test]
fn a_cycle_is_refused_with_its_path() {
    let node = |id: &str, after: &str| json!({"id": id, "goal": "g", "output_files": [format!("calc/{id}.py")], "dependencies": [after]});
    refused(json!([node("a", "b"), node("b", "c"), node("c", "a")]), "a -> b -> c -> a");
}

#[test]
fn a_file_owned_twice_is_refused() {
    refused(json!([task("a", &["calc/x.py"]), task("b", &["calc/x.py"])]), "one task owns a file");
}

#[test]
fn files_of_two_domains_need_an_integration_task() {
    let files = Memory::new(&[
        ("Cargo.toml", "[package]\nname = \"c\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", "#[test]\nfn t() {}\n"),
        ("py/pyproject.toml", "[project]\nname = \"p\"\n"),
        ("py/test_p.py", "def test_p():\n    pass\n"),
    ]);
    let both = json!([task("a", &["src/a.rs", "py/a.py"])]);
    let faults = faults_in(&files, RepoMode::Existing, both);
    assert!(faults.iter().any(|fault| fault.contains("integration task")), "{faults:?}");
    let integration = json!([{"id": "a", "goal": "g", "output_files": ["src/a.rs", "py/a.py"], "node_class": "integration"}]);
    assert_eq!(faults_in(&files, RepoMode::Existing, integration), Vec::<String>::new());
}

#[test]
fn the_manifest_of_a_workspace_goes_with_the_code_of_a_member() {
    let files = Memory::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"core\", \"app\"]\n"),
        ("core/Cargo.toml", "[package]\nname = \"core\"\nversion = \"0.1.0\"\n"),
        ("core/src/lib.rs", "#[test]\nfn t() {}\n"),
        ("app/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\n"),
        ("app/src/lib.rs", ""),
    ]);
    let with = |file: &str| json!([task("a", &[file, "core/src/lib.rs"])]);
    assert_eq!(faults_in(&files, RepoMode::Existing, with("Cargo.toml")), Vec::<String>::new());
    let faults = faults_in(&files, RepoMode::Existing, with("app/Cargo.toml"));
    assert!(faults.iter().any(|fault| fault.contains("integration task")), "{faults:?}");
}

#[test]
fn too_many_files_are_refused() {
    let names: Vec<String> = (0..21).map(|n| format!("calc/f{n}.py")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    refused(json!([task("a", &names)]), "more than 20 files");
}

#[test]
fn a_context_file_of_another_task_needs_an_edge_and_one_of_nobody_must_exist() {
    refused(
        json!([task("a", &["calc/a.py"]), {"id": "b", "goal": "g", "output_files": ["calc/b.py"], "context_files": ["calc/a.py"]}]),
        "add `a` to its dependencies",
    );
    refused(
        json!([{"id": "b", "goal": "g", "output_files": ["calc/b.py"], "context_files": ["calc/none.py"]}]),
        "does not exist",
    );
}

#[test]
fn paths_out_of_bounds_no_outputs_commands_and_stray_modifies_are_refused() {
    refused(json!([task("a", &[".git/config"])]), "version control");
    refused(json!([task("a", &[])]), "list the files");
    refused(
        json!([{"id": "a", "goal": "g", "output_files": ["calc/a.py"], "task_type": "command"}]),
        "not supported",
    );
    refused(
        json!([{"id": "a", "goal": "g", "output_files": ["calc/a.py"], "modifies": ["calc/__init__.py"]}]),
        "only a task of class",
    );
    assert!(read_plan(&json!({"tasks": [task("a", &["../x.py"])]}).to_string()).is_err());
    assert!(read_plan(&json!({"tasks": [task("a", &["calc/"])]}).to_string()).is_err());
}

#[test]
fn null_in_a_plan_says_nothing() {
    let bare = json!({"tasks": [{"id": "a", "goal": "g", "output_files": ["calc/a.py"]}]});
    let mut full = bare.clone();
    for word in ["context_files", "modifies", "dependencies", "task_type", "node_class", "contract"] {
        full["tasks"][0][word] = json!(null);
    }
    assert_eq!(read_plan(&full.to_string()).unwrap(), read_plan(&bare.to_string()).unwrap());
}

#[test]
fn a_root_without_tests_needs_a_test_task_and_a_test_task_needs_code() {
    let bare = Memory::new(&[("pyproject.toml", "[project]\nname = \"c\"\n"), ("c.py", "X = 1\n")]);
    let faults = faults_in(&bare, RepoMode::Existing, json!([task("a", &["d.py"])]));
    assert!(faults.iter().any(|fault| fault.contains("the plan adds none")), "{faults:?}");
    let empty = Memory::new(&[("README.md", "x\n")]);
    let tests_only = json!([{"id": "t", "goal": "g", "output_files": ["pyproject.toml", "test_x.py"], "task_type": "unit_test"}]);
    let faults = faults_in(&empty, RepoMode::Greenfield, tests_only);
    assert!(faults.iter().any(|fault| fault.contains("no code to test")), "{faults:?}");
}

#[test]
fn in_an_empty_folder_some_task_must_own_the_manifest() {
    let empty = Memory::new(&[("README.md", "x\n")]);
    let faults = faults_in(
        &empty,
        RepoMode::Greenfield,
        json!([{"id": "a", "goal": "g", "output_files": ["a.py", "test_a.py"], "task_type": "unit_test"}]),
    );
    assert!(faults.iter().any(|fault| fault.contains("root manifest")), "{faults:?}");
}

#[test]
fn the_fallback_graph_is_the_same_each_time_and_begins_with_a_scaffold_only_in_an_empty_folder() {
    let names = |files: &Memory, mode| {
        with_ground(files, mode, |ground| {
            let plan = fallback("do it", ground);
            assert_eq!(plan, fallback("do it", ground));
            assert!(plan.nodes.last().unwrap().task_type == TaskType::UnitTest);
            plan.nodes.iter().map(|node| node.id.to_string()).collect::<Vec<_>>()
        })
    };
    assert_eq!(names(&project(), RepoMode::Existing), ["implementation", "tests"]);
    let empty = Memory::new(&[]);
    assert_eq!(names(&empty, RepoMode::Greenfield), ["scaffold", "implementation", "tests"]);
    let manifest = with_ground(&empty, RepoMode::Greenfield, |ground| {
        fallback("x", ground).nodes[0].output_files.clone()
    });
    assert_eq!(manifest, [path("pyproject.toml")]);
}
