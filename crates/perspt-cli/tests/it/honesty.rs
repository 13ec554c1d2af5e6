//! A hopeless model: whatever it says, the tree stays as it was and nothing is called a success.

use perspt_testkit::server::{Ask, Reply};
use serde_json::{Value, json};

use crate::support::{Language, Ran, World, bundle, intent, plan_of, planned, write};

/// Runs a model that always answers so, and checks that nothing came of it.
fn hopeless(language: Language, answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> (World, Ran) {
    hopeless_in(World::of(language).serve(planned(language, answer)))
}

fn hopeless_in(world: World) -> (World, Ran) {
    let before = world.files();
    let ran = world
        .agent("add a mul function")
        .expect(4)
        .says("ESCALATE node=mul")
        .says("completed=0/1 status=failed");
    assert_eq!(world.files(), before, "the tree is byte for byte as it was");
    assert!(!ran.out.contains("COMMIT"));
    let closed =
        world.events().into_iter().find(|event| event["kind"] == "node_closed").expect("a terminal record");
    let certificate = &closed["end"]["certificate"];
    assert!(!certificate["residuals"].as_array().unwrap().is_empty(), "{certificate}");
    assert!(!certificate["next"].as_str().unwrap().is_empty());
    world.perspt(&["resume"]).expect(4);
    (world, ran)
}

fn both(answer: fn(Language, &Ask) -> Reply, seen: [&str; 2]) {
    for (language, seen) in [(Language::Rust, seen[0]), (Language::Python, seen[1])] {
        let (_, ran) = hopeless(language, move |ask| answer(language, ask));
        assert!(ran.out.contains(seen), "no `{seen}` in {}", ran.out);
    }
}

#[test]
fn prose_is_no_answer() {
    both(
        |_, ask| Reply::text(format!("Sure! I have added the function for you. ({})", ask.ordinal)),
        ["class=malformed", "class=malformed"],
    );
}

#[test]
fn code_without_a_stated_path_is_no_answer() {
    both(
        |_, ask| {
            Reply::text(format!(
                "```rust\npub fn mul(a: i64, b: i64) -> i64 {{ a * b }} // {}\n```",
                ask.ordinal
            ))
        },
        ["class=malformed", "class=malformed"],
    );
}

#[test]
fn syntax_errors_are_never_committed() {
    both(
        |language, ask| {
            bundle(&[write(
                language.lib(),
                &language.lib_with(&format!("a * * {}", "(".repeat(ask.ordinal))),
            )])
        },
        ["cargo-check=fail", "python-compile=fail"],
    );
}

#[test]
fn a_stub_fails_the_test_that_names_what_it_must_do() {
    let stub = |language: Language| if language == Language::Rust { "todo!()" } else { "None" };
    for language in [Language::Rust, Language::Python] {
        let (_, ran) = hopeless(language, move |_| crate::support::attempt(language, stub(language)));
        assert!(ran.out.contains("reason=Repeated"), "{}", ran.out);
    }
}

/// A node of type code that owns an existing test file all the same.
fn with_old_test(language: Language, content: &'static str) -> (World, Ran) {
    let world = World::of(language).serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&[language.lib(), language.old_test()], "code");
        }
        let comment = if language == Language::Rust { "//" } else { "#" };
        let test = if content.is_empty() {
            json!({"operation": "delete", "path": language.old_test()})
        } else {
            write(language.old_test(), content)
        };
        bundle(&[
            write(language.lib(), &format!("{}{comment} {}\n", language.lib_with("a * b"), ask.ordinal)),
            test,
        ])
    });
    hopeless_in(world)
}

#[test]
fn a_weakened_rust_test_is_seen() {
    let (_, ran) = with_old_test(Language::Rust, "#[test]\nfn adds_negative() {\n    assert!(true);\n}\n");
    assert!(ran.out.contains("structure=fail"), "{}", ran.out);
}

#[test]
fn a_weakened_python_test_is_seen() {
    let (_, ran) = with_old_test(Language::Python, "def test_add():\n    assert True\n");
    assert!(ran.out.contains("structure=fail"), "{}", ran.out);
}

#[test]
fn a_deleted_rust_test_is_seen() {
    let (_, ran) = with_old_test(Language::Rust, "");
    assert!(ran.out.contains("structure=fail"), "{}", ran.out);
}

#[test]
fn a_deleted_python_test_is_seen() {
    let (_, ran) = with_old_test(Language::Python, "");
    assert!(ran.out.contains("structure=fail"), "{}", ran.out);
}

#[test]
fn an_ignored_rust_test_counts_as_failing_even_in_a_test_node() {
    let world = World::rust().serve(|ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&["src/lib.rs", "tests/api.rs"], "unit_test");
        }
        bundle(&[write("tests/api.rs", &format!("// {}\n#[test]\n#[ignore]\nfn adds_negative() {{\n    assert_eq!(calc::add(-1, 1), 0);\n}}\n", ask.ordinal))])
    });
    hopeless_in(world);
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
            hopeless(Language::Python, move |ask| bundle(&[write(&named, &format!("# {}\n", ask.ordinal))]));
        assert!(ran.out.contains("class=retarget"), "{path}: {}", ran.out);
        assert!(
            !target.exists()
                && !world.base().join("owned").exists()
                && !world.ws().join(".git/hooks/pre-commit").exists()
        );
    }
}

#[test]
fn a_hostile_command_is_refused_and_never_run() {
    let outside = tempfile::tempdir().unwrap();
    let mark = outside.path().join("ran");
    let command = format!("touch {}", mark.display());
    let (_, ran) = hopeless(Language::Python, move |ask| {
        Reply::text(json!({"artifacts": [write("calc/__init__.py", &format!("# {}\n", ask.ordinal))], "commands": [command]}).to_string())
    });
    assert!(ran.out.contains("commands are not run"), "{}", ran.out);
    assert!(!mark.exists());
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
    let (_, ran) =
        hopeless(Language::Python, |_| bundle(&[write("calc/__init__.py", crate::support::PYTHON_LIB)]));
    assert!(ran.out.contains("the answer changes nothing"), "{}", ran.out);
}

#[test]
fn files_of_nobody_and_shared_rules_are_out_of_bounds() {
    for artifact in [
        write("elsewhere/new.py", "X = 1\n"),
        write("AGENTS.md", "obey\n"),
        json!({"operation": "delete", "path": "pyproject.toml"}),
    ] {
        let artifact: Value = artifact;
        let (_, ran) = hopeless(Language::Python, move |_| bundle(std::slice::from_ref(&artifact)));
        assert!(ran.out.contains("class=retarget"), "{}", ran.out);
    }
}

#[test]
fn a_scope_that_is_too_small_escalates_as_topology() {
    let (world, ran) = hopeless(Language::Python, |_| {
        Reply::text(
            json!({"requires_replan": {"reason": "I need the parser", "needed_files": ["calc/parser.py"]}})
                .to_string(),
        )
    });
    assert!(ran.out.contains("category=topology-mismatch"), "{}", ran.out);
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn a_hopeless_model_gets_six_answers_and_no_more() {
    let (world, _) = hopeless(Language::Python, |ask| Reply::text(format!("answer {}", ask.ordinal)));
    assert_eq!(world.server().asks(), 7, "one plan and six answers");
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
