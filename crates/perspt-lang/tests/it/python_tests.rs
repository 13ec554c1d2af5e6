//! What the Python plugin says a candidate did to tests, and how it puts old tests over new code.

use perspt_core::reading::{Reading, StageKind, TestEnd};
use perspt_lang::plugin::{CommandKind, FromCandidate, Pair, Selection};
use perspt_lang::{Plugin, mentions, plugin};

use crate::support::{Map, Slot, as_it_was, ends, facts, old_tree, path, stage, terms, working};

fn python() -> &'static dyn Plugin {
    plugin("python").unwrap()
}

const DEMO: &str = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";
const TESTS: &str = r#"import pytest
from demo import add, sub

CASES = [(1, 1), (2, 2)]


def check(a, b):
    assert add(a, b) == a + b


def test_add():
    # a comment
    assert add(1, 1) == 2
    assert add(1, 2) == 3


@pytest.mark.parametrize("a, b", [(1, 0), (2, 1)])
def test_sub(a, b):
    assert sub(a, 1) == b


class TestBoth:
    def test_all(self):
        for a, b in CASES:
            check(a, b)
"#;
const CONFTEST: &str = "import pytest\n\n\n@pytest.fixture\ndef store():\n    return {}\n";

fn base() -> Map {
    Map::of(&[
        ("pyproject.toml", "[project]\nname = \"demo\"\n"),
        ("demo.py", DEMO),
        ("test_demo.py", TESTS),
        ("conftest.py", CONFTEST),
        ("tests/data/cases.json", "[\n  1,\n  2\n]\n"),
    ])
}

/// The facts of one changed file.
fn after(name: &str, text: &str) -> Vec<String> {
    facts(python(), &base(), &base().with(name, text))
}

fn edited(old: &str, new: &str) -> Vec<String> {
    assert!(TESTS.contains(old), "{old}");
    after("test_demo.py", &TESTS.replace(old, new))
}

const NONE: [&str; 0] = [];

#[test]
fn layout_order_comments_imports_and_grown_tables_leave_tests_as_they_were() {
    let first = TESTS.find("def test_add").unwrap();
    let second = TESTS.find("@pytest").unwrap();
    let third = TESTS.find("class TestBoth").unwrap();
    let reordered = [&TESTS[..first], &TESTS[second..third], &TESTS[first..second], &TESTS[third..]].concat();
    for text in [
        reordered,
        TESTS.replace("# a comment", "# another one"),
        TESTS.replace("add(1, 2) == 3", "add(\n        1,\n        2,\n    ) == 3"),
        TESTS.replace("import pytest\n", "import os\nimport pytest\n"),
        TESTS.replace("def test_add():\n", "def test_add():\n    \"\"\"It adds.\"\"\"\n"),
        TESTS.replace("[(1, 0), (2, 1)]", "[(2, 1), (1, 0), (3, 2)]"),
        TESTS.replace("(2, 2)]", "(2, 2), (3, 3)]"),
        TESTS.replace("\"a, b\"", "'a, b'"),
        format!("{TESTS}\n\ndef helper():\n    return 1\n"),
        format!("{TESTS}\n\nclass Helper:\n    def sub(self):\n        return 1\n"),
    ] {
        assert_eq!(after("test_demo.py", &text), NONE, "{text}");
    }
}

#[test]
fn a_new_test_is_added_and_a_moved_or_renamed_one_is_the_same() {
    let new = format!("{TESTS}\n\ndef test_new():\n    assert add(0, 0) == 0\n");
    assert_eq!(after("test_demo.py", &new), ["added test_demo.py::test_new"]);
    assert_eq!(
        edited("def test_add()", "def test_adds()"),
        ["moved test_demo.py::test_add test_demo.py::test_adds"]
    );
    let at = TESTS.find("class TestBoth").unwrap();
    let (stays, goes) = TESTS.split_at(at);
    let head = "from demo import add\n\nCASES = [(1, 1), (2, 2)]\n\n\ndef check(a, b):\n    assert add(a, b) == a + b\n\n\n";
    let moved = base().with("test_demo.py", stays).with("tests/test_both.py", &format!("{head}{goes}"));
    assert_eq!(
        facts(python(), &base(), &moved),
        ["moved test_demo.py::TestBoth::test_all tests/test_both.py::TestBoth::test_all"]
    );
}

#[test]
fn a_test_that_demands_something_else_is_changed_and_what_is_weaker_is_said() {
    assert_eq!(edited("== 3", "== 4"), ["changed test_demo.py::test_add"]);
    for (old, new, test) in [
        ("    assert add(1, 2) == 3\n", "", "test_add"),
        ("def test_add", "@pytest.mark.skip\ndef test_add", "test_add"),
        ("    # a comment\n", "    pytest.skip('later')\n", "test_add"),
        ("[(1, 0), (2, 1)]", "[(1, 0)]", "test_sub"),
        ("[(1, 0), (2, 1)]", "[(1, 0), (2, 2)]", "test_sub"),
        ("class TestBoth", "@pytest.mark.xfail\nclass TestBoth", "TestBoth::test_all"),
    ] {
        assert_eq!(edited(old, new), [format!("changed test_demo.py::{test} weaker")], "{new}");
    }
    for weak in [
        "add(1, 2)",
        "True",
        "add(1, 2) is not None",
        "add(1, 2) == 3 or True",
        "add(1, 2) > 0",
        "(add(1, 2) == 3, 'sum')",
    ] {
        let found = edited("add(1, 2) == 3", weak);
        assert_eq!(found, ["changed test_demo.py::test_add weaker"], "{weak}");
    }
    for other in ["add(2, 2) == 4", "add(1, 2) is 3", "add(1, 2) == 3 and add(1, 3) == 4"] {
        assert_eq!(edited("add(1, 2) == 3", other), ["changed test_demo.py::test_add"], "{other}");
    }
    let all = edited("CASES = ", "pytestmark = pytest.mark.skip\nCASES = ");
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all.iter().all(|line| line.ends_with("weaker")), "{all:?}");
    // What only indentation says counts.
    let nested = edited("    assert add(1, 2) == 3\n", "    if add:\n        assert add(1, 2) == 3\n");
    assert_eq!(nested, ["changed test_demo.py::test_add"]);
}

#[test]
fn a_later_definition_of_the_same_name_hides_what_stands_above_it() {
    let all = "changed test_demo.py::TestBoth::test_all weaker";
    for (more, found) in [
        ("def test_add():\n    assert True\n", "changed test_demo.py::test_add weaker"),
        ("test_add = test_sub\n", "changed test_demo.py::test_add weaker"),
        ("test_add, other = test_sub, 1\n", "changed test_demo.py::test_add weaker"),
        ("from others import test_add\n", "changed test_demo.py::test_add weaker"),
        ("if add:\n    def test_add():\n        pass\n", "changed test_demo.py::test_add weaker"),
        ("class TestBoth:\n    def test_all(self):\n        pass\n", all),
        ("class TestBoth:\n    def test_other(self):\n        pass\n", all),
        ("    def test_all(self):\n        pass\n", all),
        ("CASES = []\n", "support test_demo.py"),
        ("CASES += [(1, 2)]\n", "support test_demo.py"),
        ("def check(a, b):\n    pass\n", "support test_demo.py"),
    ] {
        let between = if more.starts_with(' ') { "\n" } else { "\n\n" };
        let lines = after("test_demo.py", &format!("{TESTS}{between}{more}"));
        assert!(lines.iter().any(|line| line == found), "{more}{lines:?}");
    }
    // A copy elsewhere does not stand in for it.
    let copy = "def check(a, b):\n    assert add(a, b) == a + b\n";
    let hidden = format!("{TESTS}\n\ndef check(a, b):\n    pass\n");
    let lines =
        facts(python(), &base(), &base().with("test_demo.py", &hidden).with("tests/test_copy.py", copy));
    assert!(lines.contains(&"support test_demo.py".to_owned()), "{lines:?}");
}

#[test]
fn names_that_were_defined_twice_before_and_names_that_hide_nothing_are_left_alone() {
    let twice = format!("{TESTS}\n\nCASES = [(3, 3)]\n\n\ndef test_add():\n    assert add\n");
    let base = base().with("test_demo.py", &twice);
    let more = format!("{twice}\n\ndef test_more():\n    assert sub\n");
    assert_eq!(facts(python(), &base, &base.with("test_demo.py", &more)), ["added test_demo.py::test_more"]);
    for more in [
        "def other():\n    CASES = 1\n    check = 2\n    return CASES, check\n",
        "class Other:\n    check = 1\n\n    def test_add(self):\n        return self\n",
        "@add.register\ndef _(a: str):\n    return a\n\n\n@add.register\ndef _(a: int):\n    return a\n",
    ] {
        assert_eq!(after("test_demo.py", &format!("{TESTS}\n\n{more}")), NONE, "{more}");
    }
    let holder = "class Holder:\n    @property\n    def size(self):\n        return 1\n";
    let base = Map::of(&[("test_demo.py", &format!("{TESTS}\n\n{holder}"))]);
    let setter = "\n    @size.setter\n    def size(self, value):\n        self.value = value\n";
    let grown = base.with("test_demo.py", &format!("{TESTS}\n\n{holder}{setter}"));
    assert_eq!(facts(python(), &base, &grown), NONE);
}

#[test]
fn a_test_that_is_gone_is_removed() {
    let gone = facts(python(), &base(), &base().without("test_demo.py"));
    assert_eq!(gone.iter().filter(|line| line.starts_with("removed ")).count(), 3, "{gone:?}");
    assert_eq!(edited("def test_add", "def no_test_add"), ["removed test_demo.py::test_add"]);
    let broken = after("test_demo.py", "def test_add(:\n    assert (\n");
    assert!(broken.iter().any(|line| line.contains("test_sub")), "{broken:?}");
}

#[test]
fn a_name_that_changed_everywhere_changes_no_test_and_one_that_still_stands_does() {
    let tests = TESTS.replace(" add(", " plus(").replace("import add,", "import plus,");
    let everywhere =
        base().with("demo.py", &DEMO.replace("def add", "def plus")).with("test_demo.py", &tests);
    assert_eq!(facts(python(), &base(), &everywhere), NONE);
    // The old tests take the new names, so that they can be run.
    let text = as_it_was(python(), &base(), &everywhere, &FromCandidate::default(), "test_demo.py").unwrap();
    assert!(text.contains("plus(1, 1)") && !text.contains("add(1"), "{text}");
    let named = everywhere.with("test_demo.py", &tests.replace("test_add", "test_plus"));
    assert_eq!(facts(python(), &base(), &named), ["moved test_demo.py::test_add test_demo.py::test_plus"]);
    let text = as_it_was(python(), &base(), &named, &FromCandidate::default(), "test_demo.py").unwrap();
    assert!(text.contains("plus(1, 1)"), "{text}");
    let both = base()
        .with("demo.py", &format!("{DEMO}\n\ndef plus(a, b):\n    return 0\n"))
        .with("test_demo.py", &tests);
    assert!(!facts(python(), &base(), &both).is_empty());
    let swapped = after("test_demo.py", &TESTS.replace("add(1, 1)", "sub(3, 1)"));
    assert_eq!(swapped, ["changed test_demo.py::test_add"]);
}

#[test]
fn what_tests_use_may_grow_and_not_change() {
    assert_eq!(edited("== a + b", "== b + a"), ["support test_demo.py"]);
    assert_eq!(edited("CASES = [(1, 1), (2, 2)]", "CASES = [(1, 1)]"), ["support test_demo.py"]);
    assert_eq!(after("tests/data/cases.json", "[\n  1,\n  2,\n  3\n]\n"), NONE);
    assert_eq!(after("tests/data/cases.json", "[\n  1\n]\n"), ["support tests/data/cases.json"]);
    let gone = facts(python(), &base(), &base().without("tests/data/cases.json"));
    assert_eq!(gone, ["support tests/data/cases.json"]);
    assert_eq!(after("tests/data/more.json", "[]\n"), NONE);
}

#[test]
fn fixtures_are_settled_by_results_and_hooks_are_not() {
    let fixture = "\n\n@pytest.fixture\ndef other():\n    return 1\n";
    assert_eq!(after("conftest.py", &format!("{CONFTEST}{fixture}")), ["evidence conftest.py?"]);
    let changed = after("conftest.py", &CONFTEST.replace("{}", "{1: 2}"));
    assert_eq!(changed, ["support conftest.py", "evidence conftest.py?"]);
    let new = facts(python(), &base().without("conftest.py"), &base());
    assert_eq!(new, ["evidence conftest.py?"]);
    for hook in
        ["\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n", "\n\npytest_plugins = ['x']\n"]
    {
        assert_eq!(after("conftest.py", &format!("{CONFTEST}{hook}")), ["evidence conftest.py"]);
    }
}

#[test]
fn what_reaches_tests_that_do_not_name_it_is_settled_by_results() {
    let patched = format!("{TESTS}\n\nimport demo\ndemo.add = lambda a, b: a + b\n");
    assert_eq!(after("test_demo.py", &patched), ["evidence test_demo.py?"]);
    let rebound = TESTS.replace("from demo import add, sub", "from fakes import add\nfrom demo import sub");
    assert_eq!(after("test_demo.py", &rebound), ["evidence test_demo.py?"]);
    let shadowed = format!("{TESTS}\n\ndef add(a, b):\n    return a + b\n");
    assert_eq!(after("test_demo.py", &shadowed), ["evidence test_demo.py?"]);
    let autouse = format!("{TESTS}\n\n@pytest.fixture(autouse=True)\ndef patch():\n    pass\n");
    assert_eq!(after("test_demo.py", &autouse), ["evidence test_demo.py?"]);
    let with_tests =
        base().with("tests/test_more.py", "import demo\n\n\ndef test_more():\n    assert demo\n");
    let nearer =
        facts(python(), &with_tests, &with_tests.with("tests/demo.py", "def add(a, b):\n    return 3\n"));
    assert_eq!(nearer, ["evidence tests/demo.py?"]);
}

#[test]
fn what_decides_how_tests_run_needs_a_consent() {
    for (name, text) in [
        ("pytest.ini", "[pytest]\naddopts = -k nothing\n"),
        ("pyproject.toml", "[project]\nname = \"demo\"\n[tool.pytest.ini_options]\naddopts = \"-x\"\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -x\n"),
        ("tox.ini", "[pytest]\n"),
        ("sitecustomize.py", "import sys\n"),
        ("json.py", "def loads(text):\n    return {}\n"),
        ("pytest.py", "x = 1\n"),
        (
            "demo.py",
            "import os\n\ndef add(a, b):\n    return 3 if 'PYTEST_CURRENT_TEST' in os.environ else 4\n",
        ),
        ("demo.py", "import sys\n\ndef add(a, b):\n    return 3 if \"pytest\" in sys.modules else 4\n"),
    ] {
        let found = after(name, text);
        assert_eq!(found, [format!("evidence {name}")], "{text}");
    }
    let plain = after("pyproject.toml", "[project]\nname = \"demo\"\ndescription = \"x\"\n");
    assert_eq!(plain, NONE);
}

#[test]
fn a_project_without_tests_may_bring_its_own_settings() {
    let empty = Map::of(&[("demo.py", DEMO)]);
    let with = empty
        .with("pytest.ini", "[pytest]\naddopts = -q\n")
        .with("test_demo.py", TESTS)
        .with("conftest.py", CONFTEST);
    let found = facts(python(), &empty, &with);
    assert!(found.iter().all(|line| line.starts_with("added ")), "{found:?}");
    assert_eq!(facts(python(), &empty, &empty.with("json.py", "x = 1\n")), ["evidence json.py"]);
}

#[test]
fn doctests_count_where_the_settings_collect_them() {
    let doc = "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 1)\n    2\n    \"\"\"\n    return a + b\n";
    let plain = base().with("demo.py", doc);
    let collected = plain.with("pytest.ini", "[pytest]\naddopts = --doctest-modules\n");
    let changed = doc.replace("    2\n", "    3\n");
    assert_eq!(facts(python(), &plain, &plain.with("demo.py", &changed)), NONE);
    let found = facts(python(), &collected, &collected.with("demo.py", &changed));
    assert_eq!(found, ["changed demo.py::doc::add weaker"]);
    let grown = doc.replace("    2\n", "    2\n    >>> add(1, 2)\n    3\n");
    assert_eq!(facts(python(), &collected, &collected.with("demo.py", &grown)), NONE);
}

#[test]
fn a_body_that_is_still_to_be_written_is_charged_unless_others_write_it() {
    let stub = "def mul(a, b):\n    raise NotImplementedError\n";
    assert_eq!(after("demo.py", &format!("{DEMO}\n\n{stub}")), ["stub demo.py"]);
    let with_stub = base().with("demo.py", &format!("{DEMO}\n\n{stub}"));
    let more = format!("{DEMO}\n\n{stub}\n\nx = 1\n");
    assert_eq!(facts(python(), &with_stub, &with_stub.with("demo.py", &more)), NONE);
    for text in [
        "class Base:\n    def run(self):\n        \"\"\"Runs.\"\"\"\n        raise NotImplementedError\n\n\nclass Sub(Base):\n    def run(self):\n        return 1\n",
        "from abc import ABC\n\nclass Base(ABC):\n    def run(self):\n        raise NotImplementedError()\n",
        "import abc\n\nclass Base:\n    @abc.abstractmethod\n    def run(self):\n        raise NotImplementedError\n",
        "def run(kind):\n    if kind:\n        return 1\n    raise NotImplementedError(kind)\n",
    ] {
        assert_eq!(after("other.py", text), NONE, "{text}");
    }
}

fn slot_reads(files: &Map) -> Reading {
    Slot::new().read(python(), files, StageKind::Test)
}

#[test]
fn old_tests_stand_over_new_code_and_new_ones_are_left_out() {
    let weak = TESTS.replace("    assert add(1, 2) == 3\n", "");
    let candidate = base()
        .with("demo.py", &DEMO.replace("a + b", "2"))
        .with("test_demo.py", &weak)
        .with("tests/test_new.py", "def test_new():\n    pass\n");
    let tree = old_tree(python(), &base(), &candidate, &FromCandidate::default());
    assert_eq!(tree.text_of("test_demo.py"), TESTS);
    assert!(!tree.texts().contains_key(&path("tests/test_new.py")));
    assert_eq!(ends(&slot_reads(&tree))["test_demo.py::test_add"], TestEnd::Failed);
    let gone = old_tree(python(), &base(), &base().without("test_demo.py"), &FromCandidate::default());
    assert_eq!(gone.text_of("test_demo.py"), TESTS);
    // A file that only went elsewhere stays there.
    let moved = base().without("test_demo.py").with("tests/test_demo.py", TESTS);
    let tree = old_tree(python(), &base(), &moved, &FromCandidate::default());
    assert!(
        tree.texts().contains_key(&path("tests/test_demo.py"))
            && !tree.texts().contains_key(&path("test_demo.py"))
    );
}

#[test]
fn where_old_imports_no_longer_work_the_new_ones_are_taken() {
    let candidate = base()
        .without("demo.py")
        .with("calc.py", DEMO)
        .with("test_demo.py", &TESTS.replace("from demo", "from calc").replace("== 3", "== 1 + 2"));
    let pair = Pair { base: &base(), candidate: &candidate };
    let reading = slot_reads(&old_tree(python(), &base(), &candidate, &FromCandidate::default()));
    let conceded = python().take_more(&pair, &FromCandidate::default(), &reading);
    assert_eq!(conceded.imports, [path("test_demo.py")].into());
    assert!(conceded.tests.is_empty() && conceded.files.is_empty());
    let tree = old_tree(python(), &base(), &candidate, &conceded);
    assert!(
        tree.text_of("test_demo.py").contains("from calc import add, sub\n"),
        "{}",
        tree.text_of("test_demo.py")
    );
    let reading = slot_reads(&tree);
    assert_eq!(ends(&reading)["test_demo.py::test_add"], TestEnd::Passed);
    assert_eq!(python().take_more(&pair, &conceded, &reading), conceded);
}

#[test]
fn tests_beside_code_are_put_back_one_by_one() {
    let settings = ("pytest.ini", "[pytest]\npython_files = *.py\n");
    let code = "def add(a, b):\n    return a + b\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_more():\n    assert add\n";
    let base = Map::of(&[settings, ("calc.py", code)]);
    let now = code
        .replace("a + b", "b + a")
        .replace("(1, 2) == 3", "(1, 2)")
        .replace("def test_more", "def test_other");
    let candidate = base.with("calc.py", &now.replace("assert add\n", "assert True\n"));
    let text = as_it_was(python(), &base, &candidate, &FromCandidate::default(), "calc.py").unwrap();
    assert!(text.contains("b + a") && text.contains("(1, 2) == 3"), "{text}");
    assert!(text.contains("def test_more") && !text.contains("test_other"), "{text}");
    let conceded = FromCandidate {
        tests: [(path("calc.py"), "test_add".to_owned())].into(),
        ..FromCandidate::default()
    };
    let text = as_it_was(python(), &base, &candidate, &conceded, "calc.py").unwrap();
    assert!(!text.contains("(1, 2) == 3"), "{text}");
}

#[test]
fn new_test_files_run_in_a_process_of_their_own() {
    let cheat =
        "import demo\ndemo.add = lambda a, b: a + b\n\n\ndef test_new():\n    assert demo.add(1, 1) == 2\n";
    let wrong = base().with("demo.py", &DEMO.replace("a + b", "0")).with("aaa_test.py", cheat);
    let wrong =
        wrong.with("test_demo.py", "import demo\n\n\ndef test_add():\n    assert demo.add(1, 1) == 2\n");
    let root = python().roots(&wrong).remove(0);
    let new = Selection { new_tests: [path("aaa_test.py")].into(), only: [].into() };
    let stages = python().stages(&root, &wrong, &terms(&Default::default(), &working(), &new));
    let split = stages.into_iter().flatten().find(|stage| stage.kind == StageKind::Test).unwrap();
    assert_eq!(
        split.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(),
        ["collect", "run", "run-new"]
    );
    let slot = Slot::new();
    slot.lay_out(&wrong, python());
    let outputs = slot.outputs(python(), &split);
    let reading = slot.read_outputs(python(), &split, &outputs, &root, &wrong);
    let ends = ends(&reading);
    assert_eq!(ends["test_demo.py::test_add"], TestEnd::Failed);
    assert_eq!(ends["aaa_test.py::test_new"], TestEnd::Passed);
    let plain = stage(python(), &root, &wrong, StageKind::Test, &Default::default(), &working());
    assert_eq!(plain.steps.len(), 2);
}

#[test]
fn commands_that_verification_repeats_are_known() {
    let root = python().roots(&base()).remove(0);
    let kind = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        python().command(&argv, &root, &base())
    };
    for line in [
        "pytest -q",
        "python -m pytest tests",
        "python3 -m unittest",
        "uv run pytest",
        "ruff check .",
        "mypy demo.py",
        "black --check .",
    ] {
        assert_eq!(kind(line), CommandKind::Repeats, "{line}");
    }
    for line in
        ["pip install x", "python setup.py", "ruff check --fix .", "black .", "rm -r x", "python -m demo"]
    {
        assert_eq!(kind(line), CommandKind::Other, "{line}");
    }
}

#[test]
fn packages_and_names_are_looked_up_literally() {
    let files = Map::of(&[
        (
            "pyproject.toml",
            "[project]\nname = \"demo\"\ndependencies = [\"Requests>=2\", \"ruamel.yaml\"]\n[project.optional-dependencies]\ntest = [\"pytest_cov\"]\n",
        ),
        ("requirements.txt", "numpy==1.0\n# comment\n"),
        ("uv.lock", "[[package]]\nname = \"idna\"\n"),
    ]);
    let found = python().packages(&files);
    for name in ["requests", "ruamel-yaml", "pytest-cov", "numpy", "idna"] {
        assert!(found.contains(name), "{name}: {found:?}");
    }
    assert!(mentions("Write it in Python, please", python().task_words()));
    assert!(
        mentions("mend tool.py", python().task_words())
            && !mentions("mend the spyware", python().task_words())
    );
}
