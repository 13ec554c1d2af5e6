//! `perspt verify` as a person or a build server runs it: no model, no key, real cargo and Python.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::control::wait_until;
use crate::support::{Language, Ran, World, planned, solution};

/// A test file with one test that fails.
const RED: &str = "def test_red():\n    assert 1 + 1 == 3, \"<&> ]]> é\"\n";

/// Runs it. Whatever it finds, the folder stays as it was.
fn verify(world: &World, words: &[&str]) -> Ran {
    let before = world.files();
    let ran = world.perspt(&[&["verify"], words].concat());
    assert_eq!(world.files(), before);
    ran
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

/// The cases of a JUnit document: suite, name, and what it holds (`failure`, `skipped`, `error` or nothing).
fn cases(xml: &str) -> Vec<(String, String, String)> {
    use quick_xml::events::{BytesStart, Event};
    let name = |start: &BytesStart<'_>, key: &str| {
        let attribute = start.try_get_attribute(key).unwrap().unwrap();
        attribute.normalized_value(quick_xml::XmlVersion::Explicit1_0).unwrap().into_owned()
    };
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut cases: Vec<(String, String, String)> = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return cases,
            Event::Start(start) | Event::Empty(start) => match start.name().as_ref() {
                "testcase" => cases.push((name(&start, "classname"), name(&start, "name"), String::new())),
                kind @ ("failure" | "skipped" | "error") => {
                    cases.last_mut().unwrap().2 = kind.to_owned();
                }
                _ => {}
            },
            _ => {}
        }
    }
}

#[test]
fn a_green_project_is_clean_and_no_model_is_needed() {
    for language in [Language::Rust, Language::Python] {
        let world = World::of(language);
        let ran = verify(&world, &[]).expect(0).says("VERIFIED result=clean exit=0");
        assert!(!ran.out.contains("reused") && ran.err.is_empty(), "{ran:?}");
        world.perspt(&["status"]).expect(0).says("success").says("V=0.00");
        // It is looked at again from its own log, and there is nothing in it to go on with.
        world.perspt(&["ledger", "--verify"]).expect(0);
        world.perspt(&["resume"]).expect(2).warns("on a task");
        let id = world.sessions()[0].clone();
        world.perspt(&["resume", &id]).expect(2).warns("perspt verify");
    }
}

#[test]
fn a_failing_test_is_told_with_its_place_and_cause_in_every_form() {
    let world = World::python();
    world.write("tests/test_red.py", RED);
    let words = "`tests/test_red.py::test_red` failed: AssertionError: <&> ]]> é";
    verify(&world, &[]).expect(4).says("tests/test_red.py\n  2 test-failed: ").says(words).says("result=red");

    let report = json(&verify(&world, &["--json"]).expect(4));
    assert_eq!((&report["result"], &report["exit_code"]), (&"red".into(), &4.into()));
    assert_eq!(report["energy"]["total"], 6000);
    let [finding] = report["findings"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&finding["file"], &finding["line"]), (&"tests/test_red.py".into(), &2.into()));

    let sarif = json(&verify(&world, &["--sarif"]).expect(4));
    assert_eq!(
        (&sarif["version"], &sarif["runs"][0]["tool"]["driver"]["name"]),
        (&"2.1.0".into(), &"perspt".into())
    );
    let [result] = sarif["runs"][0]["results"].as_array().unwrap().as_slice() else { panic!("{sarif}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&"test-failed".into(), &"error".into()));
    assert_eq!(result["message"]["text"], words);
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "tests/test_red.py");
    assert_eq!(place["region"]["startLine"], 2);

    let junit = cases(&verify(&world, &["--junit"]).expect(4).out);
    let ends: Vec<(&str, &str)> = junit.iter().map(|(_, name, end)| (name.as_str(), end.as_str())).collect();
    let (passed, red) = ("tests/test_calc.py::test_add", "tests/test_red.py::test_red");
    assert_eq!(ends, [("python compile", ""), (passed, ""), (red, "failure")]);
}

#[test]
fn a_compile_error_is_told_with_file_line_and_code_and_its_tests_are_not_run() {
    let world = World::rust();
    world.write("src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 {\n    a + \"b\"\n}\n");
    let ran = verify(&world, &[]).expect(4).says("src/lib.rs\n  2:").says("compile-error E0277:");
    let ran = ran.says("STAGE test=not-run").says("result=red");
    assert!(ran.err.is_empty(), "{}", ran.err);
    let junit = cases(&verify(&world, &["--junit"]).expect(4).out);
    assert!(junit[0].1.starts_with("src/lib.rs:2 ") && junit[0].2 == "failure", "{junit:?}");
    assert_eq!(junit[1].2, "skipped");
}

#[test]
fn a_missing_tool_is_a_6_in_every_form_and_the_other_root_is_measured() {
    let mut world = World::rust();
    world.write("py/pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\n");
    world.write("py/calc.py", "def add(a, b):\n    return a + b\n");
    world.write("py/test_calc.py", "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n");
    let cargo = world.base().join("bin/cargo");
    std::fs::create_dir_all(cargo.parent().unwrap()).unwrap();
    std::fs::write(&cargo, "#!/bin/sh\necho 'cargo 1.0.0'\n").unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", world.base().join("bin").display(), world.get("PATH"));
    world.set("PATH", &path);
    let ran = verify(&world, &[]).expect(6).says("STAGE pytest=1-passed").says("MISSING tool=cargo root=.");
    ran.says("result=not-measured exit=6").warns("do:");
    let sarif = json(&verify(&world, &["--sarif"]).expect(6));
    let run = &sarif["runs"][0]["invocations"][0];
    assert_eq!(run["executionSuccessful"], false);
    assert!(run["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap().starts_with("cargo:"));
    let junit = cases(&verify(&world, &["--junit"]).expect(6).out);
    assert!(junit.iter().any(|(_, name, end)| name == "cargo" && end == "error"), "{junit:?}");
}

#[test]
fn a_folder_without_a_project_is_never_called_clean() {
    let world = World::prose();
    verify(&world, &[]).expect(6).says("result=not-measured").warns("nothing was measured");
    let nowhere = world.base().join("nowhere");
    world.perspt(&["verify", &nowhere.to_string_lossy()]).expect(2).warns("the workspace cannot be used");
}

#[test]
fn what_a_revision_has_too_is_old_and_what_is_new_since_then_counts() {
    let world = World::python();
    world.write("tests/test_red.py", RED);
    world.git();
    verify(&world, &[]).expect(4);
    // Not committed, and not in reach of the old failure.
    world.write("calc/more.py", "MORE = 1\n");
    verify(&world, &["--since", "HEAD"]).expect(0).says("changed=1").says("1 that HEAD has too");
    let junit = cases(&verify(&world, &["--since", "HEAD", "--junit"]).expect(0).out);
    assert!(junit.iter().all(|(_, _, end)| end != "failure"), "{junit:?}");
    // A file that was not changed, red because of one that was.
    world.write("calc/__init__.py", "def add(a, b):\n    return a - b\n");
    let ran = verify(&world, &["--since", "HEAD"]).expect(4).says("tests/test_calc.py\n");
    assert!(!ran.out.contains("tests/test_red.py\n"), "{}", ran.out);
    verify(&world, &["--since", "HEAD~1"]).expect(4).says("tests/test_red.py\n");
}

#[test]
fn in_the_strict_preset_old_warnings_are_old_and_the_same_mistake_made_again_is_new() {
    let world = World::of(Language::Rust);
    let lib = std::fs::read_to_string(world.ws().join("src/lib.rs")).unwrap();
    let old = "\npub fn old(all: &[i32]) -> bool {\n    return all.is_empty();\n}\n";
    world.write("src/lib.rs", &format!("{lib}{old}"));
    world.git();
    world.write("src/lib.rs", &format!("{lib}{old}// Later.\n"));
    let strict = ["--verifier-strictness", "strict", "--since", "HEAD"];
    verify(&world, &strict).expect(0).says("2 that HEAD has too");
    world.write("src/lib.rs", &format!("{lib}{old}{}", old.replace("old", "new")));
    verify(&world, &strict).expect(4).says("findings=1").says("2 that HEAD has too");
}

#[test]
fn a_revision_that_cannot_be_read_is_a_2_and_says_why() {
    let mut world = World::prose();
    for unknown in ["nobody", "--help", "HEAD:notes.md"] {
        let since = format!("--since={unknown}");
        verify(&world, &[&since]).expect(2).says("exit=2").warns(&format!("`{unknown}` cannot be read"));
    }
    std::fs::create_dir(world.base().join("bin")).unwrap();
    let empty = world.base().join("bin").to_string_lossy().into_owned();
    world.set("PATH", &empty);
    verify(&world, &["--since", "HEAD"]).expect(2).warns("git is needed");
}

#[test]
fn no_program_that_a_repository_names_to_git_gets_out_while_a_revision_is_read() {
    let world = World::prose();
    let ran = world.base().join("ran");
    let touch = format!("touch {}", ran.display());
    std::fs::write(world.ws().join(".gitattributes"), "*.md filter=evil\n").unwrap();
    let config = world.ws().join(".git/config");
    let text = std::fs::read_to_string(&config).unwrap();
    let evil = format!(
        "[core]\n\tfsmonitor = \"{touch}\"\n\thooksPath = ws\n[filter \"evil\"]\n\tsmudge = \"{touch}; cat\"\n"
    );
    std::fs::write(&config, format!("{text}{evil}")).unwrap();
    verify(&world, &["--since", "HEAD"]).expect(6);
    assert!(!ran.exists());
}

#[test]
fn an_interrupt_ends_it_with_130_at_once() {
    let world = World::python();
    world.write("tests/test_slow.py", "import time\n\n\ndef test_slow():\n    time.sleep(1000)\n");
    let running = world.spawn(&["verify"]);
    wait_until(&world, |events| {
        let measuring =
            |event: &Value| event["effect"]["do"] == "measure" && event["effect"]["stage"]["kind"] == "test";
        events.iter().any(measuring)
    });
    running.signal(Signal::INT);
    running.wait().expect(130).says("VERIFIED result=interrupted exit=130");
}

#[test]
fn a_workspace_in_which_a_session_runs_is_left_to_it() {
    let gate = perspt_testkit::server::Gate::new();
    let inner = gate.clone();
    let language = Language::Prose;
    let world = World::of(language).serve(planned(language, move |_| {
        solution(language).gate(perspt_testkit::server::Point::AfterChunks(1), &inner)
    }));
    let running = world.spawn(&["agent", "-y", "add a mul function"]);
    gate.arrivals().wait(1);
    let id = world.sessions()[0].clone();
    world.perspt(&["verify"]).expect(2).warns(&id);
    gate.open();
    running.wait().expect(0);
}
