//! A hopeless model: whatever it says, the tree stays as it was and nothing is called a success.

use perspt_testkit::server::{Ask, Reply};
use serde_json::json;

use crate::support::{Language, Ran, World, bundle, intent, plan_of, planned, write};

/// Runs a model that always answers so, and checks that nothing came of it.
fn hopeless(language: Language, answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> (World, Ran) {
    let world = World::of(language).serve(planned(language, answer));
    let before = world.files();
    let ran = world
        .agent("add a mul function")
        .expect(4)
        .says("ESCALATE node=mul")
        .says("completed=0/1 status=failed")
        .never_says("COMMIT");
    assert_eq!(world.files(), before, "the tree is byte for byte as it was");
    let closed =
        world.events().into_iter().find(|event| event["kind"] == "node_closed").expect("a terminal record");
    let certificate = &closed["end"]["certificate"];
    assert!(!certificate["residuals"].as_array().unwrap().is_empty(), "{certificate}");
    assert!(!certificate["next"].as_str().unwrap().is_empty());
    world.perspt(&["resume"]).expect(4);
    (world, ran)
}

#[test]
fn prose_and_code_without_a_path_are_no_answers_and_six_are_all_there_are() {
    let answers: [fn(usize) -> String; 2] = [
        |nth| format!("Sure! I have added the function for you. ({nth})"),
        |nth| format!("```rust\npub fn mul(a: i64, b: i64) -> i64 {{ a * b }} // {nth}\n```"),
    ];
    for answer in answers {
        let (world, ran) = hopeless(Language::Prose, move |ask| Reply::text(answer(ask.ordinal)));
        ran.says("class=malformed");
        assert_eq!(world.server().asks(), 7, "one plan and six answers");
    }
}

#[test]
fn syntax_errors_are_never_committed() {
    for (language, seen) in [(Language::Rust, "cargo-check=fail"), (Language::Python, "python-compile=fail")]
    {
        let (_, ran) =
            hopeless(language, move |_| bundle(&[write(language.lib(), &language.lib_with("a * * ("))]));
        ran.says(seen).says("reason=Repeated");
    }
}

/// A model that answers so in a plan that gives it an existing test file: the work waits, and lands nowhere.
fn waits(language: Language, artifact: serde_json::Value) -> (World, Ran) {
    let world = World::of(language).serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&[language.lib(), language.old_test()], "unit_test");
        }
        bundle(&[write(language.lib(), &language.lib_with("a * b")), artifact.clone()])
    });
    let before = world.files();
    let ran = world.perspt(&["agent", "-y", "--allow", "tests", "add a mul function"]).expect(7);
    assert_eq!(world.files(), before, "the tree is byte for byte as it was");
    let ran = ran.says("RETRY class=correction").says("WAIT node=mul").never_says("COMMIT");
    (world, ran)
}

#[test]
fn an_ignored_rust_test_waits_for_the_user() {
    let text = "#[test]\n#[ignore]\nfn adds_negative() {\n    assert_eq!(calc::add(-1, 1), 0);\n}\n";
    let (_, ran) = waits(Language::Rust, write("tests/api.rs", text));
    ran.says("consent=tests:tests/api.rs::adds_negative");
}

#[test]
fn a_deleted_python_test_waits_for_the_user() {
    let (_, ran) = waits(Language::Python, json!({"operation": "delete", "path": "tests/test_calc.py"}));
    ran.says("consent=tests:tests/test_calc.py::test_add");
}

#[test]
fn a_hostile_path_is_refused_as_a_failed_attempt() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("owned");
    let absolute = target.to_string_lossy().into_owned();
    for path in
        ["../owned".to_owned(), absolute, ".git/hooks/pre-commit".to_owned(), "calc/../../owned".to_owned()]
    {
        let named = path.clone();
        let (world, ran) =
            hopeless(Language::Prose, move |ask| bundle(&[write(&named, &format!("# {}\n", ask.ordinal))]));
        assert!(ran.out.contains("class=retarget"), "{path}: {}", ran.out);
        assert!(
            !target.exists()
                && !world.base().join("owned").exists()
                && !world.ws().join(".git/hooks/pre-commit").exists()
        );
    }
}

#[test]
fn a_hostile_command_waits_and_is_never_run() {
    let outside = tempfile::tempdir().unwrap();
    let mark = outside.path().join("ran");
    let command = format!("touch {}", mark.display());
    let answer = json!({"artifacts": [write("notes.md", "x\n")], "commands": [command]}).to_string();
    let world = World::prose().serve(planned(Language::Prose, move |_| Reply::text(answer.clone())));
    let before = world.files();
    world.agent("add a mul function").expect(7).says("consent=\"command:touch ").never_says("COMMIT");
    world.perspt(&["resume", "--allow", "tests:any", "--allow", "command:touch"]).expect(7);
    assert_eq!(world.files(), before);
    // Even where it is permitted, it reaches nothing outside the copy.
    world.perspt(&["resume", "--allow", "command:any"]);
    assert!(!mark.exists());
    assert_eq!(world.files().len(), before.len());
}

#[test]
fn code_under_test_cannot_write_outside_its_slot() {
    let outside = tempfile::tempdir().unwrap();
    let mark = outside.path().join("owned");
    let text = format!(
        "import pathlib\n\ntry:\n    pathlib.Path({:?}).write_text('x')\nexcept OSError:\n    pass\n\n\ndef mul(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return a + b\n",
        mark.to_string_lossy()
    );
    hopeless(Language::Python, move |_| {
        bundle(&[
            write("calc/__init__.py", &text),
            write(
                "tests/test_mul.py",
                "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n",
            ),
        ])
    });
    assert!(!mark.exists());
}

#[test]
fn a_bundle_that_changes_nothing_is_not_stable() {
    let (world, ran) =
        hopeless(Language::Prose, |_| bundle(&[write("notes.md", "# Notes\n\nadd is a + b\n")]));
    ran.says("the answer changes nothing");
    assert_eq!(world.server().asks(), 4, "three times the same is enough");
}

#[test]
fn files_of_nobody_and_shared_rules_are_out_of_bounds() {
    let (_, ran) = hopeless(Language::Python, move |ask| {
        bundle(&[match ask.ordinal % 3 {
            0 => write("elsewhere/new.py", "X = 1\n"),
            1 => write("AGENTS.md", "obey\n"),
            _ => json!({"operation": "delete", "path": "pyproject.toml"}),
        }])
    });
    for path in ["elsewhere/new.py", "AGENTS.md", "pyproject.toml"] {
        let refused =
            |line: &&str| line.starts_with("RETRY class=retarget") && line.contains(&format!("`{path}` "));
        assert!(ran.out.lines().any(|line| refused(&line)), "{path}: {}", ran.out);
    }
}

#[test]
fn a_scope_that_is_too_small_escalates_as_topology() {
    let (world, ran) = hopeless(Language::Prose, |_| {
        Reply::text(
            json!({"requires_replan": {"reason": "I need the parser", "needed_files": ["calc/parser.py"]}})
                .to_string(),
        )
    });
    ran.says("category=topology-mismatch");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn four_measured_failures_are_the_first_answer_and_three_corrections() {
    let (world, ran) = hopeless(Language::Python, |ask| {
        // Four findings that differ in more than their numbers: three alike in a row would end it sooner.
        crate::support::attempt(Language::Python, ["a + b", "None", "'x'", "[a]"][(ask.ordinal - 2) % 4])
    });
    assert_eq!(ran.out.matches("ENERGY").count(), 4);
    assert_eq!(world.server().asks(), 5);
}
