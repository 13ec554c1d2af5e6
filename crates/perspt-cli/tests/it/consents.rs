//! What only the user can permit: work that needs it waits, and one command publishes it.

use perspt_testkit::server::{Ask, Reply};
use serde_json::{Value, json};

use crate::control::typing;
use crate::support::{World, intent, write};

/// A project of these files, and a model that plans one node `n` with these words besides and always answers so.
pub fn world(files: &[(&str, &str)], task: Value, answer: Value) -> World {
    let world = World::empty();
    files.iter().for_each(|(path, text)| world.write(path, text));
    world.git();
    let mut node = json!({"id": "n", "goal": "do the task", "output_files": []});
    for (key, value) in task.as_object().unwrap() {
        node[key] = value.clone();
    }
    let (plan, answer) = (Reply::text(json!({"tasks": [node]}).to_string()), Reply::text(answer.to_string()));
    world.serve(
        move |ask: &Ask| if intent(ask).starts_with("architect") { plan.clone() } else { answer.clone() },
    )
}

const GREET: &str = "def greet(name):\n    return \"Hello \" + name\n";
const TEST: &str = "from app import greet\n\n\ndef test_greet():\n    assert greet(\"a\") == \"Hello a\"\n";
pub const PROJECT: [(&str, &str); 2] = [("app.py", GREET), ("tests/test_app.py", TEST)];

pub fn says_hi() -> Value {
    json!({"artifacts": [
        write("app.py", &GREET.replace("Hello", "Hi")),
        write("tests/test_app.py", &TEST.replace("Hello", "Hi")),
    ]})
}

fn declared() -> Value {
    json!([{"path": "tests/test_app.py", "test": "test_greet", "change": "update", "why": "another word"}])
}

pub fn greets() -> World {
    let files = json!({"output_files": ["app.py"], "changes_tests": declared()});
    world(&PROJECT, files, says_hi())
}

#[test]
fn a_declared_change_of_a_test_waits_and_one_command_publishes_it_without_a_new_call() {
    let world = greets();
    let before = world.files();
    let ran = world.agent("greet says Hi instead of Hello").expect(7);
    let ran = ran.says("WAIT node=n consent=tests:tests/test_app.py::test_greet").never_says("COMMIT");
    ran.says("unfinished=n:waiting").warns("perspt resume --allow tests`");
    assert_eq!(world.files(), before);
    assert_eq!(world.server().asks(), 2);
    let measured = world.outcomes("measured").len();

    world.perspt(&["status"]).expect(0).says("waits for tests:tests/test_app.py::test_greet");
    world.perspt(&["resume"]).expect(7);
    let ran = world.perspt(&["resume", "--allow", "tests"]).expect(0);
    ran.says("COMMIT node=n").says("evidence=tests consents=tests:1");
    assert!(world.read("app.py").contains("Hi ") && world.read("tests/test_app.py").contains("Hi a"));
    assert_eq!(world.server().asks(), 2, "nothing is asked again");
    assert_eq!(world.outcomes("measured").len(), measured, "nothing is measured again");
    world.perspt(&["ledger", "--verify"]).expect(0);
}

#[test]
fn with_the_consent_given_it_lands_at_once_in_any_language_of_the_task() {
    let world = greets();
    let task = "greet soll Hi statt Hello sagen";
    world.perspt(&["agent", "-y", "--allow", "tests", task]).expect(0).says("consents=tests:1");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn an_undeclared_change_is_told_once_and_then_waits() {
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let world = world(&PROJECT, files, says_hi());
    let before = world.files();
    let ran = world.perspt(&["agent", "-y", "--allow", "tests", "greet says Hi"]).expect(7);
    let ran = ran.says("RETRY class=correction").says("declares it").never_says("COMMIT");
    ran.warns("--allow tests:tests/test_app.py::test_greet");
    assert_eq!(world.files(), before);
    assert_eq!(world.server().asks(), 3, "a plan, an answer, a correction");
    world.perspt(&["resume", "--allow", "tests:any"]).expect(0).says("COMMIT node=n");
}

#[test]
fn tests_that_are_weakened_instead_of_the_code_being_mended_never_land_by_themselves() {
    let broken = "def add(a, b):\n    return a - b\n";
    let test = "from app import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n";
    for (old, new) in [("== 5", "== -1"), ("    assert add(2, 3) == 5", "    add(2, 3)")] {
        let answer = json!({"artifacts": [write("tests/test_app.py", &test.replace(old, new))]});
        let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
        let world = world(&[("app.py", broken), ("tests/test_app.py", test)], files, answer);
        let before = world.files();
        let ran = world.perspt(&["agent", "-y", "--allow", "tests", "fix add so that the tests pass"]);
        assert!([4, 7].contains(&ran.code), "{}", ran.out);
        ran.never_says("COMMIT");
        assert_eq!(world.files(), before, "{new}");
    }
}

#[test]
fn at_a_terminal_the_question_shows_both_texts_and_a_yes_publishes() {
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let world = world(&PROJECT, files, says_hi());
    let ran = typing(&world, &["agent", "greet says Hi"], "", "y\n");
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(ran.out.matches("Allow this").count(), 1, "{}", ran.out);
    for text in ["\"Hello a\"", "\"Hi a\"", "as it was, it fails over the new code"] {
        assert!(ran.out.contains(text), "no {text} in {}", ran.out);
    }
    assert_eq!(world.server().asks(), 2);
    assert!(world.read("app.py").contains("Hi "));
}

#[test]
fn at_a_terminal_a_no_rejects_and_a_reason_corrects() {
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let refused = world(&PROJECT, files.clone(), says_hi());
    let ran = typing(&refused, &["agent", "greet says Hi"], "", "y\n||n\n");
    assert_eq!((ran.code, ran.out.contains("REJECTED node=n")), (7, true), "{}", ran.out);
    assert!(refused.read("app.py").contains("Hello"));

    let told = world(&PROJECT, files, says_hi());
    let ran = typing(&told, &["agent", "greet says Hi"], "", "y\n||keep the test as it is\n||n\n");
    assert_eq!(ran.code, 7, "{}", ran.out);
    let requests = told.server().requests();
    assert!(requests.last().unwrap().text().contains("keep the test as it is"));
}

#[test]
fn tests_are_removed_renamed_and_moved_by_consent_or_freely_where_nothing_is_lost() {
    let two = "def greet(name):\n    return name\n\n\ndef shout(name):\n    return name.upper()\n";
    let tests = "from app import greet, shout\n\n\ndef test_greet():\n    assert greet(\"a\") == \"a\"\n\n\ndef test_shout():\n    assert shout(\"a\") == \"A\"\n";
    let project = [("app.py", two), ("tests/test_app.py", tests)];
    let remove = json!({"artifacts": [
        write("app.py", "def greet(name):\n    return name\n"),
        write("tests/test_app.py", "from app import greet\n\n\ndef test_greet():\n    assert greet(\"a\") == \"a\"\n"),
    ], "changes_tests": [{"path": "tests/test_app.py", "test": "test_shout", "change": "remove", "why": "shout goes"}]});
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let removed = world(&project, files.clone(), remove);
    removed.perspt(&["agent", "-y", "--allow", "tests", "drop shout and its test"]).expect(0);
    assert!(!removed.read("tests/test_app.py").contains("shout"));

    let rename = json!({"artifacts": [
        write("app.py", &two.replace("greet", "hello")),
        write("tests/test_app.py", &tests.replace("greet", "hello")),
    ]});
    let renamed = world(&project, files, rename);
    renamed.agent("rename greet to hello").expect(0).never_says("consents=");

    let moved = json!({"artifacts": [
        write("tests/test_app.py", &tests[..tests.find("\n\n\ndef test_shout").unwrap() + 1].replace("greet, shout", "greet")),
        write("tests/test_shout.py", "from app import shout\n\n\ndef test_shout():\n    assert shout(\"a\") == \"A\"\n"),
    ]});
    let files = json!({"output_files": ["tests/test_app.py", "tests/test_shout.py"]});
    let moved = world(&project, files, moved);
    moved.agent("give shout a test file of its own").expect(0).never_says("consents=");
}

#[test]
fn a_test_that_was_red_before_stays_red_by_consent() {
    let project = [
        ("app.py", "def one():\n    return 2\n"),
        ("tests/test_app.py", "from app import one\n\n\ndef test_one():\n    assert one() == 1\n"),
    ];
    let code = "def one():\n    return 2\n\n\ndef two():\n    return 2\n";
    let test = "from app import two\n\n\ndef test_two():\n    assert two() == 2\n";
    let answer = |red: &[&str]| json!({"artifacts": [write("app.py", code), write("tests/test_two.py", test)], "leaves_red": red});
    let files = json!({"output_files": ["app.py", "tests/test_two.py"]});
    let told = world(&project, files.clone(), answer(&["test_one"]));
    told.agent("add two, with a test").expect(7).says("consent=red:tests/test_app.py::test_one");
    assert_eq!(told.server().asks(), 2);
    told.perspt(&["resume", "--allow", "red"]).expect(0).says("consents=red:1");
    assert_eq!(told.server().asks(), 2);

    let silent = world(&project, files, answer(&[]));
    silent.agent("add two, with a test").expect(7).says("consent=red:").never_says("ESCALATE");
    silent.perspt(&["resume", "--allow", "red:any"]).expect(0);
}

#[test]
fn a_script_in_an_empty_folder_lands_and_the_summary_says_that_nothing_tests_it() {
    let fizz = "for i in range(1, 4):\n    print(i)\n";
    let files = json!({"output_files": ["fizz.py"]});
    let world = world(&[], files, json!({"artifacts": [write("fizz.py", fizz)]}));
    let ran = world.agent("schreibe ein Skript fizz.py, das zählt").expect(0);
    ran.says("COMMIT node=n").says("evidence=syntax").says("no test loads it: fizz.py");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn any_folder_is_a_workspace_and_code_that_no_tool_knows_waits() {
    let notes =
        [("README.md", "# Notes\n\nTeh list.\n"), ("notes/a.md", "a\n"), ("index.html", "<p>x</p>\n")];
    let prose = json!({"artifacts": [
        write("README.md", "# Notes\n\nThe list.\n"),
        write("index.html", "<p>y</p>\n"),
        write("Dockerfile", "FROM scratch\n"),
    ]});
    let files = json!({"output_files": ["README.md", "index.html", "Dockerfile"]});
    let prose = world(&notes, files, prose);
    prose.agent("fix the typo").expect(0).says("evidence=data");

    let script = json!({"artifacts": [write("deploy.pl", "print 'x';\n")]});
    let world = world(&notes, json!({"output_files": ["deploy.pl"]}), script);
    world.agent("add deploy.pl").expect(7).says("consent=unmeasured:deploy.pl");
    world.perspt(&["resume", "--allow", "unmeasured"]).expect(0).says("evidence=none");
}

#[test]
fn commands_that_repeat_a_stage_are_skipped_and_others_wait() {
    let project = [("app.py", "X = 1\n"), ("tests/test_app.py", "def test_x():\n    assert True\n")];
    let answer = |command: &str| json!({"artifacts": [write("app.py", "X = 2\n")], "commands": [command]});
    let files = json!({"output_files": ["app.py", "made.txt"]});
    let skipped = world(&project, json!({"output_files": ["app.py"]}), answer("pytest -q"));
    skipped.agent("raise X").expect(0).says("COMMAND skipped=\"pytest -q\"");

    let other = world(&project, files.clone(), answer("python3 -c 'open(\"made.txt\", \"w\").write(\"x\")'"));
    let before = other.files();
    other.agent("raise X").expect(7).says("consent=\"command:python3 -c");
    assert_eq!(other.files(), before);
    let measured = other.outcomes("measured").len();
    other.perspt(&["resume", "--allow", "command:any"]).expect(0);
    assert!(other.outcomes("measured").len() > measured, "it is measured after the command");
    assert_eq!(other.read("made.txt"), "x");

    let stray = world(
        &project,
        json!({"output_files": ["app.py"]}),
        answer("python3 -c 'open(\"tests/test_app.py\", \"w\")'"),
    );
    stray
        .perspt(&["agent", "-y", "--allow", "command:any", "raise X"])
        .expect(4)
        .says("changed a file that is not");
}

#[test]
fn an_inline_rust_test_is_changed_by_consent_and_one_beside_it_is_added_freely() {
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lib = "pub fn greet() -> &'static str {\n    \"Hello\"\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn greets() {\n        assert_eq!(greet(), \"Hello\");\n    }\n}\n";
    let project = [("Cargo.toml", manifest), ("src/lib.rs", lib), (".gitignore", "/target\n")];
    let declared =
        json!([{"path": "src/lib.rs", "test": "greets", "change": "update", "why": "another word"}]);
    let task = json!({"output_files": ["src/lib.rs"], "changes_tests": declared});
    let changed =
        world(&project, task, json!({"artifacts": [write("src/lib.rs", &lib.replace("Hello", "Hi"))]}));
    let before = changed.files();
    changed.agent("greet says Hi").expect(7).says("consent=tests:src/lib.rs::tests::greets");
    assert_eq!(changed.files(), before);
    changed.perspt(&["resume", "--allow", "tests"]).expect(0).says("evidence=tests consents=tests:1");
    assert_eq!(changed.server().asks(), 2);

    let more = lib.replace(
        "    #[test]\n    fn",
        "    #[test]\n    fn is_short() {\n        assert!(greet().len() < 9);\n    }\n\n    #[test]\n    fn",
    );
    let added = world(
        &project,
        json!({"output_files": ["src/lib.rs"]}),
        json!({"artifacts": [write("src/lib.rs", &more)]}),
    );
    added.agent("test that greet is short").expect(0).says("(2-passed,0-failed)").never_says("consents=");
}

#[test]
fn what_decides_how_tests_run_waits_and_lands_by_consent_where_it_was_declared() {
    let hook = "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n";
    for (file, text) in [("conftest.py", hook), ("pytest.ini", "[pytest]\naddopts = -ra\n")] {
        let declared = json!([{"path": file, "change": "update", "why": "the task"}]);
        let task = json!({"output_files": [file], "changes_tests": declared});
        let world = world(&PROJECT, task, json!({"artifacts": [write(file, text)]}));
        let before = world.files();
        let ran = world.perspt(&["agent", "-y", "--allow", "tests:any", "change how tests run"]).expect(7);
        ran.says(&format!("consent=evidence:{file}")).warns("perspt resume --allow evidence`");
        assert_eq!(world.files(), before);
        world.perspt(&["resume", "--allow", "evidence"]).expect(0).says("consents=evidence:1");
        assert_eq!(world.server().asks(), 2);
    }
}

#[test]
fn a_fixture_and_a_test_in_an_existing_file_are_added_without_consent() {
    let fixture = "import pytest\n\n\n@pytest.fixture\ndef name():\n    return \"b\"\n";
    let more = format!("{TEST}\n\ndef test_greet_b(name):\n    assert greet(name) == \"Hello b\"\n");
    let answer = json!({"artifacts": [write("conftest.py", fixture), write("tests/test_app.py", &more)]});
    let world = world(&PROJECT, json!({"output_files": ["conftest.py", "tests/test_app.py"]}), answer);
    let ran = world.agent("test greet with a fixture").expect(0).says("(2-passed,0-failed)");
    ran.never_says("consents=").never_says("RETRY");
}

/// A folder of notes whose plan has a node that waits (code that no tool knows), with these nodes besides, each of
/// which writes the file of its name.
fn one_waits(others: &[Value]) -> World {
    let world = World::prose();
    let tasks = [&[json!({"id": "code", "goal": "g", "output_files": ["deploy.pl"]})], others].concat();
    let plan = json!({"tasks": tasks}).to_string();
    world.serve(move |ask: &Ask| {
        let answer = match ask.tag().map(|tag| tag.node.as_str()).unwrap_or_default() {
            "code" => write("deploy.pl", "print 'x';\n"),
            "-" => return Reply::text(plan.clone()),
            node => write(&format!("{node}.md"), "more\n"),
        };
        Reply::text(json!({"artifacts": [answer]}).to_string())
    })
}

#[test]
fn a_node_that_waits_holds_up_no_other() {
    let world = one_waits(&[json!({"id": "more", "goal": "g", "output_files": ["more.md"]})]);
    let ran = world.agent("two things").expect(7).says("WAIT node=code").says("COMMIT node=more");
    ran.says("completed=1/2").says("unfinished=code:waiting");
    assert_eq!(world.read("more.md"), "more\n");
    assert!(!world.ws().join("deploy.pl").exists());
    let ran = world.perspt(&["resume", "--allow", "unmeasured"]).expect(0);
    ran.says("COMMIT node=code").says("completed=2/2").says("consents=unmeasured:1");
    assert_eq!(world.read("deploy.pl"), "print 'x';\n");
    assert_eq!(world.server().asks(), 3, "nothing is asked again");
    world.perspt(&["ledger", "--verify"]).expect(0).says("2 commits");
}

#[test]
fn what_depends_on_a_node_that_waits_is_done_after_the_resume() {
    let after = json!({"id": "after", "goal": "g", "output_files": ["after.md"], "dependencies": ["code"]});
    let world = one_waits(&[after]);
    let before = world.files();
    let ran = world.agent("two things").expect(7).never_says("NODE id=after").never_says("BLOCKED");
    ran.says("code:waiting,after:queued");
    assert_eq!((world.files(), world.server().asks()), (before, 2));
    world.perspt(&["resume", "--allow", "unmeasured"]).expect(0).says("COMMIT node=after");
    assert_eq!(world.read("after.md"), "more\n");
    assert_eq!(world.server().asks(), 3);
}

#[test]
fn a_word_that_is_no_consent_ends_with_2_wherever_it_stands() {
    let world = one_waits(&[]);
    for word in ["nonsense", "tests:", "command", ":any", "Tests"] {
        world.perspt(&["agent", "-y", "--allow", word, "x"]).expect(2).warns("is no consent");
    }
    std::fs::write(world.home().join("config.toml"), "allow = [\"nonsense\"]\n").unwrap();
    world.agent("x").expect(2).warns("is no consent").warns("config.toml");
    assert!(world.sessions().is_empty());
}

#[test]
fn a_consent_in_the_configuration_is_like_the_flag() {
    let world = one_waits(&[]);
    let config = world.home().join("config.toml");
    std::fs::write(&config, "allow = [\"tests\", \"unmeasured\"]\n").unwrap();
    world.agent("one thing").expect(0).says("consents=unmeasured:1");
    let greeting = greets();
    std::fs::write(greeting.home().join("config.toml"), "allow = [\"tests\"]\n").unwrap();
    greeting.agent("greet doit dire Hi au lieu de Hello").expect(0).says("consents=tests:1");
}

#[test]
fn what_the_user_writes_elsewhere_while_work_waits_is_measured_with_it() {
    let world = greets();
    world.agent("greet says Hi instead of Hello").expect(7);
    let mine = "from app import greet\n\n\ndef test_mine():\n    assert greet(\"b\") == \"Hello b\"\n";
    world.write("tests/test_mine.py", mine);
    // What the user wants now is not what waits: a test that nobody consented to change fails.
    world
        .perspt(&["resume", "--allow", "tests"])
        .says("REBASE your_changes=tests/test_mine.py")
        .never_says("COMMIT");
    assert!(world.read("app.py").contains("Hello") && world.read("tests/test_mine.py") == mine);
}

#[test]
fn an_edit_of_the_file_that_waits_is_never_lost() {
    let edits = json!({"operation": "edit", "path": "app.py", "find": "Hello", "replace": "Hi"});
    let answer = json!({"artifacts": [edits, write("tests/test_app.py", &TEST.replace("Hello", "Hi"))]});
    let world = world(&PROJECT, json!({"output_files": ["app.py"], "changes_tests": declared()}), answer);
    world.agent("greet says Hi instead of Hello").expect(7);
    world.write("app.py", &format!("{GREET}\n\nMINE = 1\n"));
    let ran = world.perspt(&["resume", "--allow", "tests"]).expect(0);
    ran.says("REBASE your_changes=app.py").says("COMMIT node=n");
    let both = world.read("app.py");
    assert!(both.contains("MINE = 1") && both.contains("\"Hi \""), "{both}");

    // What would be lost is refused: where the user has made the file meanwhile, theirs stands.
    let world = one_waits(&[]);
    world.agent("one thing").expect(7);
    world.write("deploy.pl", "print 'mine';\n");
    world.perspt(&["resume", "--allow", "unmeasured"]).expect(4).never_says("COMMIT");
    assert_eq!(world.read("deploy.pl"), "print 'mine';\n");
}
