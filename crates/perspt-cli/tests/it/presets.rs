//! How much is measured: presets, type checkers and linters, as a user sees them.

use crate::blind::writes;
use crate::support::{Language, World};

/// A Python project whose own settings ask for mypy, with a hundred old type errors.
fn typed(settings: &str) -> World {
    let world = World::python();
    world.write("pyproject.toml", &format!("[project]\nname = \"calc\"\nversion = \"0.1.0\"\n\n{settings}"));
    let old: Vec<String> = (0..100).map(|n| format!("OLD_{n}: int = \"{n}\"\n")).collect();
    world.write("calc/old.py", &old.concat());
    world.git();
    world
}

#[test]
fn a_repository_with_a_hundred_old_type_errors_can_be_worked_on_and_a_new_one_counts() {
    let lib = |more: &str| format!("{}\n\n{more}", Language::Python.lib_with("a * b"));
    let right = lib("def half(a: int) -> float:\n    return a / 2\n");
    let (_, ran) = writes(typed("[tool.mypy]\n"), &[("calc/__init__.py", &right)], &[]);
    ran.expect(0).says("mypy=pass(100-inherited)").says("CALIBRATE stage=type result=sees");
    let wrong = lib("def half(a: int) -> str:\n    return a / 2\n");
    let (world, ran) = writes(typed("[tool.mypy]\n"), &[("calc/__init__.py", &wrong)], &[]);
    ran.says("mypy=fail:1(100-inherited)");
    assert!(!world.read("calc/__init__.py").contains("half"));
}

#[test]
fn a_checker_that_cannot_be_used_here_is_left_out_and_in_the_strict_preset_missed() {
    let settings = "[tool.mypy]\nplugins = [\"no_such_plugin\"]\n";
    let right = Language::Python.lib_with("a * b");
    let (_, ran) = writes(typed(settings), &[("calc/__init__.py", &right)], &[]);
    ran.expect(0).warns("note: mypy is left out").never_says("mypy=");
    let strict = &["--verifier-strictness", "strict"];
    let (_, ran) = writes(typed(settings), &[("calc/__init__.py", &right)], strict);
    ran.expect(6).warns("mypy");
}

#[test]
fn in_the_strict_preset_a_lint_keeps_a_change_from_landing_and_the_commit_names_the_preset() {
    let strict = &["--verifier-strictness", "strict"];
    let neat = "pub fn mul(a: u32, b: u32) -> u32 {\n    a * b\n}\n";
    let messy = "pub fn mul(a: u32, b: u32) -> u32 {\n    return a * b;\n}\n";
    let lib = Language::Rust.lib_with("a * b");
    let with = |more: &str| format!("{more}\n{}", lib.replace("mul", "times"));
    let (_, ran) = writes(World::rust(), &[("src/lib.rs", &with(neat))], strict);
    ran.expect(0).says("cargo-clippy=pass").says(" preset=strict");
    let (_, ran) = writes(World::rust(), &[("src/lib.rs", &with(messy))], strict);
    ran.says("cargo-clippy=fail:1");
    let (_, ran) = writes(World::rust(), &[("src/lib.rs", &with(messy))], &[]);
    ran.expect(0).never_says("clippy").never_says("preset=");
}

#[test]
fn in_the_minimal_preset_a_failing_test_is_shown_and_the_grade_says_what_was_proved() {
    let wrong = Language::Rust.lib_with("b - a").replace("a + b", "a - b");
    let minimal = &["--verifier-strictness", "minimal"];
    let (_, ran) = writes(World::rust(), &[("src/lib.rs", &wrong)], minimal);
    ran.expect(0).says("cargo-test=fail:").says("shown)").says("evidence=build preset=minimal");
}
