//! Projects of any kind, measured by their user's own commands.

use serde_json::Value;

use crate::support::{Ran, World, bundle, write};

const HEADER: &str =
    "#ifndef CALC_H\n#define CALC_H\nint add(int a, int b);\nint mul(int a, int b);\n#endif\n";
const MAKEFILE: &str = "TESTS := $(patsubst %.c,%,$(wildcard tests/test_*.c))\n\nall: $(TESTS)\n\n\
    tests/test_%: tests/test_%.c src/calc.c src/calc.h\n\t$(CC) -Wall -o $@ $< src/calc.c\n\n\
    test: $(TESTS)\n\t@for t in $(TESTS); do ./$$t || exit 1; done\n";
const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)\nproject(calc C)\nenable_testing()\n\
    add_library(calc src/calc.c)\nfile(GLOB TESTS tests/test_*.c)\nforeach(t ${TESTS})\n  \
    get_filename_component(n ${t} NAME_WE)\n  add_executable(${n} ${t})\n  target_link_libraries(${n} calc)\n  \
    add_test(NAME ${n} COMMAND ${n})\nendforeach()\n";

fn code(mul: &str) -> String {
    format!(
        "#include \"calc.h\"\n\nint add(int a, int b) {{\n    return a + b;\n}}\n\nint mul(int a, int b) {{\n    {mul}\n}}\n"
    )
}

/// A test program that prints TAP.
fn test_program(name: &str, condition: &str) -> String {
    format!(
        "#include <stdio.h>\n#include \"../src/calc.h\"\n\nint main(void) {{\n    int fine = {condition};\n    \
         printf(\"1..1\\n%sok 1 - {name}\\n\", fine ? \"\" : \"not \");\n    return !fine;\n}}\n"
    )
}

/// A library in C with one test, built by this file, and a model whose answers have these bodies of `mul`, one after the
/// other.
fn project(build_file: &str, text: &str, bodies: &'static [&'static str]) -> World {
    let world = World::empty();
    world.write("src/calc.c", "#include \"calc.h\"\n\nint add(int a, int b) {\n    return a + b;\n}\n");
    world.write("src/calc.h", "#ifndef CALC_H\n#define CALC_H\nint add(int a, int b);\n#endif\n");
    world.write("tests/test_add.c", &test_program("adds", "add(2, 3) == 5"));
    world.write(build_file, text);
    world.git();
    let asked = std::sync::atomic::AtomicUsize::new(0);
    world.serve(move |_: &_| {
        let turn = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed).min(bodies.len() - 1);
        bundle(&[
            write("src/calc.c", &code(bodies[turn])),
            write("src/calc.h", HEADER),
            write("tests/test_mul.c", &test_program("muls", "mul(4, 3) == 12")),
        ])
    })
}

fn agent(world: &World, flags: &[&str]) -> Ran {
    let mut words = vec!["agent", "-y", "--planning-policy", "local-edit"];
    words.extend(flags);
    words.push("add a mul function");
    world.perspt(&words)
}

fn prompts(world: &World) -> String {
    world.server().requests().iter().map(|request| format!("{request:?}")).collect()
}

#[test]
fn a_c_project_with_a_makefile_and_tap_is_measured_test_by_test() {
    let world = project("Makefile", MAKEFILE, &["return a * b", "return a + b;", "return a * b;"]);
    let ran = agent(&world, &["--build-cmd", "make", "--test-cmd", "make test"]).expect(0);
    let ran = ran
        .says("\"your own: make test\"")
        .says("DETECT plugins=generic")
        .says("BASELINE make-test=1-passed,0-failed");
    let ran = ran
        .says("make=fail:1")
        .says("make-test=fail:1(1-passed,1-failed)")
        .says("make-test=pass(2-passed,0-failed)");
    ran.says("COMMIT node=task").says("evidence=command").says(
        "below_tests=\"`make test` notices errors in it; which of its tests run it is not known: src/calc.c, src/calc.h, tests/test_mul.c\"",
    );
    let told = prompts(&world);
    assert!(told.contains("src/calc.c:8") && told.contains("`muls` failed"), "a place and a name are told");
    assert!(world.read("src/calc.c").contains("return a * b;"));
    assert!(!world.ws().join("tests/test_mul").exists(), "what was built stays in the slot");
    let own = &world.events()[0]["settings"]["own"];
    assert_eq!(own["commands"]["test_cmd"], serde_json::json!(["make", "test"]));
    world.perspt(&["ledger", "--verify"]).expect(0);
}

#[test]
fn a_c_project_with_ctest_is_measured_test_by_test() {
    let world = project("CMakeLists.txt", CMAKE, &["return a * b;"]);
    world.write("build.sh", "#!/bin/sh\ncmake -S . -B out && cmake --build out\n");
    let ran = agent(&world, &["--build-cmd", "sh build.sh", "--test-cmd", "ctest --test-dir out"]).expect(0);
    ran.says("ctest---test-dir-out=1-passed,0-failed").says("(2-passed,0-failed)").says("evidence=command");
}

#[test]
fn without_a_command_code_waits_and_the_way_out_is_named() {
    let world = project("Makefile", MAKEFILE, &["return a * b;"]);
    agent(&world, &[]).expect(7).says("consent=unmeasured:src/calc.c").warns("--test-cmd");
    // A command that reads nothing is no evidence either.
    let world = project("Makefile", MAKEFILE, &["return a * b;"]);
    let ran = agent(&world, &["--test-cmd", "true"]).expect(7).says("BASELINE true=pass(exit-code)");
    ran.says("`true` does not notice an error in it").never_says("COMMIT");
}

#[test]
fn tests_that_no_longer_run_are_missed_whatever_the_build_file_says_now() {
    let gutted =
        MAKEFILE.replace("@for t in $(TESTS); do ./$$t || exit 1; done", "@echo 1..1; echo ok 1 - muls");
    let world = project("Makefile", MAKEFILE, &["return a * b;"]);
    let world = world.serve(move |_: &_| {
        bundle(&[
            write("src/calc.c", &code("return 0;")),
            write("src/calc.h", HEADER),
            write("Makefile", &gutted),
        ])
    });
    let before = world.files();
    let ran = agent(&world, &["--test-cmd", "make test"]);
    assert_ne!(ran.code, 0, "{}", ran.out);
    ran.says("test `adds` ran before and is gone now").never_says("COMMIT");
    assert_eq!(world.files(), before);
}

#[test]
fn a_changed_build_file_needs_a_consent_unless_the_old_one_gives_the_same_results() {
    let answer = |makefile: String| {
        move |_: &_| {
            bundle(&[
                write("src/calc.c", &code("return a * b;")),
                write("src/calc.h", HEADER),
                write("Makefile", &makefile),
            ])
        }
    };
    let settled = project("Makefile", MAKEFILE, &[""]).serve(answer(format!("# how to build\n{MAKEFILE}")));
    agent(&settled, &["--test-cmd", "make test"]).expect(0).says("OLD-TESTS passed=1").says("COMMIT");
    // An exit code names no tests, so nothing can be compared.
    let unknown = project("Makefile", &MAKEFILE.replace("./$$t", "./$$t >/dev/null"), &[""]);
    let unknown = unknown.serve(answer(MAKEFILE.replace("./$$t", "./$$t > /dev/null")));
    agent(&unknown, &["--test-cmd", "make test"]).expect(7).says("consent=evidence:Makefile");
}

#[test]
fn a_command_of_one_language_stands_in_the_configuration_and_gets_the_variables_it_needs() {
    let mut world = World::python();
    world.set("CHECK_WORD", "plain-word-of-the-user");
    let config = "pass_env = [\"CHECK_WORD\"]\n\n[lang.python]\ntest_cmd = \"sh check.sh\"\n";
    std::fs::write(world.home().join("config.toml"), config).unwrap();
    world.write(
        "check.sh",
        "[ \"$CHECK_WORD\" = plain-word-of-the-user ] && python3 -c 'import calc; calc.mul'\n",
    );
    world.git();
    let world = world.serve(|_: &_| {
        bundle(&[write(
            "calc/__init__.py",
            "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b\n",
        )])
    });
    let ran = agent(&world, &[]).expect(0);
    let ran =
        ran.says("BASELINE sh-check.sh=fail:1").says("sh-check.sh=pass(exit-code)").says("evidence=command");
    ran.says("below_tests=\"judged by the exit code of `sh check.sh` alone: calc/__init__.py\"");
    let events: Vec<Value> = world.events();
    assert_eq!(events[0]["settings"]["own"]["pass_env"], serde_json::json!(["CHECK_WORD"]));
    assert!(!format!("{events:?}").contains("plain-word-of-the-user"), "names are recorded, values are not");
    world.perspt(&["config", "--show"]).expect(0).says("lang.python.test_cmd");
}

#[test]
fn what_needs_a_shell_and_what_must_stay_with_perspt_is_refused() {
    let world = project("Makefile", MAKEFILE, &["return a * b;"]);
    let refused = |flags: &[&str], why: &str| drop(agent(&world, flags).expect(2).warns(why));
    refused(&["--test-cmd", "make && make test"], "put what needs a shell into a script");
    refused(&["--test-cmd", "CC=clang make"], "there is no shell to set it");
    refused(&["--test-cmd", "make 'test"], "a quote is not closed");
    refused(&["--test-report", "../report.xml", "--test-cmd", "make"], "`test_report` is not usable");
    refused(&["--pass-env", "OPENAI_API_KEY"], "keys and perspt's own settings stay with perspt");
    refused(&["--pass-env", "HOME"], "perspt sets it");
    refused(
        &["--require", "tests", "--test-cmd", "make test"],
        "which of its tests load a file is not known",
    );
    assert!(world.server().requests().is_empty());
    let ran = agent(&world, &["--test-cmd", "./missing.sh"]).expect(6).warns("./missing.sh");
    ran.warns("begin again with another one").never_says("COMMIT");
}
