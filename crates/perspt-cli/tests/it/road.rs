//! The road: a task becomes a commit, or a refusal with a certificate.

use std::sync::atomic::{AtomicU32, Ordering};

use perspt_testkit::server::{Ask, Reply};
use serde_json::json;

use crate::support::{Language, Ran, World, attempt, bundle, intent, plan_of, planned, solution, write};

fn lands(language: Language) -> (World, Ran) {
    let world = World::of(language).serve(planned(language, move |_| solution(language)));
    let ran = world
        .agent("add a mul function")
        .expect(0)
        .says("COMMIT node=mul")
        .says("SUMMARY completed=1/1 status=success");
    assert!(world.read(language.lib()).contains("mul"));
    assert!(world.green_elsewhere(language));
    (world, ran)
}

#[test]
fn a_right_first_answer_lands_in_an_existing_rust_project() {
    let (world, ran) = lands(Language::Rust);
    for line in [
        "DETECT plugins=rust",
        "BASELINE cargo-test=2-passed",
        "CALIBRATE stage=build result=sees",
        "PLAN node[1]=mul type=unit_test files=src/lib.rs,tests/mul.rs goal=\"add mul\"",
        "CONTEXT hash=",
        "DIFF create=tests/mul.rs modify=src/lib.rs",
        "cargo-test=pass(3-passed,0-failed)",
        "sheaf=not-run",
        "threshold=0.10",
    ] {
        assert!(ran.out.contains(line), "{line} missing in {}", ran.out);
    }
    assert_eq!(
        ran.out.matches("BASELINE cargo-test").count(),
        1,
        "the second look was the same: {}",
        ran.out
    );
    // The confinement that was in force stands in the event of every command.
    let measured = world.outcomes("measured");
    let runs: Vec<_> =
        measured.iter().flat_map(|outcome| outcome["runs"].as_array().cloned().unwrap_or_default()).collect();
    assert!(!runs.is_empty() && runs.iter().all(|run| !run["confinement"].as_str().unwrap().is_empty()));
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn a_right_first_answer_lands_in_an_existing_python_project() {
    let (world, _) = lands(Language::Python);
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn prompts_and_answers_are_gone_when_their_node_is_closed_and_the_ledger_knows() {
    let language = Language::Prose;
    let world = World::of(language).serve(planned(language, move |ask: &Ask| {
        if intent(ask) == "actuator.generate" { solution(language) } else { Reply::status(401, "no") }
    }));
    world.agent("add a mul function").expect(0);
    let [id] = &world.sessions()[..] else { panic!("{:?}", world.sessions()) };
    let texts = world.home().join("sessions").join(id).join("texts");
    assert_eq!(std::fs::read_dir(&texts).unwrap().count(), 0);
    world.perspt(&["ledger", "--verify"]).expect(0).says("4 texts released");
}

#[test]
fn a_text_that_an_open_node_still_needs_is_missed_by_the_ledger() {
    let language = Language::Prose;
    let unusable = move |ask: &Ask| {
        if intent(ask) == "actuator.generate" { Reply::text("Sorry.") } else { Reply::status(401, "no") }
    };
    let world = World::of(language).serve(planned(language, unusable));
    world.agent("add a mul function").expect(8);
    world.perspt(&["ledger", "--verify"]).expect(0).says("2 texts released");
    let [id] = &world.sessions()[..] else { panic!("{:?}", world.sessions()) };
    let texts = world.home().join("sessions").join(id).join("texts");
    let text = std::fs::read_dir(&texts).unwrap().next().unwrap().unwrap();
    std::fs::remove_file(text.path()).unwrap();
    world.perspt(&["ledger", "--verify"]).expect(1).says("still needed");
}

#[test]
fn a_second_session_remembers_the_calibration_and_sees_the_first_ones_work() {
    let language = Language::Python;
    let world = World::of(language).serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            let test = if ask.ordinal <= 2 { language.new_test() } else { "tests/test_neg.py" };
            plan_of(&[language.lib(), test], "unit_test")
        } else if ask.ordinal <= 2 {
            solution(language)
        } else {
            let lib = format!("{}\n\ndef neg(a):\n    return -a\n", language.lib_with("a * b"));
            let test = "from calc import neg\n\n\ndef test_neg():\n    assert neg(1) == -1\n";
            bundle(&[write("calc/__init__.py", &lib), write("tests/test_neg.py", test)])
        }
    });
    world.agent("add a mul function").expect(0).says("result=sees");
    world.agent("add neg").expect(0).says("CALIBRATE stage=test result=remembered").says("pytest=2-passed");
}

fn third_try(language: Language) {
    let tries = AtomicU32::new(0);
    let world =
        World::of(language).serve(planned(language, move |_| match tries.fetch_add(1, Ordering::SeqCst) {
            0 => attempt(language, "a +"),
            1 => attempt(language, "a + b"),
            _ => solution(language),
        }));
    let ran =
        world.agent("add a mul function").expect(0).says("RETRY class=correction").says("COMMIT node=mul");
    assert_eq!(ran.out.matches("ENERGY").count(), 3);
    assert_eq!(ran.out.matches("COMMIT").count(), 1);
    assert!(world.green_elsewhere(language));
    let prompts: Vec<String> = world.server().requests().iter().map(|request| request.text()).collect();
    assert!(prompts[2].contains("[perspt intent=correction node=mul attempt=1]"));
    assert!(prompts[3].contains("[perspt intent=correction node=mul attempt=2]"));
    assert!(prompts[3].contains("test-failed"), "the correction is grounded in the failing test");
}

#[test]
fn right_on_the_third_try_is_solved_in_rust() {
    third_try(Language::Rust);
}

#[test]
fn right_on_the_third_try_is_solved_in_python() {
    third_try(Language::Python);
}

#[test]
fn the_best_state_is_kept_when_a_correction_makes_it_worse() {
    let language = Language::Python;
    let tries = AtomicU32::new(0);
    let world = World::of(language).serve(planned(language, move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => attempt(language, "a + b"),
        1 => attempt(language, "a +"),
        _ => bundle(&[json!({"operation": "edit", "path": "calc/__init__.py", "find": "def mul(a, b):\n    return a + b", "replace": "def mul(a, b):\n    return a * b"})]),
    }));
    world.agent("add a mul function").expect(0).says("kept=best-before");
    let third = world.server().requests()[3].text();
    assert!(
        third.contains("def mul(a, b):\n    return a + b"),
        "the third prompt shows the best state: {third}"
    );
    assert!(third.contains("no better than the one before"));
}

#[test]
fn every_operation_of_a_bundle_is_applied_all_or_none() {
    let world = World::prose();
    world.write("old.md", "old\n");
    world.write("gone.md", "gone\n");
    world.git();
    let files = ["notes.md", "old.md", "new.md", "gone.md", "more.md"];
    let world = world.serve(move |ask: &Ask| match intent(ask).as_str() {
        "architect.existing" => plan_of(&files, "code"),
        "actuator.generate" => bundle(&[
            write("more.md", "1\n"),
            json!({"operation": "edit", "path": "notes.md", "find": "this is not there", "replace": "x"}),
        ]),
        _ => bundle(&[
            json!({"operation": "edit", "path": "notes.md", "find": "# Notes", "replace": "# All notes"}),
            json!({"operation": "diff", "path": "notes.md", "patch": "@@ -99,9 +99,9 @@\n \n-add is a + b\n+add is b + a\n"}),
            json!({"operation": "move", "from": "old.md", "to": "new.md"}),
            json!({"operation": "delete", "path": "gone.md"}),
            write("more.md", "2\n"),
        ]),
    });
    world.agent("rearrange").expect(0).says("RETRY class=retarget").says("move=").says("delete=gone.md");
    assert_eq!(world.read("notes.md"), "# All notes\n\nadd is b + a\n");
    assert_eq!((world.read("new.md"), world.read("more.md")), ("old\n".to_owned(), "2\n".to_owned()));
    assert!(!world.ws().join("gone.md").exists() && !world.ws().join("old.md").exists());
}

#[test]
fn three_invalid_plans_lead_to_the_fallback_graph_in_a_project_without_tests_too() {
    let world = World::empty();
    world.write("calc.py", "def add(a, b):\n    return a - b\n");
    world.git();
    let world = world.serve(move |ask: &Ask| {
        match (intent(ask).as_str(), ask.tag().map(|tag| tag.node.clone()).unwrap_or_default().as_str()) {
            ("architect.existing", _) => match ask.ordinal {
                1 => Reply::text("I would begin by thinking about it."),
                2 => Reply::text(json!({"tasks": []}).to_string()),
                _ => Reply::text(
                    json!({"tasks": [{"id": "a", "goal": "g", "output_files": ["../a.py"]}]}).to_string(),
                ),
            },
            (_, _) => bundle(&[
                write("calc.py", "def add(a, b):\n    return a + b\n"),
                write(
                    "tests/test_calc.py",
                    "from calc import add\n\n\ndef test_add():\n    assert add(4, 3) == 7\n",
                ),
            ]),
        }
    });
    let ran = world
        .agent("fix add")
        .expect(0)
        .says("source=fallback")
        .says("COMMIT node=implementation")
        .says("CALIBRATE stage=test result=sees");
    assert_eq!(ran.out.matches("RETRY class=plan").count(), 2);
    let third = world.server().requests()[2].text();
    assert!(third.contains("the plan is empty"), "the diagnostics go back to the architect");
    assert!(world.green_elsewhere(Language::Python));
}

#[test]
fn a_node_that_depends_on_a_failed_one_is_blocked_and_the_others_go_on() {
    let world = World::prose().serve(|ask: &Ask| {
        let node = ask.tag().map(|tag| tag.node.clone()).unwrap_or_default();
        match (intent(ask).as_str(), node.as_str()) {
            ("architect.existing", _) => Reply::text(
                json!({"tasks": [
                {"id": "bad", "goal": "g", "output_files": ["bad.md"]},
                {"id": "after", "goal": "g", "output_files": ["after.md"], "dependencies": ["bad"]},
                {"id": "free", "goal": "g", "output_files": ["free.md"]}]})
                .to_string(),
            ),
            (_, "bad") => Reply::text(format!("no idea {}", ask.ordinal)),
            _ => bundle(&[write("free.md", "free\n")]),
        }
    });
    world
        .agent("three things")
        .expect(3)
        .says("ESCALATE node=bad category=model-capability")
        .says("BLOCKED node=after by=bad")
        .says("COMMIT node=free")
        .says("completed=1/3 status=partial");
}

#[test]
fn an_empty_folder_becomes_a_project_of_the_language_that_is_given() {
    let world = World::empty().serve(|ask: &Ask| match intent(ask).as_str() {
        "architect.greenfield" => Reply::text(json!({"tasks": [{"id": "all", "goal": "g", "task_type": "unit_test", "output_files": ["pyproject.toml", "greet.py", "test_greet.py"]}]}).to_string()),
        _ => bundle(&[
            write("pyproject.toml", "[project]\nname = \"greet\"\nversion = \"0.1\"\n"),
            write("greet.py", "def greet(name):\n    return \"hello \" + name\n"),
            write("test_greet.py", "from greet import greet\n\n\ndef test_greet():\n    assert greet(\"you\") == \"hello you\"\n"),
        ]),
    });
    world.perspt(&["agent", "-y", "--lang", "cobol", "write a greeting library"]).expect(2).warns("cobol");
    assert_eq!(world.server().asks(), 0);
    world
        .perspt(&["agent", "-y", "--lang", "python", "write a greeting library"])
        .expect(0)
        .says("repo_mode=greenfield")
        .says("CALIBRATE stage=test result=sees");
    assert!(world.green_elsewhere(Language::Python));
}

#[test]
fn every_event_can_be_had_as_json() {
    let language = Language::Prose;
    let world = World::of(language).serve(planned(language, move |_| solution(language)));
    let ran = world.perspt(&["agent", "-y", "--json", "add a mul function"]).expect(0);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.first().unwrap()["event"]["kind"], "session_started");
    assert_eq!(lines.last().unwrap()["event"]["kind"], "session_ended");
    let id = &world.sessions()[0];
    let log = std::fs::read_to_string(world.home().join("sessions").join(id).join("log.jsonl")).unwrap();
    assert_eq!(ran.out, log, "what is printed is the log, byte for byte");
}

#[test]
fn a_promised_signature_that_the_code_does_not_have_is_corrected_and_prose_is_shown_as_unmeasured() {
    let language = Language::Python;
    let plan = json!({"tasks": [{
        "id": "mul", "goal": "add mul", "output_files": [language.lib(), language.new_test()],
        "contract": {"interface_signature": "def mul(a: int, b: int) -> int", "invariants": ["it is fast"]},
    }]});
    let script = move |ask: &Ask| match intent(ask).as_str() {
        "correction" => solution(language),
        other if other.starts_with("architect") => Reply::text(plan.to_string()),
        _ => bundle(&[
            write(language.lib(), &language.lib_with("a * b").replace("def mul(a, b)", "def mul(b, a)")),
            write(language.new_test(), language.test_text()),
        ]),
    };
    let world = World::of(language).serve(script);
    let ran = world
        .agent("add a mul function")
        .expect(0)
        .says("PLAN node[1]=mul unmeasured=\"it is fast\"")
        .says("its parameters stand in another order")
        .says("evidence=tests promises=unmeasured");
    assert!(
        ran.err.contains("promised, not measured: it is fast (it is prose: no tool looks at it)"),
        "{}",
        ran.err
    );
    assert!(world.read(language.lib()).contains("mul(a, b)"));
}
