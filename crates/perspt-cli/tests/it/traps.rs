//! Ways in which wrong code has been seen to pass. Each must end red.
#![allow(clippy::disallowed_types, reason = "a test makes an environment")]

use std::sync::atomic::{AtomicU32, Ordering};

use perspt_testkit::server::{Ask, Reply};

use crate::support::{Language, World, attempt, bundle, intent, plan_of, planned, solution, write};

#[test]
fn a_build_of_another_tree_is_never_taken_for_this_one() {
    // Two workspaces with one crate name: right in one, wrong in the other. Each has its own build directory.
    let right = World::rust().serve(planned(Language::Rust, |_| solution(Language::Rust)));
    right.agent("add a mul function").expect(0);
    let mut wrong = World::rust().serve(planned(Language::Rust, |_| attempt(Language::Rust, "a + b")));
    wrong.set("PERSPT_HOME", &right.home().to_string_lossy());
    wrong.agent("add a mul function").expect(4).says("cargo-test=fail");
}

#[test]
fn a_best_state_that_is_laid_down_again_is_built_again() {
    // Attempt 1 fails a test, attempt 2 does not compile and is dropped, attempt 3 edits another file: the
    // library of attempt 1 is restored with its old content and must be seen to fail still.
    let language = Language::Rust;
    let tries = AtomicU32::new(0);
    let world =
        World::of(language).serve(planned(language, move |_| match tries.fetch_add(1, Ordering::SeqCst) {
            0 => attempt(language, "a + b"),
            1 => attempt(language, "a * "),
            n => bundle(&[write(
                "tests/mul.rs",
                &format!("// {n}\n#[test]\nfn muls() {{\n    assert_eq!(calc::mul(4, 3), 12);\n}}\n"),
            )]),
        }));
    let ran = world.agent("add a mul function").expect(4);
    assert_eq!(ran.out.matches("cargo-test=fail").count(), 3, "{}", ran.out);
}

#[test]
fn an_edit_of_the_same_size_within_a_second_is_seen() {
    // `a * b` and `a + b` have the same length; the correction comes at once.
    let language = Language::Python;
    let tries = AtomicU32::new(0);
    let world = World::of(language).serve(planned(language, move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => bundle(&[write(language.lib(), &language.lib_with("a * b")), write(language.new_test(), "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n    assert mul(1, 1) == 2\n")]),
        _ => bundle(&[write(language.lib(), &language.lib_with("a + b"))]),
    }));
    let ran = world.agent("add a mul function").expect(4);
    assert!(ran.out.contains("assert 1 == 2") && ran.out.contains("assert 7 == 12"), "{}", ran.out);
}

#[test]
fn an_editable_install_of_the_original_tree_does_not_hide_the_branch() {
    let world = World::python();
    let venv = |words: &[&str]| {
        let ran = std::process::Command::new("python3").args(words).current_dir(world.ws()).output().unwrap();
        assert!(ran.status.success());
    };
    venv(&["-m", "venv", "--system-site-packages", "--without-pip", ".venv"]);
    world.write(".gitignore", ".venv/\n");
    let lib = std::fs::read_dir(world.ws().join(".venv/lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(lib.join("site-packages/calc.pth"), format!("{}\n", world.ws().display())).unwrap();
    // A suite that finds the package only through the environment, wherever it is started.
    world.write("tests/test_calc.py", "import sys\n\nsys.path = [p for p in sys.path if p.endswith('site-packages') or 'lib/python' in p or p.endswith('.zip') or p == ORIGIN] if False else sys.path\n\nfrom calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n");
    world.git();
    let world = world.serve(planned(Language::Python, |_| attempt(Language::Python, "a + b")));
    world.agent("add a mul function").expect(4).says("pytest=fail");
}

#[test]
fn leaving_early_with_code_zero_is_not_a_pass() {
    let language = Language::Python;
    let world = World::of(language).serve(planned(language, move |ask: &Ask| {
        // One answer is enough to see.
        if intent(ask) != "actuator.generate" {
            return Reply::status(401, "no");
        }
        bundle(&[
            write(language.lib(), &language.lib_with("a + b")),
            write(language.new_test(), "import os\n\n\ndef test_mul():\n    os._exit(0)\n"),
        ])
    }));
    let before = world.files();
    world.agent("add a mul function").expect(8).says("pytest=fail").says("MODEL error=Unauthorised");
    assert_eq!(world.files(), before);
}

#[test]
fn a_rust_file_that_no_target_reads_is_not_measured() {
    let world = World::rust().serve(|ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&["src/mul.rs", "tests/mul.rs"], "unit_test");
        }
        bundle(&[
            write("src/mul.rs", "pub fn mul(a: i64, b: i64) -> i64 { a + b }\n"),
            write("tests/mul.rs", "#[test]\nfn muls() {}\n"),
        ])
    });
    world.agent("add a mul function").expect(4).says("src/mul.rs");
}

#[test]
fn a_test_that_rewrites_the_code_while_it_is_measured_voids_the_reading() {
    let text = "import pathlib\n\nimport calc\n\n\ndef test_mul():\n    source = pathlib.Path(calc.__file__)\n    source.write_text(source.read_text().replace('a + b', 'a * b'))\n";
    let world = World::python().serve(planned(Language::Python, move |ask: &Ask| {
        if intent(ask) != "actuator.generate" {
            return Reply::status(401, "no");
        }
        bundle(&[
            write("calc/__init__.py", &Language::Python.lib_with("a + b")),
            write("tests/test_mul.py", text),
        ])
    }));
    world.agent("add a mul function").expect(8).says("while the tree was measured").never_says("COMMIT");
}

#[test]
fn a_suite_that_does_not_reach_the_code_is_no_evidence_for_it() {
    // The tests import a copy of the package that lies outside the tree: breaking the tree's own modules
    // changes nothing, so what they say is no proof of it.
    let world = World::python();
    let copy = world.base().join("copy/calc");
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::write(copy.join("__init__.py"), "def add(a, b):\n    return a + b\n").unwrap();
    world.write("tests/test_calc.py", &format!("import sys\n\nsys.path.insert(0, {:?})\nsys.modules.pop('calc', None)\n\nfrom calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n", copy.parent().unwrap().to_string_lossy()));
    world.git();
    let world = world.serve(|ask: &Ask| match intent(ask).starts_with("architect") {
        true => plan_of(&["calc/__init__.py"], "code"),
        false => bundle(&[write("calc/__init__.py", &Language::Python.lib_with("a * b"))]),
    });
    let ran = world.agent("add a mul function").expect(0);
    ran.says("evidence=syntax").says("no test loads it: calc/__init__.py").never_says("evidence=tests");
}
