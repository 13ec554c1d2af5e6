//! What the Python plugin says of a change before any tool runs.

use perspt_core::plan::TaskType;
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, charged, node, touched, touched_with};

fn python() -> &'static dyn Plugin {
    plugin("python").unwrap()
}

const TESTS: &str = "import unittest\nimport pytest\n\n\ndef test_one():\n    assert 1\n    assert 2\n\n\nclass T(unittest.TestCase):\n    \
                     def test_two(self):\n        self.assertTrue(True)\n";

fn base() -> Map {
    Map::of(&[
        (
            "pyproject.toml",
            "[project]\nname = \"demo\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
        ),
        ("setup.cfg", "[metadata]\nname = demo\n[tool:pytest]\naddopts = -q\n"),
        ("demo.py", "x = 1\n"),
        ("tests/test_a.py", TESTS),
        ("tests/data.json", "{}"),
        ("tests/conftest.py", "x = 1\n"),
    ])
}

fn after(task_type: TaskType, name: &str, text: &str) -> Vec<String> {
    charged(&touched(python(), &base(), &base().with(name, text), &node(task_type, &[name]), "add a feature"))
}

const NONE: [String; 0] = [];

#[test]
fn a_code_node_may_add_tests_and_not_change_or_delete_them() {
    assert_eq!(after(TaskType::Code, "tests/test_new.py", "def test_x(): f()\n"), NONE);
    for empty in [
        "def test_x(): pass\n",
        "def test_x():\n    assert True\n",
        "def test_x():\n    assert 1 + 1 == 2\n",
        "def test_x():\n    for x in []:\n        assert f(x) == 2\n",
    ] {
        let found = after(TaskType::Code, "tests/test_new.py", empty);
        assert_eq!(found, ["test-empty tests/test_new.py"], "{empty}");
    }
    assert_eq!(after(TaskType::Code, "demo.py", "x = 2\n"), NONE);
    assert_eq!(
        after(TaskType::Code, "tests/test_a.py", &TESTS.replace("assert 1", "assert 3")),
        ["test-changed tests/test_a.py"]
    );
    assert_eq!(after(TaskType::Code, "tests/data.json", "[]"), ["test-changed tests/data.json"]);
    let gone = base().without("tests/test_a.py");
    let found = charged(&touched(python(), &base(), &gone, &node(TaskType::Code, &[]), ""));
    assert_eq!(found, ["test-deleted tests/test_a.py"]);
    let own = node(TaskType::Code, &["tests/test_a.py"]);
    let changed = base().with("tests/test_a.py", "def test_one(): pass\n");
    assert_eq!(charged(&touched_with(python(), &base(), &changed, &own, "", &["tests/test_a.py"])), NONE);
}

#[test]
fn a_test_node_may_change_tests_but_not_lose_or_skip_them() {
    let fewer = TESTS.replace("    assert 2\n", "");
    let residuals = touched(
        python(),
        &base(),
        &base().with("tests/test_a.py", &fewer),
        &node(TaskType::UnitTest, &["tests/test_a.py"]),
        "",
    );
    assert_eq!(charged(&residuals), ["test-weakened tests/test_a.py"]);
    let shown: Vec<&str> = residuals.iter().map(|residual| residual.class.as_str()).collect();
    assert_eq!(shown, ["test-changed", "test-weakened"], "{residuals:?}");
    for weakened in [
        TESTS.replace("def test_one", "@pytest.mark.skip\ndef test_one"),
        TESTS.replace("def test_one", "@pytest.mark.xfail(reason='later')\ndef test_one"),
        TESTS.replace("    assert 1\n", "    pytest.skip('later')\n    assert 1\n"),
        TESTS.replace("    def test_two", "    @unittest.expectedFailure\n    def test_two"),
        TESTS.replace("class T", "@unittest.skip('later')\nclass T"),
        TESTS.replace("class T(unittest.TestCase):\n", "class T(unittest.TestCase):\n    __test__ = False\n"),
        TESTS.replace("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n"),
        TESTS.replace("import pytest\n", "pytest = __import__('pytest').importorskip('never')\n"),
    ] {
        let found = after(TaskType::UnitTest, "tests/test_a.py", &weakened);
        assert_eq!(found, ["test-weakened tests/test_a.py"], "{weakened}");
    }
    let lost = TESTS.replace("def test_one", "def one");
    assert_eq!(after(TaskType::UnitTest, "tests/test_a.py", &lost), ["test-weakened tests/test_a.py"]);
    let in_text = TESTS.replace("def test_one", "TEXT = '''\ndef test_gone(): pass\n'''\ndef test_one");
    assert_eq!(after(TaskType::UnitTest, "tests/test_a.py", &in_text), NONE);
    let moved = base().without("tests/test_a.py").with("tests/test_b.py", TESTS);
    assert_eq!(
        charged(&touched(python(), &base(), &moved, &node(TaskType::UnitTest, &[]), "")),
        NONE,
        "moved is not lost"
    );
}

/// The charges for `before` turned into `after` by a test node, with this task.
fn rewritten(before: &str, after: &str, task: &str) -> Vec<String> {
    let base = base().with("tests/test_a.py", before);
    let candidate = base.with("tests/test_a.py", after);
    charged(&touched(python(), &base, &candidate, &node(TaskType::UnitTest, &["tests/test_a.py"]), task))
}

const NEG: &str = "from demo import add\n\n\ndef test_neg():\n    got = add(-1, -2)\n    assert got == -3\n    assert got < 0\n";

#[test]
fn a_test_that_demands_less_or_can_no_longer_fail_is_weakened() {
    let weak = ["test-weakened tests/test_a.py"];
    for (old, new) in [
        ("assert got == -3", "assert got"),
        ("assert got == -3", "assert got != 4"),
        ("assert got == -3", "assert got is not None"),
        ("assert got == -3", "assert (got == -3, 'sum')"),
        ("assert got == -3", "assert got == -3 or True"),
        ("assert got == -3", "assert got == -3 or add(0, 0) == 0"),
        ("assert got == -3", "assert True or got == -3"),
        ("assert got == -3", "assert got == got"),
        ("assert got == -3", "assert -3 == -3"),
        ("assert got == -3", "with pytest.raises(AssertionError):\n        assert got == -3"),
        ("assert got == -3", "with pytest.raises((ValueError, Exception)):\n        assert got == -3"),
        ("assert got == -3", "with suppress(BaseException):\n        assert got == -3"),
        ("assert got == -3", "try:\n        assert got == -3\n    except AssertionError:\n        pass"),
        ("assert got == -3", "try:\n        assert got == -3\n    except:\n        print('no')"),
        ("assert got == -3", "if False:\n        assert got == -3"),
        ("assert got == -3", "for _ in []:\n        assert got == -3"),
        ("    got = add", "    return\n    got = add"),
        ("    got = add", "    if got:\n        return\n    got = add"),
        (
            "    assert got < 0\n",
            "    assert got < 0\n\n\ndef test_neg():\n    assert 1 == add and 2 == 2 < 3\n",
        ),
        ("    assert got < 0\n", "    assert got < 0\n\n\ntest_neg = None\n"),
        ("    assert got < 0\n", "    assert got < 0\n\n\ndel test_neg\n"),
    ] {
        let text = NEG.replace(old, new);
        assert_ne!(text, NEG);
        assert_eq!(rewritten(NEG, &text, "make add faster"), weak, "{text}");
    }
    for (old, new) in [
        ("-3", "-4"),
        ("add(-1, -2)", "total(-1, -2)"),
        ("    got = add(-1, -2)\n", "    def sub():\n        return 1\n    got = add(-1, -sub())\n"),
        ("assert got == -3", "assert got == -3, 'the sum'"),
        ("assert got == -3", "assert (got == -3), 'the sum'"),
        ("assert got == -3", "with pytest.raises(ValueError):\n        add('a')\n    assert got == -3"),
        (
            "assert got == -3",
            "try:\n        assert got == -3\n    except Exception as e:\n        raise ValueError from e",
        ),
        ("    assert got < 0\n", "    assert got < 0\n    return\n"),
        ("assert got == -3", "with pytest.raises(ValueError):\n        add(0)"),
        ("    assert got < 0\n", "    assert got < 0\n    assert all(x in [1] for x in [1])\n"),
    ] {
        let text = NEG.replace(old, new);
        assert_ne!(text, NEG);
        assert_eq!(rewritten(NEG, &text, "make add faster"), NONE, "{text}");
    }
    let class =
        "class TestT(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(add(1, 1), 2)\n";
    for (new, count) in [
        ("self.assertTrue(add(1, 1))", 1),
        ("self.assertNotEqual(add(1, 1), 3)", 1),
        ("self.assertEqual(2, 2)", 1),
        ("self.assertTrue(add(1, 1) == 2)", 0),
        ("self.assertEqual(add(1, 2), 3)", 0),
    ] {
        let text = class.replace("self.assertEqual(add(1, 1), 2)", new);
        assert_eq!(rewritten(class, &text, "").len(), count, "{text}");
    }
    let fewer = NEG.replace("    assert got < 0\n", "");
    assert_eq!(rewritten(NEG, &fewer, "rewrite test_neg"), NONE, "the task asks for it");
    assert_eq!(rewritten(NEG, &NEG.replace("    got", "    return\n    got"), "rewrite test_neg"), weak);
}

#[test]
fn fixtures_follow_the_code_where_the_task_asks_for_the_tests_to() {
    let fixture = |call: &str| {
        format!(
            "import pytest\nfrom demo import Store\n\n\n@pytest.fixture\ndef store():\n    return {call}\n"
        )
    };
    let before = base().with("tests/conftest.py", &fixture("Store()"));
    let charge = |text: &str, task: &str| {
        let owner = node(TaskType::UnitTest, &["tests/conftest.py"]);
        charged(&touched(python(), &before, &before.with("tests/conftest.py", text), &owner, task))
    };
    let named = fixture("Store('main')");
    let asked = "Store gets a required argument name; adapt the tests";
    assert_eq!(charge(&named, asked), NONE);
    let rules = ["evidence-rules-changed tests/conftest.py"];
    assert_eq!(charge(&named, "Store gets a required argument name"), rules);
    assert_eq!(charge(&format!("{named}\nStore.check = print\n"), asked), rules);
    let renaming = "Rename the class Store to Depot everywhere, tests included.";
    assert_eq!(charge(&fixture("Store()").replace("Store", "Depot"), renaming), NONE);
    assert_eq!(charge(&fixture("Store()").replace("Store", "Other"), renaming), rules);
    assert_eq!(charge(&named.replace("Store", "Depot"), renaming), rules);
}

#[test]
fn what_decides_how_evidence_is_gathered_is_charged_unless_the_task_names_it() {
    for (name, task) in [
        ("conftest.py", "add a conftest.py with a fixture"),
        ("tests/conftest.py", "tidy the conftest"),
        ("pytest.ini", "write a pytest.ini"),
        ("tox.ini", "add tox.ini"),
        ("sitecustomize.py", "add sitecustomize.py"),
        ("src/path.pth", "add path.pth"),
        ("pytest.py", "write pytest.py"),
        ("src/json.py", "write json.py"),
        ("tests/random.py", "write random.py"),
        ("unittest/__init__.py", "write unittest/__init__.py"),
        (".python-version", "pin the python version to 3.12"),
        (".tool-versions", "add .tool-versions"),
        ("mise.toml", "write a mise.toml"),
        (".mise.toml", "create .mise.toml"),
        ("runtime.txt", "update runtime.txt"),
    ] {
        let candidate = base().with(name, "y = 1\n");
        let kinds = if name.starts_with("tests/") { TaskType::UnitTest } else { TaskType::Code };
        let charge =
            |task: &str| charged(&touched(python(), &base(), &candidate, &node(kinds, &[name]), task));
        assert_eq!(charge("write tests with pytest"), [format!("evidence-rules-changed {name}")]);
        assert_eq!(charge(task), NONE, "{name}");
    }
    for harmless in ["demo/json.py", "src/demo/types.py", "code/run.py", "tests/helpers.py", "src/other.py"] {
        assert_eq!(after(TaskType::Code, harmless, "y = 1\n"), NONE, "{harmless}");
    }
    let gone = base().without("tests/conftest.py");
    let found = charged(&touched(python(), &base(), &gone, &node(TaskType::UnitTest, &[]), "tidy up"));
    assert_eq!(found, ["evidence-rules-changed tests/conftest.py"]);
}

#[test]
fn settings_of_pytest_are_compared_by_what_they_say() {
    let rewritten =
        "[tool.pytest.ini_options]\ntestpaths=['tests']\n[project]\nname='demo'\ndependencies=['x']\n";
    assert_eq!(after(TaskType::Code, "pyproject.toml", rewritten), NONE);
    let narrowed = base().text_of("pyproject.toml").replace("[\"tests\"]", "[\"nowhere\"]");
    assert_eq!(after(TaskType::Code, "pyproject.toml", &narrowed), ["evidence-rules-changed pyproject.toml"]);
    let asked = touched(
        python(),
        &base(),
        &base().with("pyproject.toml", &narrowed),
        &node(TaskType::Code, &[]),
        "change the pytest configuration",
    );
    assert_eq!(charged(&asked), NONE);
    let options = base().text_of("setup.cfg").replace("-q", "-q --deselect x");
    assert_eq!(after(TaskType::Code, "setup.cfg", &options), ["evidence-rules-changed setup.cfg"]);
    assert_eq!(
        after(TaskType::Code, "setup.cfg", "[tool:pytest]\naddopts: -q\n[metadata]\nname=other\n"),
        NONE
    );
}

#[test]
fn a_new_project_may_have_settings_that_hide_nothing() {
    let made = |settings: &str| {
        let text = format!("[project]\nname = \"demo\"\n[tool.pytest.ini_options]\n{settings}\n");
        let candidate = Map::of(&[("pyproject.toml", &text)]);
        let maker = node(TaskType::Code, &["pyproject.toml"]);
        charged(&touched_with(python(), &Map::default(), &candidate, &maker, "make it", &["pyproject.toml"]))
    };
    assert_eq!(made("testpaths = [\"tests\"]\npythonpath = [\"src\"]\naddopts = \"-q -ra\""), NONE);
    assert_eq!(made("addopts = \"--ignore=tests\""), ["evidence-rules-changed pyproject.toml"]);
    assert_eq!(made("python_files = [\"nothing_*.py\"]"), ["evidence-rules-changed pyproject.toml"]);
}

#[test]
fn what_makes_pytest_load_a_plugin_is_charged_unless_the_task_names_it() {
    for name in [
        "evil-1.0.dist-info/entry_points.txt",
        "evil.egg-info/PKG-INFO",
        "src/evil-1.0.dist-info/METADATA",
        "tests/evil.egg-info",
        "demo/EGG-INFO/entry_points.txt",
    ] {
        for kind in [TaskType::Code, TaskType::UnitTest] {
            let found = after(kind, name, "[pytest11]\nevil = evilmod\n");
            assert_eq!(found, [format!("evidence-rules-changed {name}")], "{name}");
        }
    }
    let points = "[options.entry_points]\npytest11 =\n    evil = evilmod\n";
    for (name, text) in [
        (
            "pyproject.toml",
            base().text_of("pyproject.toml") + "[project.entry-points.pytest11]\nevil = \"evilmod\"\n",
        ),
        (
            "pyproject.toml",
            base().text_of("pyproject.toml") + "[tool.poetry.plugins.pytest11]\nevil = \"evilmod\"\n",
        ),
        ("setup.cfg", base().text_of("setup.cfg") + points),
        ("setup.py", "setup(entry_points={'pytest11': ['evil = evilmod']})\n".to_owned()),
    ] {
        assert_eq!(after(TaskType::Code, name, &text), [format!("evidence-rules-changed {name}")], "{name}");
        let asked = touched(
            python(),
            &base(),
            &base().with(name, &text),
            &node(TaskType::Code, &[name]),
            "make this a pytest plugin; register the pytest plugin evilmod",
        );
        assert_eq!(charged(&asked), NONE, "{name}");
    }
    let scripts =
        base().text_of("setup.cfg") + "[options.entry_points]\nconsole_scripts =\n    demo = demo:main\n";
    assert_eq!(after(TaskType::Code, "setup.cfg", &scripts), NONE);
    assert_eq!(after(TaskType::Code, "setup.py", "setup(name='demo')\n"), NONE);
}

#[test]
fn a_new_file_that_hides_a_module_of_the_project_from_its_tests_is_charged() {
    let test = "import calc\n\n\ndef test_a():\n    assert calc.add(1, 2) == 3\n";
    let project = |own: &str| Map::of(&[("tests/test_a.py", test), (own, "def add(a, b): return a - b\n")]);
    let charge = |base: &Map, candidate: &Map, task: &str| {
        charged(&touched(python(), base, candidate, &node(TaskType::Code, &[]), task))
    };
    for (own, new) in [
        ("calc.py", "tests/calc.py"),
        ("calc.py", "tests/calc/__init__.py"),
        ("calc.py", "src/calc.py"),
        ("calc.py", "calc/__init__.py"),
        ("src/calc.py", "calc.py"),
        ("src/calc.py", "tests/calc.py"),
        ("src/calc/__init__.py", "tests/calc.py"),
        ("calc/core.py", "tests/calc.py"),
    ] {
        let base = project(own);
        let candidate = base.with(new, "def add(a, b): return a + b\n");
        let rule = [format!("evidence-rules-changed {new}")];
        assert_eq!(charge(&base, &candidate, &format!("fix add in {own}")), rule, "{own} {new}");
        let moved = candidate.without(own);
        assert_eq!(charge(&base, &moved, "move it"), NONE, "{own} {new} is only moved");
    }
    let base = project("calc.py");
    let asked = charge(&base, &base.with("tests/calc.py", ""), "write a fake into tests/calc.py");
    assert_eq!(asked, NONE);
    for fine in ["other.py", "tests/helpers.py", "app/calc.py", "tests/data/calc.py", "src/app/calc.py"] {
        assert_eq!(charge(&base, &base.with(fine, "x = 1\n"), ""), NONE, "{fine}");
    }
    let packaged = base.with("tests/__init__.py", "");
    assert_eq!(charge(&packaged, &packaged.with("tests/calc.py", ""), ""), NONE, "imported as tests.calc");
    let two =
        Map::of(&[("a/pyproject.toml", ""), ("a/calc.py", ""), ("b/pyproject.toml", ""), ("b/x.py", "")]);
    assert_eq!(charge(&two, &two.with("b/calc.py", ""), ""), NONE, "another project's");
}

#[test]
fn code_that_asks_whether_a_test_runner_runs_it_is_charged_unless_the_task_speaks_of_it() {
    for trick in [
        "if \"pytest\" in sys.modules:\n    x = 2\n",
        "x = sys.modules.get('unittest') and 2\n",
        "import importlib.util\nx = 2 if importlib.util.find_spec('_pytest') else 1\n",
        "x = 2 if any(k.startswith('PYTEST') for k in os.environ) else 1\n",
        "x = 2 if os.environ.get('PYTEST_CURRENT_TEST') else 1\n",
        "def f():\n    return 'PYTEST_VERSION' in os.environ\n",
        "if 'pytest' in sys.argv[0]:\n    x = 2\n",
        "x = any('test_' in frame.filename for frame in inspect.stack())\n",
        "x = sys._getframe(1).f_code.co_name\n",
    ] {
        assert_eq!(after(TaskType::Code, "demo.py", trick), ["test-only-behaviour demo.py"], "{trick}");
        let there = base().with("demo.py", trick);
        let more = there.with("demo.py", &format!("{trick}y = 1\n"));
        let charge = |base: &Map, candidate: &Map, task: &str| {
            charged(&touched(python(), base, candidate, &node(TaskType::Code, &[]), task))
        };
        assert_eq!(charge(&there, &more, ""), NONE, "{trick}");
        let of_runner = !trick.contains("frame");
        let task = if of_runner { "let x be 2 under pytest" } else { "log the caller of x" };
        assert_eq!(charge(&base(), &there, task), NONE, "{trick}");
        assert_eq!(after(TaskType::Code, "tests/helper.py", trick), NONE, "{trick}");
    }
    for fine in
        ["import unittest\n", "x = sys.modules['demo']\n", "'PYTEST_CURRENT_TEST is not read here'\nx = 1\n"]
    {
        assert_eq!(after(TaskType::Code, "demo.py", fine), NONE, "{fine}");
    }
}

#[test]
fn forbidden_patterns_and_the_words_of_a_task() {
    let mut owner = node(TaskType::Code, &["demo.py"]);
    owner.contract.forbidden_patterns = vec!["eval(".to_owned()];
    let found = touched(python(), &base(), &base().with("demo.py", "x = eval('1')\n"), &owner, "");
    assert_eq!(charged(&found), ["forbidden-pattern demo.py"]);
    assert!(python().named_in("a small Python script") && python().named_in("fix app.py"));
    assert!(!python().named_in("a Rust crate"));
}

#[test]
fn a_package_of_tests_that_does_something_before_its_tests_is_charged_as_a_conftest_is() {
    let evil = "import builtins\nbuiltins.open = None\n";
    for kind in [TaskType::Code, TaskType::UnitTest] {
        assert_eq!(after(kind, "tests/__init__.py", evil), ["evidence-rules-changed tests/__init__.py"]);
        for idle in ["", "\"\"\"Tests.\"\"\"\n# a word\n__all__ = ['a', \"b\"] + [\n    'c',\n]\n"] {
            assert_eq!(after(kind, "tests/__init__.py", idle), NONE, "{idle}");
        }
    }
    for hidden in ["__all__ = [x()]\n", "__all__ = []; x()\n", "f'{x()}'\n", "'a'; x()\n", "import typing\n"]
    {
        let found = after(TaskType::Code, "tests/__init__.py", hidden);
        assert_eq!(found, ["evidence-rules-changed tests/__init__.py"], "{hidden}");
    }
    let there = base().with("tests/__init__.py", evil).with("tests/deep/test_b.py", "def test_b(): pass\n");
    let charge = |candidate: &Map, task: &str| {
        charged(&touched(python(), &there, candidate, &node(TaskType::UnitTest, &[]), task))
    };
    let rule = ["evidence-rules-changed tests/__init__.py"];
    assert_eq!(charge(&there.with("tests/__init__.py", &format!("# a word\n{evil}")), ""), NONE);
    assert_eq!(charge(&there.with("tests/__init__.py", "import os\n"), ""), rule);
    assert_eq!(charge(&there.without("tests/__init__.py"), ""), rule);
    assert_eq!(charge(&there.without("tests/__init__.py"), "drop tests/__init__.py"), NONE);
    assert_eq!(charge(&there.without("tests/__init__.py"), "fix demo/__init__.py"), rule);
    let below = there.with("tests/deep/__init__.py", evil);
    assert_eq!(charge(&below, ""), ["evidence-rules-changed tests/deep/__init__.py"]);
    // A package of the project with tests beside its code, and data of tests.
    let beside = there.with("app/code.py", "").with("app/test_code.py", "def test_c(): code()\n");
    assert_eq!(charge(&beside.with("app/__init__.py", evil), ""), NONE);
    assert_eq!(charge(&there.with("tests/data/pkg/__init__.py", evil), ""), NONE);
    let alone = there.with("checks/test_c.py", "").with("checks/__init__.py", evil);
    assert_eq!(charge(&alone, ""), ["evidence-rules-changed checks/__init__.py"]);
}

#[test]
fn files_that_the_settings_name_as_tests_are_existing_tests() {
    for (name, text) in [
        ("pytest.ini", "[pytest]\npython_files = check_*.py\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\npython_files = [\"check_*.py\"]\n"),
        ("pytest.toml", "[pytest]\npython_files = [\"check_*.py\"]\n"),
        ("tox.ini", "[pytest]\npython_files = test_*.py\n    check_*.py\n"),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py\n"),
    ] {
        let base = Map::of(&[(name, text), ("demo.py", "x = 1\n"), ("check_a.py", "def check_a(): pass\n")]);
        let charge = |changed: &str| {
            let candidate = base.with(changed, "x = 2\n");
            charged(&touched(python(), &base, &candidate, &node(TaskType::Code, &[]), ""))
        };
        assert_eq!(charge("check_a.py"), ["test-changed check_a.py"], "{name}");
        assert_eq!(charge("demo.py"), NONE, "{name}");
    }
    let every = Map::of(&[("pytest.ini", "[pytest]\npython_files = *.py\n"), ("demo.py", "x = 1\n")]);
    let candidate = every.with("demo.py", "x = 2\n");
    assert_eq!(charged(&touched(python(), &every, &candidate, &node(TaskType::Code, &[]), "")), NONE);
}

const DOCUMENTED: &str = "\"\"\"A module.\n\n>>> 1 + 1\n2\n\"\"\"\n\nclass C:\n    def add(self, a, b):\n        '''Adds.\n\n        \
                          >>> c = C()\n        >>> c.add(1, 1)\n        2\n\n        So much.\n        '''\n        return a + b\n";

#[test]
fn examples_in_documentation_are_tests_where_pytest_tries_them_out() {
    for (name, settings, is_tested) in [
        ("pytest.ini", "[pytest]\naddopts = -q --doctest-modules\n", true),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--doctest-modules\"\n", true),
        ("setup.cfg", "[tool:pytest]\naddopts =\n    --doctest-modules\n", true),
        ("tox.ini", "[pytest]\naddopts = --doctest-modules\n", true),
        ("pytest.ini", "[pytest]\naddopts = -q\n", false),
    ] {
        let base = Map::of(&[(name, settings), ("demo.py", DOCUMENTED)]);
        let charge = |kind: TaskType, text: &str| {
            let found = touched(python(), &base, &base.with("demo.py", text), &node(kind, &[]), "");
            let shown: Vec<String> =
                found.iter().map(|residual| residual.class.as_str().to_owned()).collect();
            (charged(&found), shown)
        };
        let code = |text: &str| charge(TaskType::Code, text).0;
        let charges = |expected: &str| if is_tested { vec![format!("{expected} demo.py")] } else { vec![] };
        assert_eq!(
            code(&DOCUMENTED.replace("(1, 1)\n        2", "(1, 1)\n        3")),
            charges("test-changed")
        );
        assert_eq!(code(&DOCUMENTED.replace("1 + 1", "1 + 0 + 1")), charges("test-changed"));
        assert_eq!(
            code(&DOCUMENTED.replace(">>> c = C()", ">>> C = int\n        >>> c = C()")),
            charges("test-changed")
        );
        assert_eq!(code(&DOCUMENTED.replace(">>> 1 + 1\n2\n", "")), charges("test-deleted"));
        for fine in [
            DOCUMENTED.replace("return a + b", "return b + a").replace("Adds.", "The sum."),
            DOCUMENTED.replace("        So much.\n", "        >>> c.add(1, 2)\n        3\n"),
            DOCUMENTED.replace("class C:", "class D:\n    '''\n    >>> 3\n    3\n    '''\n\nclass C:"),
            DOCUMENTED.replace("def add", "def sum"),
        ] {
            assert_eq!(code(&fine), NONE, "{fine}");
        }
        if is_tested {
            let other = charge(TaskType::UnitTest, &DOCUMENTED.replace("1 + 1\n2", "1 + 2\n3"));
            assert_eq!(other, (vec![], vec!["test-changed".to_owned()]));
            let skipped = DOCUMENTED.replace("1 + 1\n", "1 + 1  # doctest: +SKIP\n");
            assert_eq!(charge(TaskType::UnitTest, &skipped).0, ["test-weakened demo.py"]);
            let gone = charge(TaskType::UnitTest, &DOCUMENTED.replace(">>> 1 + 1\n2\n", ""));
            assert_eq!(gone.0, ["test-weakened demo.py"]);
        }
    }
    for (options, name, is_tested) in [
        ("--doctest-glob=*.md", "README.md", true),
        ("--doctest-glob '*.md'", "docs/use.md", true),
        ("--doctest-glob=*.rst", "README.md", false),
        ("--doctest-modules", "README.md", false),
    ] {
        let settings = format!("[pytest]\naddopts = {options}\n");
        let base = Map::of(&[("pytest.ini", &settings), ("demo.py", ""), (name, "Use:\n\n>>> 1\n1\n")]);
        let candidate = base.with(name, "Use:\n\n>>> 2\n2\n");
        let found = charged(&touched(python(), &base, &candidate, &node(TaskType::Code, &[]), ""));
        assert_eq!(found.len(), usize::from(is_tested), "{options}");
    }
}

#[test]
fn a_function_that_only_stands_in_for_one_is_charged_unless_it_was_there_or_was_asked_for() {
    let old = "def old():\n    pass\n\n\n";
    for stub in [
        "def new(a: int, b: int):\n    pass\n",
        "def new(a) -> int: ...\n",
        "def main():\n    pass\n",
        "def annul_log():\n    pass\n",
        "def noop():\n    raise NotImplementedError\n",
        "async def new():\n    \"\"\"Says much.\n\n    And more.\n    \"\"\"\n    # later\n    raise NotImplementedError(\"later\")\n",
        "def new(\n    a: int,\n    b: int,\n) -> int:\n    'doc'\n    ...\n",
        "def new():\n    \"\"\"Says much.\"\"\"\n",
        "def new(a):\n    # TODO: implement\n    return None\n",
        "def new(a):\n    return 0  # not implemented\n",
        "class Stock:\n    def new(self):\n        pass\n",
        "class Stock:\n    def new(self, a: int) -> int:\n        raise NotImplementedError(\"not yet\")\n",
        "class Stock:\n    x = 1\n\n    @property\n    def new(self):\n        ...\n",
        "class Stock(object):\n    async def new(self):\n        \"\"\"Counts.\"\"\"\n",
        "class Old:\n    def x(self):\n        return 1\n\n\nclass Stock(Old):\n    def new(self):\n        pass\n",
        "class Stock(dict):\n    def new(self):\n        raise NotImplementedError\n",
    ] {
        assert_eq!(after(TaskType::Code, "demo.py", &format!("x = 1\n{stub}")), ["stub demo.py"], "{stub}");
        let (base, next) = (base().with("demo.py", old), base().with("demo.py", &format!("{old}{stub}")));
        let found =
            |task: &str| charged(&touched(python(), &base, &next, &node(TaskType::Code, &["demo.py"]), task));
        assert_eq!(found("add new"), ["stub demo.py"], "only the new one: {stub}");
        assert_eq!(found("add a stub of new"), NONE, "{stub}");
    }
    for code in [
        "def new(a):\n    return a\n",
        "def new(a): return {'a': 1}\n",
        "def new():\n    with open('x') as f:\n        pass\n",
        "class Base:\n    def new(self):\n        raise NotImplementedError\n",
        "class Shape(ABC):\n    @abstractmethod\n    def area(self): ...\n",
        "class Shape(Protocol):\n    def area(self) -> float: ...\n",
        "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Disc(Shape):\n    def area(self):\n        return 3\n",
        "class Quiet(BaseHTTPRequestHandler):\n    def log_message(self, *args):\n        pass\n",
        "class NullLog:\n    def write(self, text):\n        pass\n",
        "class Gone:\n    def __init__(self):\n        pass\n",
        "@app.command()\ndef new():\n    pass\n",
        "def new():\n    def seen(event):\n        pass\n\n    return run(seen)\n",
        "def new(a):\n    # TODO: make it faster\n    return a * 2\n",
        "def new(a):\n    return None\n",
        "class Bad(Exception):\n    \"\"\"Says why.\"\"\"\n",
        "@overload\ndef new(a: int) -> int: ...\n",
        "def noop(*_args, **_kw):\n    pass\n",
        "def _noop(): ...\n",
        "def do_nothing(event):\n    \"\"\"For callers that want nothing.\"\"\"\n    pass\n",
        "def null_log(text):\n    pass\n",
        "def log_noop(text):\n    pass\n",
    ] {
        assert_eq!(after(TaskType::Code, "demo.py", code), NONE, "{code}");
    }
}

#[test]
fn a_helper_of_tests_that_a_test_node_changes_is_counted() {
    let before = base().with("tests/helpers.py", "def same(a, b):\n    assert a == b\n");
    let after = before.with("tests/helpers.py", "def same(a, b):\n    return a == b\n");
    let node = node(TaskType::UnitTest, &["tests/helpers.py"]);
    let residuals = touched(python(), &before, &after, &node, "");
    assert!(residuals.iter().any(|residual| residual.class.as_str() == "test-changed"), "{residuals:?}");
}
