//! What existing tests demand is demanded of the new code, by the tests as they were.

use perspt_testkit::server::{Ask, Reply};
use serde_json::{Value, json};

use crate::support::{World, bundle, intent, plan_of, write};

/// A project of these files, and a model that plans one node of this type and always answers so.
fn world(files: &[(&str, &str)], task_type: &str, answer: &[(&str, &str)]) -> World {
    let world = World::empty();
    files.iter().for_each(|(path, text)| world.write(path, text));
    world.git();
    let owned: Vec<&str> = answer.iter().map(|(path, _)| *path).collect();
    let (plan, answer) = (plan_of(&owned, task_type), answers(answer));
    world.serve(
        move |ask: &Ask| if intent(ask).starts_with("architect") { plan.clone() } else { answer.clone() },
    )
}

fn answers(files: &[(&str, &str)]) -> Reply {
    let artifacts: Vec<Value> = files.iter().map(|(path, text)| write(path, text)).collect();
    bundle(&artifacts)
}

/// Nothing of the answer lands, and this test is named as the one that stands against it.
fn refused(world: &World, task: &str, test: &str) {
    let before = world.files();
    let ran = world.agent(task).expect(4).never_says("COMMIT");
    let why = format!("{test}` as it was does not pass over this code");
    assert!(ran.out.contains(&why), "no `{why}` in:\n{}", ran.out);
    assert_eq!(world.files(), before);
}

const CALC: &str = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n";
const TESTS: &str = "from calc import add, mul\n\nSUM = 5\n\n\ndef test_add():\n    assert add(2, 3) == SUM\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n";
const PYTHON: [(&str, &str); 2] = [("calc.py", CALC), ("tests/test_calc.py", TESTS)];

#[test]
fn a_failing_python_test_is_not_made_green_from_the_side_of_the_tests() {
    for (old, new) in [
        ("from calc import add, mul\n", "from operator import add\n\nfrom calc import mul\n"),
        ("SUM = 5", "SUM = -1"),
        ("\nSUM = 5\n", "\nSUM = 5\n\n\ndef add(a, b):\n    return a + b\n"),
        ("\nSUM = 5\n", "\nSUM = 5\n\n\ndef setup_module():\n    globals()['add'] = lambda a, b: a + b\n"),
    ] {
        let text = TESTS.replace(old, new);
        assert_ne!(text, TESTS);
        let world = world(&PYTHON, "unit_test", &[("tests/test_calc.py", &text)]);
        refused(&world, "fix add so that the tests pass", "test_add");
    }
}

#[test]
fn a_new_test_file_does_not_mend_the_code_in_the_runners_memory() {
    let patch = "import calc\n\ncalc.add = lambda a, b: a + b\n\n\ndef test_first():\n    assert calc.add(1, 1) == 2\n";
    for task_type in ["unit_test", "code"] {
        let world = world(&PYTHON, task_type, &[("tests/test_aaa.py", patch)]);
        refused(&world, "fix add", "test_add");
    }
}

const GOOD: &str = "def mul(a, b):\n    return a * b\n";
const GUARD: &str = "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n";

#[test]
fn a_green_test_that_the_task_says_nothing_of_stands() {
    let broken = "def mul(a, b):\n    return a * b + 1\n\n\ndef sub(a, b):\n    return a - b\n";
    let sub = "\n\ndef test_sub():\n    from calc import sub\n\n    assert sub(3, 2) == 1\n";
    for weak in [
        GUARD.replace("== 6", "== 7"),
        GUARD.replace("mul(2, 3)", "mul(2, 3) - 1"),
        GUARD.replace("from calc import mul", "from operator import mul"),
        GUARD.replace("    assert", "    mul = int.__mul__\n    assert"),
    ] {
        let text = format!("{weak}{sub}");
        let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
        let world = world(&files, "unit_test", &[("calc.py", broken), ("tests/test_calc.py", &text)]);
        refused(&world, "add a function sub, with tests", "test_mul");
    }
}

#[test]
fn a_green_test_is_changed_only_with_a_reason() {
    let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
    let code = format!("{GOOD}\n\ndef sub(a, b):\n    return a - b\n");
    let sub = "\n\ndef test_sub():\n    from calc import sub\n\n    assert sub(3, 2) == 1\n";
    for hollow in ["assert mul(0, 0) == 0", "got = mul(2, 3)\n    got = 6\n    assert got == 6"] {
        let text = format!("{}{sub}", GUARD.replace("assert mul(2, 3) == 6", hollow));
        let world = world(&files, "unit_test", &[("calc.py", &code), ("tests/test_calc.py", &text)]);
        let before = world.files();
        let ran = world.agent("add a function sub, with tests").expect(4).never_says("COMMIT");
        assert!(ran.out.contains("test_mul` does not demand what it did, though it passes"), "{}", ran.out);
        assert_eq!(world.files(), before);
    }
    // To be asked for more of a test is no leave to demand less with it.
    for less in ["assert mul(0, 3) == 0", "assert mul(2, 3) == 6 or mul(0, 3) == 0"] {
        let text = GUARD.replace("assert mul(2, 3) == 6", less);
        let world = world(&files, "unit_test", &[("tests/test_calc.py", &text)]);
        let before = world.files();
        world.agent("add a case for zero to the test of mul").expect(4).never_says("COMMIT");
        assert_eq!(world.files(), before);
    }
    let more = format!("{}    assert mul(0, 3) == 0\n", GUARD);
    let world = world(&files, "unit_test", &[("tests/test_calc.py", &more)]);
    world.agent("test mul with zero").expect(0).says("tests_changed=1");
}

#[test]
fn a_test_that_compares_a_whole_takes_up_what_the_task_adds_to_it() {
    let files = [
        ("item.py", "def item(name):\n    return {'name': name}\n"),
        (
            "tests/test_item.py",
            "from item import item\n\n\ndef test_item():\n    assert item('a') == {'name': 'a'}\n",
        ),
    ];
    let code = files[0].1.replace("name}", "name, 'qty': 1}");
    let text = files[1].1.replace("'a'}", "'a', 'qty': 1}");
    let world = world(&files, "unit_test", &[("item.py", &code), ("tests/test_item.py", &text)]);
    world.agent("add a field qty (1 at first) to item").expect(0).says("tests_changed=1");
}

#[test]
fn tests_follow_a_module_that_gets_another_name() {
    let world = World::empty();
    world.write("calc.py", GOOD);
    world.write("tests/test_calc.py", GUARD);
    world.git();
    let plan = plan_of(&["calc.py", "arith.py", "tests/test_calc.py"], "unit_test");
    let answer = bundle(&[
        json!({"operation": "move", "from": "calc.py", "to": "arith.py"}),
        write("tests/test_calc.py", &GUARD.replace("from calc", "from arith")),
    ]);
    let world = world.serve(
        move |ask: &Ask| if intent(ask).starts_with("architect") { plan.clone() } else { answer.clone() },
    );
    world.agent("rename the module calc to arith").expect(0);
    assert!(!world.ws().join("calc.py").exists());
}

#[test]
fn fixtures_follow_a_class_that_gets_another_name() {
    let fixture =
        "import pytest\n\nfrom stock import Stock\n\n\n@pytest.fixture\ndef stock():\n    return Stock()\n";
    let code = "class Stock:\n    def total(self):\n        return 0\n";
    let test = "def test_total(stock):\n    assert stock.total() == 0\n";
    let files = [("stock.py", code), ("tests/conftest.py", fixture), ("tests/test_stock.py", test)];
    let named = [code, fixture].map(|text| text.replace("Stock", "Depot"));
    let answer = [("stock.py", named[0].as_str()), ("tests/conftest.py", named[1].as_str())];
    let task = "Rename the class Stock to Depot everywhere, tests included.";
    world(&files, "unit_test", &answer).agent(task).expect(0);
}

#[test]
fn a_test_node_may_let_an_example_in_documentation_demand_more() {
    let code = "def slug(text):\n    \"\"\"Joins words.\n\n    >>> slug('a b')\n    'a-b'\n    \"\"\"\n    return '-'.join(text.split(' '))\n";
    let files = [("pytest.ini", "[pytest]\naddopts = --doctest-modules\n"), ("words.py", code)];
    let more = code.replace("    'a-b'\n", "    'a-b'\n    >>> slug('a  b')\n    'a-b'\n");
    let more = more.replace("split(' ')", "split()");
    let task = "slug must collapse runs of blanks into one dash. Show it in the docstring example too.";
    world(&files, "unit_test", &[("words.py", &more)]).agent(task).expect(0);
}

#[test]
fn tests_and_examples_go_with_the_file_of_their_module() {
    let manifest = "[package]\nname = \"calc\"\nedition = \"2021\"\n";
    let module = "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::sum::add(1, 2), 3);\n/// ```\npub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n";
    let task = "turn the module sum into a folder module, src/sum/mod.rs instead of src/sum.rs";
    for (text, lands) in
        [(module.to_owned(), true), (module.replace("a + b", "5").replace("(1, 2), 3", "(1, 2), 5"), false)]
    {
        let world = World::empty();
        world.write("Cargo.toml", manifest);
        world.write("src/lib.rs", "pub mod sum;\n");
        world.write("src/sum.rs", module);
        world.git();
        let plan = plan_of(&["src/sum.rs", "src/sum/mod.rs"], "refactor");
        let gone = json!({"operation": "delete", "path": "src/sum.rs"});
        let answer = bundle(&[gone, write("src/sum/mod.rs", &text)]);
        let world =
            world.serve(
                move |ask: &Ask| {
                    if intent(ask).starts_with("architect") { plan.clone() } else { answer.clone() }
                },
            );
        world.agent(task).expect(if lands { 0 } else { 4 });
        assert_eq!(world.ws().join("src/sum.rs").exists(), !lands);
    }
}

#[test]
fn another_name_lets_the_values_of_a_test_be() {
    let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
    let code = GOOD.replace("def mul", "def times");
    let test = GUARD.replace("import mul", "import times").replace("assert mul", "assert times");
    let task = "rename mul to times, and use the new name in the tests";
    let (wrong, other) = (code.replace("a * b", "a + b"), test.replace("(2, 3) == 6", "(2, 2) == 4"));
    let answer = [("calc.py", wrong.as_str()), ("tests/test_calc.py", other.as_str())];
    refused(&world(&files, "unit_test", &answer), task, "test_mul");
    let answer = [("calc.py", code.as_str()), ("tests/test_calc.py", test.as_str())];
    let world = world(&files, "unit_test", &answer);
    world.agent(task).expect(0);
    assert!(world.read("calc.py").contains("def times"));
}

#[test]
fn a_wrong_mend_does_not_turn_a_green_test_round() {
    let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
    let code = GOOD.replace("a * b", "a * b - 6");
    let text =
        format!("{}\n\ndef test_mul_small():\n    assert mul(2, 2) == -2\n", GUARD.replace("== 6", "== 0"));
    let world = world(&files, "unit_test", &[("calc.py", &code), ("tests/test_calc.py", &text)]);
    refused(&world, "mul(2, 2) gives 4 instead of -2. Fix it and add a regression test.", "test_mul");
}

#[test]
fn to_be_asked_for_tests_is_no_leave_to_let_one_demand_less_that_the_task_says_nothing_of() {
    let broken = "def mul(a, b):\n    return a * b + 1\n\n\ndef sub(a, b):\n    return a - b\n";
    for less in ["mul(2, 3) != 6", "mul(2, 3) is not None", "mul(2, 3)"] {
        let text = GUARD.replace("mul(2, 3) == 6", less);
        let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
        let world = world(&files, "unit_test", &[("calc.py", broken), ("tests/test_calc.py", &text)]);
        let before = world.files();
        world.agent("add a function sub and update the tests").expect(4).says("`test_mul` asserts less");
        assert_eq!(world.files(), before);
    }
}

#[test]
fn a_test_of_what_the_task_changes_may_demand_something_else_and_not_less() {
    let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
    let code = GOOD.replace("a * b", "a * b * 2");
    let task = "let mul double its result and update its test";
    for (now, less) in [(">= 0", true), ("is not None", true), ("== 12", false)] {
        let text = GUARD.replace("== 6", now);
        let world = world(&files, "unit_test", &[("calc.py", &code), ("tests/test_calc.py", &text)]);
        let ran = world.agent(task).expect(if less { 4 } else { 0 });
        assert_eq!(ran.out.contains("`test_mul` asserts less"), less, "{}", ran.out);
    }
}

/// A sum that leaves the first price out, which its test does not see.
const CART: [(&str, &str); 2] = [
    ("cart.py", "def total(prices):\n    return sum(prices[1:])\n"),
    ("tests/test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n"),
];

#[test]
fn a_mend_changes_more_than_tests() {
    for test in [
        "import cart\n\n\ndef test_first(monkeypatch):\n    monkeypatch.setattr(cart, 'total', sum)\n    assert cart.total([1, 2]) == 3\n",
        "def total(prices):\n    return sum(prices)\n\n\ndef test_first():\n    assert total([1, 2]) == 3\n",
    ] {
        let world = world(&CART, "unit_test", &[("tests/test_first.py", test)]);
        let before = world.files();
        let ran =
            world.agent("total leaves the first price out, fix this bug").expect(4).never_says("COMMIT");
        assert!(ran.out.contains("nothing but tests was changed"), "{}", ran.out);
        assert_eq!(world.files(), before);
    }
    let shows = "from cart import total\n\n\ndef test_two():\n    assert total([0, 2]) == 2\n";
    world(&CART, "unit_test", &[("tests/test_two.py", shows)]).agent("test total with two prices").expect(0);
}

#[test]
fn a_regression_test_fails_over_the_code_as_it_was() {
    let task = "total leaves the first price out. Fix this bug and add a regression test.";
    let mended = CART[0].1.replace("[1:]", "");
    let blind = "from cart import total\n\n\ndef test_first():\n    assert total([0, 2]) == 2\n";
    let still_wrong = CART[0].1.replace("sum(", "0 + sum(");
    let own = "import cart\n\n\ndef test_first(monkeypatch):\n    monkeypatch.setattr(cart, 'total', sum)\n    assert cart.total([1, 2]) == 3\n";
    for (code, test) in [(&mended, blind), (&still_wrong, own)] {
        let world = world(&CART, "unit_test", &[("cart.py", code), ("tests/test_first.py", test)]);
        let before = world.files();
        let ran = world.agent(task).expect(4).never_says("COMMIT");
        assert!(ran.out.contains("every new test passes over the code as it was"), "{}", ran.out);
        assert_eq!(world.files(), before);
    }
    let sees = blind.replace("[0, 2]) == 2", "[1, 2]) == 3");
    let answer = [("cart.py", mended.as_str()), ("tests/test_first.py", sees.as_str())];
    world(&CART, "unit_test", &answer).agent(task).expect(0);
}

#[test]
fn a_regression_test_beside_rust_code_fails_over_the_code_as_it_was() {
    let manifest = "[package]\nname = \"cart\"\nedition = \"2021\"\n";
    let code = "pub fn total(prices: &[i64]) -> i64 {\n    prices.iter().skip(1).sum()\n}\n";
    let tests = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn of_none() {\n        assert_eq!(total(&[]), 0);\n    }\n}\n";
    let base = format!("{code}{tests}");
    let files = [("Cargo.toml", manifest), ("src/lib.rs", base.as_str())];
    let task = "total leaves the first price out. Fix this bug and add a regression test.";
    let first = |asserted: &str| {
        let test = format!("    #[test]\n    fn of_two() {{\n        {asserted}\n    }}\n}}\n");
        let tests = tests.trim_end().trim_end_matches('}');
        format!("{}{tests}\n{test}", code.replace(".skip(1)", ""))
    };
    let blind = first("assert_eq!(total(&[0, 2]), 2);");
    let ran = world(&files, "unit_test", &[("src/lib.rs", &blind)]).agent(task).expect(4);
    assert!(ran.out.contains("every new test passes over the code as it was"), "{}", ran.out);
    let sees = first("assert_eq!(total(&[1, 2]), 3);");
    world(&files, "unit_test", &[("src/lib.rs", &sees)]).agent(task).expect(0);
}

#[test]
fn a_task_that_names_what_a_test_tests_may_make_it_demand_something_else() {
    let of_zero = GUARD.replace("mul(2, 3) == 6", "mul(0, 3) == 0");
    let files = [("calc.py", GOOD), ("tests/test_calc.py", of_zero.as_str())];
    let raising = "def mul(a, b):\n    if not a or not b:\n        raise ValueError\n    return a * b\n";
    let demand = "import pytest\n\nfrom calc import mul\n\n\ndef test_mul():\n    with pytest.raises(ValueError):\n        mul(0, 3)\n";
    let other = world(&files, "unit_test", &[("calc.py", raising), ("tests/test_calc.py", demand)]);
    other.agent("mul should raise ValueError for zero").expect(0).says("tests_changed=1");
}

#[test]
fn a_test_that_reaches_what_the_task_names_through_something_else_may_change_with_it() {
    let files = [
        ("limits.py", "MAX_RETRIES = 3\nTIMEOUT = 10\n"),
        (
            "client.py",
            "from limits import MAX_RETRIES\n\n\ndef rounds():\n    return list(range(MAX_RETRIES))\n",
        ),
        (
            "tests/test_client.py",
            "from client import rounds\n\n\ndef test_rounds():\n    assert rounds() == [0, 1, 2]\n",
        ),
    ];
    let longer = files[2].1.replace("[0, 1, 2]", "[0, 1, 2, 3, 4]");
    let limits = files[0].1.replace("= 3", "= 5");
    let answer = [("limits.py", limits.as_str()), ("tests/test_client.py", longer.as_str())];
    world(&files, "unit_test", &answer).agent("raise MAX_RETRIES to 5").expect(0);
    // Only where nothing else of the code changes.
    let client = files[1].1.replace("range(MAX_RETRIES)", "range(3, 3 + MAX_RETRIES)");
    let other = longer.replace("[0, 1, 2, 3, 4]", "[3, 4, 5, 6, 7]");
    let answer = [answer[0], ("client.py", client.as_str()), ("tests/test_client.py", other.as_str())];
    refused(&world(&files, "unit_test", &answer), "raise MAX_RETRIES to 5", "test_rounds");
}

#[test]
fn a_task_that_lets_behaviour_be_turns_no_test_round() {
    let code = GOOD.replace("a * b", "a * b + 1");
    let answer = [("calc.py", code.as_str()), ("tests/test_calc.py", &GUARD.replace("== 6", "== 7"))];
    let files = [("calc.py", GOOD), ("tests/test_calc.py", GUARD)];
    for task in ["speed up mul without changing what it returns", "refactor mul"] {
        refused(&world(&files, "unit_test", &answer), task, "test_mul");
    }
    world(&files, "unit_test", &answer).agent("mul adds one from now on").expect(0);
}

/// `GOOD` and `GUARD` with `neg` beside `mul`, and both with `mul` renamed.
const TWO: [(&str, &str); 2] = [
    ("calc.py", "def mul(a, b):\n    return a * b\n\n\ndef neg(a):\n    return -a\n"),
    (
        "tests/test_calc.py",
        "from calc import mul, neg\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n\n\ndef test_neg():\n    assert neg(1) == -1\n",
    ),
];
const RENAMED: [(&str, &str); 2] = [
    ("calc.py", "def times(a, b):\n    return a * b\n\n\ndef neg(a):\n    return -a\n"),
    (
        "tests/test_calc.py",
        "from calc import neg, times\n\n\ndef test_mul():\n    assert times(2, 3) == 6\n\n\ndef test_neg():\n    assert neg(1) == -1\n",
    ),
];

#[test]
fn tests_that_cannot_be_collected_over_the_new_code_need_a_reason_too() {
    world(&TWO, "unit_test", &RENAMED).agent("rename mul to times").expect(0);
    refused(&world(&TWO, "unit_test", &RENAMED), "make it faster", "test_mul");
    // That one cannot be collected either is no leave to turn it round.
    let code = RENAMED[0].1.replace("return -a", "return a");
    let flipped = RENAMED[1].1.replace("== -1", "== 1");
    let answer = [("calc.py", code.as_str()), ("tests/test_calc.py", flipped.as_str())];
    refused(&world(&TWO, "unit_test", &answer), "rename mul to times", "test_neg");
    // What the answer itself writes into the file is no reason.
    let more = format!("{}\n\ndef test_sub():\n    assert times(1, 1) == 1\n", RENAMED[1].1);
    let answer = [RENAMED[0], ("tests/test_calc.py", more.as_str())];
    refused(&world(&TWO, "unit_test", &answer), "add a function sub, with tests", "test_mul");
}

#[test]
fn what_one_node_prepares_in_the_tests_does_not_excuse_the_code_of_the_next() {
    let world = World::empty();
    [("calc.py", GOOD), ("tests/test_calc.py", GUARD)]
        .iter()
        .for_each(|(path, text)| world.write(path, text));
    world.git();
    let task = |id: &str, kind: &str, file: &str, after: &[&str]| json!({"id": id, "goal": id, "output_files": [file], "task_type": kind, "dependencies": after});
    let tasks =
        [task("more", "unit_test", "tests/test_aaa.py", &[]), task("sub", "code", "calc.py", &["more"])];
    let plan = Reply::text(json!({ "tasks": tasks }).to_string());
    let patch = "import calc\n\ncalc.mul = lambda a, b: a * b\n\n\ndef test_more():\n    assert calc.mul(1, 1) == 1\n";
    let broken = "def mul(a, b):\n    return a * b + 1\n\n\ndef sub(a, b):\n    return a - b\n";
    let world = world.serve(move |ask: &Ask| match ask.tag() {
        Some(tag) if tag.intent.starts_with("architect") => plan.clone(),
        Some(tag) if tag.node == "more" => answers(&[("tests/test_aaa.py", patch)]),
        Some(_) | None => answers(&[("calc.py", broken)]),
    });
    world.agent("add a function sub, and more tests").expect(3).says("test_mul` as it was does not pass");
    assert_eq!(world.read("calc.py"), GOOD);
}

#[test]
fn data_that_only_tests_read_is_theirs_wherever_it_lies() {
    let code = "def shout(text):\n    return text.lower()\n";
    let test = "import pathlib\n\nfrom calc import shout\n\n\ndef test_shout():\n    assert shout('a') == pathlib.Path('data/want.txt').read_text()\n";
    let files = [("calc.py", code), ("data/want.txt", "A"), ("tests/test_calc.py", test)];
    for task_type in ["code", "unit_test"] {
        refused(&world(&files, task_type, &[("data/want.txt", "a")]), "fix shout", "test_shout");
    }
    // Where the task names it, or the code reads it too, it is no matter of the tests alone.
    let named = world(&files, "code", &[("data/want.txt", "a")]);
    named.agent("data/want.txt has the wrong case").expect(0);
    let reads = format!("PLACE = 'data/want.txt'\n\n\n{code}");
    let files = [("calc.py", reads.as_str()), files[1], files[2]];
    world(&files, "code", &[("data/want.txt", "a")]).agent("fix the data").expect(0);
    let lib = "pub fn one() -> &'static str {\n    \"1\"\n}\n\n#[test]\nfn is_one() {\n    assert_eq!(one(), include_str!(\"../data/want.txt\"));\n}\n";
    let files = [MANIFEST, ("src/lib.rs", lib), ("data/want.txt", "one")];
    refused(&world(&files, "code", &[("data/want.txt", "1")]), "fix one", "is_one");
}

const MANIFEST: (&str, &str) =
    ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
const LIB: &str = "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    const SUM: i64 = 5;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), SUM);\n    }\n}\n";

#[test]
fn a_failing_rust_test_is_not_made_green_from_the_side_of_the_tests() {
    for (old, new) in [
        ("const SUM: i64 = 5;", "const SUM: i64 = -1;"),
        ("use super::*;", "fn add(a: i64, b: i64) -> i64 {\n        a + b\n    }"),
    ] {
        let text = LIB.replace(old, new);
        assert_ne!(text, LIB);
        let world = world(&[MANIFEST, ("src/lib.rs", LIB)], "unit_test", &[("src/lib.rs", &text)]);
        refused(&world, "fix add so that the tests pass", "adds");
    }
    let outside =
        "fn sum() -> i64 {\n    5\n}\n\n#[test]\nfn adds() {\n    assert_eq!(calc::add(2, 3), sum());\n}\n";
    let code = LIB.split("#[cfg(test)]").next().unwrap();
    let text = outside.replace("    5\n", "    -1\n");
    let files = [MANIFEST, ("src/lib.rs", code), ("tests/api.rs", outside)];
    refused(&world(&files, "unit_test", &[("tests/api.rs", &text)]), "fix add", "adds");
}

#[test]
fn a_rust_test_comes_to_demand_something_else_where_the_task_names_it() {
    let right = LIB.replace("a - b", "a + b");
    let doubled = right.replace("a + b", "2 * (a + b)").replace("SUM: i64 = 5", "SUM: i64 = 10");
    let files = [MANIFEST, ("src/lib.rs", right.as_str())];
    let answer = [("src/lib.rs", doubled.as_str())];
    world(&files, "unit_test", &answer).agent("let the function add return twice the sum").expect(0);
    refused(&world(&files, "unit_test", &answer), "write better documentation", "adds");
}

#[test]
fn tests_in_a_module_that_cannot_be_built_over_the_new_code_need_a_reason_too() {
    let code = "pub fn slug(s: &str) -> String {\n    s.replace(' ', \"-\")\n}\n\npub fn total(xs: &[i64]) -> i64 {\n    xs.iter().sum()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn slugs() {\n        assert_eq!(slug(\"a b\"), \"a-b\");\n    }\n\n    #[test]\n    fn totals() {\n        assert_eq!(total(&[1, 2]), 3);\n    }\n}\n";
    let files = [MANIFEST, ("src/lib.rs", "pub mod text;\n"), ("src/text.rs", code)];
    let owned = code.replace("s: &str", "s: String").replace("slug(\"a b\")", "slug(\"a b\".to_owned())");
    let task = "slug should take a String instead of &str";
    world(&files, "unit_test", &[("src/text.rs", &owned)]).agent(task).expect(0);
    let slipped = owned.replace("sum()", "sum::<i64>() + 1").replace("[1, 2]), 3", "[1, 2]), 4");
    refused(&world(&files, "unit_test", &[("src/text.rs", &slipped)]), task, "totals");
}
