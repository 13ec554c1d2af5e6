//! Odd projects, odd answers, odd users: what only someone who tries to break it would do.

use perspt_testkit::server::{Ask, Gate, Point, Reply};
use serde_json::{Value, json};

use crate::support::{Language, Ran, World, bundle, intent, plan_of, planned, solution, write};

const CARGO: &str = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

fn edit(path: &str, find: &str, replace: &str) -> Value {
    json!({"operation": "edit", "path": path, "find": find, "replace": replace})
}

/// A script with this plan and this answer to everything else.
fn scripted(plan: Reply, answer: Reply) -> impl Fn(&Ask) -> Reply + Send + Sync + 'static {
    move |ask: &Ask| if intent(ask).starts_with("architect") { plan.clone() } else { answer.clone() }
}

#[track_caller]
fn refused(world: &World, before: &std::collections::BTreeMap<String, Vec<u8>>, ran: Ran, why: &str) {
    let ran = ran.expect(4).never_says("COMMIT");
    assert!(ran.out.contains(why), "no `{why}` in:\n{}", ran.out);
    assert_eq!(world.files(), *before);
}

/// A Python project with one module, whose `add` is wrong, and these files beside it.
fn wrong_add(files: &[(&str, &str)]) -> World {
    let world = World::empty();
    world.write("calc.py", "def add(a, b):\n    return a - b\n");
    files.iter().for_each(|(path, text)| world.write(path, text));
    world.git();
    world
}

const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const TEST: &str = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n";

#[test]
fn tests_that_reach_nothing_are_no_obstacle_to_a_task_that_adds_one_that_does() {
    let smoke = ("tests/test_smoke.py", "def test_ok():\n    assert True\n");
    let plan = plan_of(&["calc.py", "tests/test_calc.py"], "unit_test");
    let answer = bundle(&[write("calc.py", RIGHT), write("tests/test_calc.py", TEST)]);
    let world = wrong_add(&[smoke]).serve(scripted(plan, answer));
    world
        .agent("fix add and add a test for it")
        .expect(0)
        .says("CALIBRATE stage=test result=sees")
        .says("evidence=tests");
}

#[test]
fn an_edit_of_the_users_while_the_model_writes_an_edit_of_the_same_file_is_seen_as_such() {
    let gate = Gate::new();
    let inner = gate.clone();
    let answer = bundle(&[edit("notes.md", "a + b", "b + a")]);
    let world = World::prose().serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&["notes.md"], "code");
        }
        if ask.ordinal == 2 { answer.clone().gate(Point::AfterChunks(1), &inner) } else { answer.clone() }
    });
    let running = world.spawn(&["agent", "-y", "turn add round"]);
    gate.arrivals().wait(1);
    world.write("notes.md", "mine\n# Notes\n\nadd is a + b\n");
    gate.open();
    running.wait().expect(0).says("REBASE your_changes=notes.md").says("COMMIT").never_says("RETRY");
    assert_eq!(world.read("notes.md"), "mine\n# Notes\n\nadd is b + a\n");
}

#[test]
fn a_folder_that_the_user_puts_where_the_answer_has_a_file_is_told_to_the_model() {
    let gate = Gate::new();
    let inner = gate.clone();
    let language = Language::Python;
    let world = World::of(language).serve(planned(language, move |ask: &Ask| {
        // By now the first answer is measured; the second is asked for because its test fails.
        let wrong = bundle(&[
            write(language.lib(), &language.lib_with("a * b + 1")),
            write(
                language.new_test(),
                "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n",
            ),
        ]);
        match ask.ordinal {
            2 => wrong,
            3 => bundle(&[write(language.lib(), &language.lib_with("a * b"))])
                .gate(Point::AfterChunks(1), &inner),
            _ => {
                bundle(&[write(language.lib(), &language.lib_with("a * b")), write("tests/test_new.py", "x")])
            }
        }
    }));
    let running = world.spawn(&["agent", "-y", "add a mul function"]);
    gate.arrivals().wait(1);
    world.write("tests/test_mul.py/note.txt", "mine\n");
    gate.open();
    let ran = running.wait().expect(4).says("REBASE").says("ESCALATE");
    assert!(!ran.out.contains("COMMIT"), "{}", ran.out);
    assert_eq!(world.read("tests/test_mul.py/note.txt"), "mine\n");
}

#[test]
fn ignore_rules_of_the_answer_itself_do_not_hide_its_files() {
    let answer = bundle(&[write("more.md", "more\n"), write(".gitignore", "more.md\n")]);
    let world = World::prose().serve(scripted(plan_of(&["more.md", ".gitignore"], "code"), answer));
    let before = world.files();
    let ran = world.agent("add more");
    refused(&world, &before, ran, "`more.md` would be ignored by the `.gitignore` of this answer");
}

/// A crate whose `add` is wrong, with a unit test and an integration test that say so.
fn wrong_crate() -> World {
    let world = World::empty();
    world.write("Cargo.toml", CARGO);
    world.write("src/lib.rs", "pub mod m;\npub use m::add;\n");
    world.write(
        "src/m.rs",
        "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t1() {\n        assert_eq!(super::add(1, 1), 2);\n    }\n}\n",
    );
    world.write("tests/a.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(2, 2), 4);\n}\n");
    world.git();
    world
}

#[test]
fn a_file_with_tests_that_no_target_reads_any_more_counts_against_whoever_took_it_out() {
    let files = ["src/lib.rs", "src/m2.rs"];
    let weak = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t1() {}\n}\n";
    let answer = bundle(&[
        write("src/lib.rs", "#[path = \"m2.rs\"]\npub mod m;\npub use m::add;\n"),
        write("src/m2.rs", weak),
    ]);
    let world = wrong_crate().serve(scripted(plan_of(&files, "code"), answer));
    let before = world.files();
    let ran = world.agent("speed add up");
    refused(&world, &before, ran, "src/m.rs");
}

#[test]
fn code_of_a_language_that_the_project_does_not_have_is_not_kept_unseen() {
    let plan = plan_of(&["tools/gen.py"], "code");
    let world = World::rust().serve(scripted(plan, bundle(&[write("tools/gen.py", "def (((:\n")])));
    let before = world.files();
    let ran = world.agent("add a helper script tools/gen.py");
    refused(&world, &before, ran, "tools/gen.py");
}

#[test]
fn a_plan_with_an_endless_contract_goes_on_without_it() {
    let long = json!({"tasks": [{
        "id": "mul", "goal": "add mul", "output_files": ["notes.md", "more.md"],
        "task_type": "unit_test", "contract": {"interface_signature": "x".repeat(20_000)},
    }]});
    let language = Language::Prose;
    let world = World::of(language).serve(move |ask: &Ask| {
        match (intent(ask).starts_with("architect"), ask.nth_of_tag, ask.ordinal) {
            (true, _, 1) => Reply::text(long.to_string()),
            (true, ..) => crate::support::plan(language),
            (false, ..) => solution(language),
        }
    });
    let ran = world.agent("add a mul function").expect(0);
    assert!(!ran.out.contains("RETRY class=plan"), "{}", ran.out);
}

#[test]
fn a_provider_that_wants_hours_is_not_waited_for() {
    let world = World::prose().serve(|_: &Ask| Reply::retry_after(429, "99999"));
    world.agent("add a mul function").expect(8).warns("at most 10 minutes");
    assert_eq!(world.server().asks(), 1);
}

#[test]
fn a_wait_that_the_time_budget_does_not_cover_ends_with_5_at_once() {
    let world = World::prose().serve(|_: &Ask| Reply::retry_after(429, "300"));
    world.perspt(&["agent", "-y", "--max-time", "1", "add a mul function"]).expect(5).warns("--max-time");
    assert_eq!(world.server().asks(), 1);
}

#[test]
fn what_the_tools_found_stands_in_the_certificate_though_the_last_answers_were_prose() {
    let language = Language::Python;
    let world = World::of(language).serve(planned(language, move |ask: &Ask| {
        if ask.ordinal == 2 { crate::support::attempt(language, "a * b + 1") } else { Reply::text("Sorry.") }
    }));
    world.agent("add a mul function").expect(4).says("  found ").says("test_mul");
}

#[test]
fn ctrl_c_at_the_question_pauses_and_the_question_is_asked_again() {
    let language = Language::Prose;
    let world = World::of(language).serve(planned(language, move |_| solution(language)));
    crate::control::at_a_terminal(&world, "\x03").expect(130).says("status=paused");
    assert_eq!(world.server().asks(), 1);
    world.perspt(&["resume", "-y"]).expect(0).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn a_tool_that_talks_without_end_is_named_and_ends_with_6() {
    let mut world = World::rust().serve(|_: &Ask| Reply::status(500, "not to be asked"));
    let bin = world.base().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = "#!/bin/sh\nhead -c 60000 /dev/zero | tr '\\0' x >&2\nexit 3\n";
    std::fs::write(bin.join("cargo"), script).unwrap();
    std::fs::set_permissions(bin.join("cargo"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.set("PATH", &format!("{}:{}", bin.display(), world.get("PATH")));
    let ran = world.agent("add a mul function").expect(6).warns("cargo");
    assert!(ran.err.len() < 4000, "{} bytes", ran.err.len());
    assert_eq!(world.server().requests().len(), 0);
}

#[test]
fn a_module_that_the_ignore_rules_keep_out_is_named_before_anything_is_asked() {
    let world = World::python().serve(planned(Language::Python, |_| solution(Language::Python)));
    world.write(
        "calc/__init__.py",
        "from calc._version import version\n\n\ndef add(a, b):\n    return a + b\n",
    );
    world.write(".gitignore", "calc/_version.py\n");
    world.write("calc/_version.py", "version = '1'\n");
    world.agent("add a mul function").expect(6).warns("calc/_version.py");
    assert!(world.server().asks() <= 1, "no node is paid for");
}

#[test]
fn a_stub_that_no_test_reaches_is_not_kept() {
    let lib = format!("{}\n\ndef sub(a, b):\n    raise NotImplementedError\n", crate::support::PYTHON_LIB);
    let plan = plan_of(&["calc/__init__.py"], "code");
    let world = World::python().serve(scripted(plan, bundle(&[write("calc/__init__.py", &lib)])));
    let before = world.files();
    let ran = world.agent("add a sub function");
    refused(&world, &before, ran, "stands for code that is still to be written");
}

#[test]
fn a_patch_is_taken_as_its_lines_are_whatever_its_header_counts() {
    let patches = [
        (
            "one.md",
            "@@ -1,2 +1,3 @@\n first\n second\n+\n+third\n+\n+\n+fourth\n",
            "first\nsecond\n\nthird\n\n\nfourth\n",
        ),
        // Two hunks, miscounted, with an empty line between and after them.
        (
            "two.md",
            "@@ -1,1 +1,1 @@\n-first\n+First\n\n@@ -2,1 +2,9 @@\n-second\n+Second\n+third\n\n",
            "First\nSecond\nthird\n",
        ),
        ("three.md", "@@ -1,1 +1,9 @@\n first\n-second\n+Second\n+third\n", "first\nSecond\nthird\n"),
    ];
    let world = World::prose();
    patches.iter().for_each(|(name, ..)| world.write(name, "first\nsecond\n"));
    let diff =
        |(path, patch, _): &(&str, &str, &str)| json!({"operation": "diff", "path": path, "patch": patch});
    let answer = bundle(&patches.iter().map(diff).collect::<Vec<_>>());
    let world = world.serve(scripted(plan_of(&patches.map(|patch| patch.0), "code"), answer));
    world.agent("say it another way").expect(0);
    patches.iter().for_each(|(name, _, expected)| assert_eq!(world.read(name), *expected));
}

#[test]
fn cases_that_code_gives_to_a_test_are_not_swapped_for_others() {
    let world = World::python();
    world.write("calc/__init__.py", "CASES = [(1, 2, 3), (2, 2, 4)]\n\n\ndef add(a, b):\n    return a + b\n");
    let table = "import pytest\n\nfrom calc import CASES, add\n\n\n@pytest.mark.parametrize('a, b, sum', CASES)\ndef test_add(a, b, sum):\n    assert add(a, b) == sum\n";
    world.write("tests/test_calc.py", table);
    let wrong = "CASES = [(1, 2, 0), (2, 2, 0)]\n\n\ndef add(a, b):\n    return 0\n";
    let answer = bundle(&[
        write("calc/__init__.py", wrong),
        write("tests/test_more.py", "def test_more():\n    assert True\n"),
    ]);
    // That the node owns the test's file, and could have changed it, is no excuse.
    let files = ["calc/__init__.py", "tests/test_calc.py", "tests/test_more.py"];
    let world = world.serve(scripted(plan_of(&files, "unit_test"), answer));
    let before = world.files();
    let ran = world.agent("make add faster").never_says("COMMIT");
    assert!([4, 7].contains(&ran.code), "{}", ran.out);
    assert_eq!(world.files(), before);
}

#[test]
fn cases_that_one_node_rewrote_are_not_missed_by_the_next() {
    let world = World::python();
    let table = |cases: &str| {
        format!(
            "import pytest\n\nfrom calc import add\n\n\n@pytest.mark.parametrize('a, sum', {cases})\ndef test_one_more(a, sum):\n    assert add(a, 1) == sum\n"
        )
    };
    world.write("tests/test_calc.py", &table("[(1, 2), (2, 3)]"));
    let tasks = json!({"tasks": [
        {"id": "first", "goal": "first", "output_files": ["tests/test_calc.py", "calc/__init__.py"], "task_type": "unit_test"},
        {"id": "then", "goal": "then", "output_files": ["calc/more.py", "tests/test_more.py"], "dependencies": ["first"]},
    ]})
    .to_string();
    let rewritten = table("[(1, 3), (2, 4)]");
    let world =
        world.serve(move |ask: &Ask| match ask.tag().map(|tag| tag.node.as_str()).unwrap_or_default() {
            "first" => bundle(&[
                write("calc/__init__.py", "def add(a, b):\n    return a + b + 1\n"),
                write("tests/test_calc.py", &rewritten),
            ]),
            "then" => bundle(&[
                write("calc/more.py", "def more(a):\n    return a + 1\n"),
                write(
                    "tests/test_more.py",
                    "from calc.more import more\n\n\ndef test_more():\n    assert more(1) == 2\n",
                ),
            ]),
            _ => Reply::text(tasks.clone()),
        });
    let task = "let add count one more, change the tests with it, then add more";
    world
        .perspt(&["agent", "-y", "--allow", "tests:any", task])
        .expect(0)
        .says("consents=tests:1")
        .says("completed=2/2");
}

#[test]
fn a_file_that_nobody_could_see_is_not_written_over() {
    let world = World::prose();
    std::fs::write(world.ws().join("old.md"), b"caf\xe9, important\n").unwrap();
    let before = world.files();
    let world = world.serve(scripted(plan_of(&["old.md"], "code"), bundle(&[write("old.md", "y\n")])));
    world.agent("add y to old.md").expect(4).says("not a text file");
    assert_eq!(world.files(), before);
}

#[test]
fn a_name_that_no_disk_takes_or_nobody_can_see_is_a_finding_of_the_plan() {
    let long = format!("calc/{}.py", "n".repeat(300));
    let deep = format!("calc/{}m.py", "deep/".repeat(900));
    for (name, said) in
        [(long.as_str(), "too long"), (&deep, "too long"), ("calc/a\u{202e}yp.py", "invisible")]
    {
        let plan = plan_of(&[name], "code");
        let world = World::prose().serve(move |ask: &Ask| {
            if intent(ask).starts_with("architect") { plan.clone() } else { Reply::text("prose") }
        });
        world.agent("add a mul function").expect(4);
        let told = world.server().requests().iter().any(|request| request.text().contains(said));
        assert!(told, "{name}");
    }
}

#[test]
fn a_file_that_never_compiled_and_that_nobody_touches_is_no_obstacle() {
    let world = World::python();
    world.write("legacy/old.py", "print 'an older language'\n");
    world.write("templates/{{name}}/main.py", "import {{name}}\n");
    let world = world.serve(planned(Language::Python, |_| solution(Language::Python)));
    world.agent("add a mul function").expect(0).says("COMMIT node=mul");
    let broken = bundle(&[write("legacy/old.py", "print 'still an older language'\n")]);
    let world = World::python();
    world.write("legacy/old.py", "print 'an older language'\n");
    let world = world.serve(scripted(plan_of(&["legacy/old.py"], "code"), broken));
    world.agent("mend legacy/old.py").expect(4).never_says("COMMIT");
}

#[test]
fn the_fallback_graph_shows_the_file_that_the_task_names() {
    let world = World::prose();
    world.write("helper.md", "the helper's own words\n");
    let world = world.serve(|_: &Ask| Reply::text("prose"));
    world.agent("add a line to helper.md").expect(4).says("source=fallback");
    let requests = world.server().requests();
    let first = requests.iter().find(|request| !request.text().contains("intent=architect")).unwrap();
    assert!(first.text().contains("the helper's own words"), "{}", first.text());
}

#[test]
fn a_root_that_cannot_be_measured_is_in_the_way_only_of_what_touches_it() {
    let monorepo = || {
        let world = World::empty();
        for (root, import) in [("one", ""), ("two", "import surely_not_installed_x\n")] {
            world.write(
                &format!("{root}/pyproject.toml"),
                &format!(
                    "[project]\nname = \"{root}\"\nversion = \"0.1\"\ndependencies = [\"surely_not_installed_x\"]\n"
                ),
            );
            world.write(&format!("{root}/{root}.py"), &format!("{import}def add(a, b):\n    return a + b\n"));
            world.write(
                &format!("{root}/test_{root}.py"),
                &format!("from {root} import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
            );
        }
        world.git();
        world
    };
    let answer = |root: &str| {
        let code = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";
        let file = format!("{root}/{root}.py");
        (plan_of(&[file.as_str()], "code"), bundle(&[write(&file, code)]))
    };
    let (plan, reply) = answer("one");
    let world = monorepo().serve(scripted(plan, reply));
    world.agent("add sub to one/one.py").expect(0).warns("`two` cannot be measured").says("COMMIT node=mul");
    let (plan, reply) = answer("two");
    let world = monorepo().serve(scripted(plan, reply));
    world.agent("add sub to two/two.py").expect(6).warns("surely_not_installed_x").never_says("COMMIT");
    assert_eq!(world.server().asks(), 1, "the plan is all that is asked for");
}

#[test]
fn a_test_that_a_node_of_the_session_wrote_is_changed_by_a_later_one_without_consent() {
    let tasks = json!({"tasks": [
        {"id": "mul", "goal": "mul", "output_files": ["calc/__init__.py", "tests/test_mul.py"]},
        {"id": "join", "goal": "join", "node_class": "integration", "output_files": ["calc/more.py"],
            "modifies": ["calc/__init__.py", "tests/test_mul.py"], "dependencies": ["mul"]},
    ]})
    .to_string();
    let test =
        |sum: &str| format!("from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == {sum}\n");
    let world = World::python().serve(move |ask: &Ask| {
        let (body, sum) = match ask.tag().map(|tag| tag.node.as_str()).unwrap_or_default() {
            "mul" => ("a * b", "12"),
            "join" => ("a * b + 1", "13"),
            _ => return Reply::text(tasks.clone()),
        };
        let lib = write("calc/__init__.py", &Language::Python.lib_with(body));
        bundle(
            &[lib, write("tests/test_mul.py", &test(sum)), write("calc/more.py", "MORE = 1\n")]
                [..if sum == "12" { 2 } else { 3 }],
        )
    });
    world.agent("add mul, then count one more").expect(0).says("completed=2/2").never_says("consents=");
}

/// An answer that mends nothing and makes the failing test pass all the same.
fn only_looks_right(name: &'static str, text: &str) {
    let world = wrong_add(&[("tests/test_calc.py", TEST)])
        .serve(scripted(plan_of(&[name], "code"), bundle(&[write(name, text)])));
    let before = world.files();
    world.agent("fix add").expect(7).says(&format!("consent=evidence:{name}")).never_says("COMMIT");
    assert_eq!(world.files(), before);
}

#[test]
fn a_conftest_that_mends_the_code_for_the_tests_alone_waits_for_the_user() {
    only_looks_right("conftest.py", "import calc\n\ncalc.add = lambda a, b: a + b\n");
}

#[test]
fn code_that_asks_whether_tests_run_waits_for_the_user() {
    let text = "import sys\n\n\ndef add(a, b):\n    return a + b if 'pytest' in sys.modules else a - b\n";
    only_looks_right("calc.py", text);
}
