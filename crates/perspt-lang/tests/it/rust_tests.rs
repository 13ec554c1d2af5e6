//! What the Rust plugin says a candidate did to tests, and how it puts old tests over new code.

use perspt_core::reading::{Reading, StageKind, TestEnd};
use perspt_core::stage::Profile;
use perspt_lang::plugin::{CommandKind, FromCandidate, Pair};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, as_it_was, ends, facts, old_tree, path, structure};

fn rust() -> &'static dyn Plugin {
    plugin("rust").unwrap()
}

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const LIB: &str = r#"pub mod area;

/// Adds.
///
/// ```
/// assert_eq!(demo::add(1, 1), 2);
/// ```
pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(u32, u32); 2] = [(1, 1), (2, 2)];

    fn check(a: u32, b: u32) {
        assert_eq!(add(a, b), a + b);
    }

    #[test]
    fn adds() {
        // a comment
        assert_eq!(add(1, 1), 2);
        assert_eq!(add(1, 2), 3);
    }

    #[test]
    fn all() {
        for (a, b) in CASES {
            check(a, b);
        }
    }
}
"#;
const AREA: &str = "pub fn of(a: u32) -> u32 {\n    a * a\n}\n\n#[cfg(test)]\nmod tests;\n";
const AREA_TESTS: &str = "use super::*;\n\n#[test]\nfn squares() {\n    assert_eq!(of(3), 9);\n}\n";
const IT: &str = "use demo::add;\n\n#[test]\nfn it_adds() {\n    assert_eq!(add(1, 1), 2);\n}\n";

fn base() -> Map {
    Map::of(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIB),
        ("src/area.rs", AREA),
        ("src/area/tests.rs", AREA_TESTS),
        ("tests/it.rs", IT),
        ("tests/data/cases.txt", "1\n2\n"),
    ])
}

fn after(name: &str, text: &str) -> Vec<String> {
    facts(rust(), &base(), &base().with(name, text))
}

fn edited(old: &str, new: &str) -> Vec<String> {
    assert!(LIB.contains(old), "{old}");
    after("src/lib.rs", &LIB.replace(old, new))
}

const NONE: [&str; 0] = [];

#[test]
fn layout_order_comments_imports_and_grown_tables_leave_tests_as_they_were() {
    let (first, second) =
        (LIB.find("    #[test]\n    fn adds").unwrap(), LIB.find("    #[test]\n    fn all").unwrap());
    let end = LIB.rfind('}').unwrap();
    let reordered = [&LIB[..first], &LIB[second..end], &LIB[first..second], "}\n"].concat();
    for text in [
        reordered,
        LIB.replace("// a comment", "/* another */"),
        LIB.replace("add(1, 2), 3", "add(\n1,\n2,\n), 3"),
        LIB.replace("use super::*;", "use super::*;\n    use std::fmt::Debug;"),
        LIB.replace("; 2] = [(1, 1), (2, 2)]", "; 3] = [(1, 1), (2, 2), (3, 3)]"),
        LIB.replace("a + b\n}\n\n#[cfg", "b + a\n}\n\n#[cfg"),
        LIB.replace("    fn check", "    fn helper() {}\n\n    fn check"),
        LIB.replace("    #[test]\n    fn adds", "    #[test]\n    #[allow(clippy::all)]\n    fn adds"),
    ] {
        assert_eq!(after("src/lib.rs", &text), NONE, "{text}");
    }
}

#[test]
fn a_new_test_is_added_and_a_moved_or_renamed_one_is_the_same() {
    let new =
        LIB.replace("    #[test]\n    fn all", "    #[test]\n    fn more() {}\n\n    #[test]\n    fn all");
    assert_eq!(after("src/lib.rs", &new), ["added src/lib.rs::tests::more"]);
    let inventory = structure(
        rust(),
        &base(),
        &base().with("src/area/tests.rs", &format!("{AREA_TESTS}\n#[test]\nfn more() {{}}\n")),
    )
    .inventory;
    assert_eq!(inventory.added[0].runner, "area::tests::more");
    assert_eq!(edited("fn adds", "fn sums"), ["moved src/lib.rs::tests::adds src/lib.rs::tests::sums"]);
    let moved = base().without("tests/it.rs").with("tests/all.rs", IT);
    assert_eq!(facts(rust(), &base(), &moved), ["moved tests/it.rs::it_adds tests/all.rs::it_adds"]);
}

#[test]
fn a_macro_that_is_defined_twice_hides_the_first_and_other_items_do_not() {
    let same = "    macro_rules! same {\n        ($a:expr, $b:expr) => {\n            assert_eq!($a, $b)\n        };\n    }\n\n";
    let with = LIB.replace("    #[test]\n    fn adds", &format!("{same}    #[test]\n    fn adds"));
    let base = base().with("src/lib.rs", &with);
    let hides = same.replace("assert_eq!($a, $b)", "let _ = ($a, $b)");
    let hidden = base.with("src/lib.rs", &with.replace(same, &format!("{same}{hides}")));
    assert_eq!(facts(rust(), &base, &hidden), ["support src/lib.rs"]);
    let kind = "    struct Kind;\n\n    impl Kind {}\n\n";
    let with = with.replace(same, &format!("{same}{kind}"));
    let base = base.with("src/lib.rs", &with);
    let more = with.replace(kind, &format!("{kind}    impl Clone for Kind {{}}\n\n    impl Kind {{}}\n\n"));
    assert_eq!(facts(rust(), &base, &base.with("src/lib.rs", &more)), NONE);
}

#[test]
fn a_test_that_demands_something_else_is_changed_and_what_is_weaker_is_said() {
    assert_eq!(edited("add(1, 2), 3", "add(1, 2), 4"), ["changed src/lib.rs::tests::adds"]);
    for (old, new) in [
        ("        assert_eq!(add(1, 2), 3);\n", ""),
        ("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds"),
        ("    #[test]\n    fn adds", "    #[test]\n    #[should_panic]\n    fn adds"),
        ("    #[test]\n    fn adds", "    #[cfg(windows)]\n    #[test]\n    fn adds"),
    ] {
        assert_eq!(edited(old, new), ["changed src/lib.rs::tests::adds weaker"], "{new}");
    }
    let hidden = edited("#[cfg(test)]\nmod tests", "#[cfg(test)]\n#[cfg(feature = \"x\")]\nmod tests");
    assert_eq!(hidden, ["changed src/lib.rs::tests::adds weaker", "changed src/lib.rs::tests::all weaker"]);
    let file = after("tests/it.rs", &format!("#![cfg(feature = \"x\")]\n{IT}"));
    assert_eq!(file, ["changed tests/it.rs::it_adds weaker"]);
    assert_eq!(
        after("src/area/tests.rs", &AREA_TESTS.replace("9", "8")),
        ["changed src/area/tests.rs::squares"]
    );
    for weak in [
        "assert!(add(1, 2) > 0)",
        "assert!(true)",
        "assert!(add(1, 2) == 3 || true)",
        "assert_ne!(add(1, 2), 0)",
        "add(1, 2)",
    ] {
        let found = edited("assert_eq!(add(1, 2), 3)", weak);
        assert_eq!(found, ["changed src/lib.rs::tests::adds weaker"], "{weak}");
    }
    for other in ["assert!(add(1, 2) == 3)", "assert_eq!(add(2, 2), 4)", "assert!(matches!(add(1, 2), 3))"] {
        let found = edited("assert_eq!(add(1, 2), 3)", other);
        assert_eq!(found, ["changed src/lib.rs::tests::adds"], "{other}");
    }
}

#[test]
fn a_test_that_is_gone_is_removed() {
    assert_eq!(edited("    #[test]\n    fn adds", "    fn adds"), ["removed src/lib.rs::tests::adds"]);
    assert_eq!(facts(rust(), &base(), &base().without("tests/it.rs")), ["removed tests/it.rs::it_adds"]);
    let cut = after("src/lib.rs", &LIB[..LIB.find("#[cfg(test)]").unwrap()]);
    assert!(cut.contains(&"removed src/lib.rs::tests::adds".to_owned()), "{cut:?}");
    // A broken source still has the tests that can be read.
    let broken = edited("    a + b\n", "    a + + (\n");
    assert!(!broken.contains(&"removed src/lib.rs::tests::adds".to_owned()), "{broken:?}");
}

#[test]
fn parametrised_and_generated_tests_are_compared_case_by_case() {
    let cases = "#[rstest]\n#[case(1, 2)]\n#[case(2, 3)]\nfn next(#[case] a: u32, #[case] b: u32) {\n    assert_eq!(a + 1, b);\n}\n";
    let with = base().with("tests/cases.rs", cases);
    let now = |text: &str| facts(rust(), &with, &with.with("tests/cases.rs", text));
    assert_eq!(now(&cases.replace("#[case(2, 3)]", "#[case(2, 3)]\n#[case(3, 4)]")), NONE);
    assert_eq!(now(&cases.replace("#[case(2, 3)]\n", "")), ["changed tests/cases.rs::next weaker"]);
    let macros = "proptest! {\n    #[test]\n    fn one(a in 0..9u32) { prop_assert!(a < 9); }\n\n    #[test]\n    fn two(a in 0..9u32) { prop_assert!(a < 10); }\n}\n";
    let with = base().with("tests/props.rs", macros);
    let now = |text: &str| facts(rust(), &with, &with.with("tests/props.rs", text));
    assert_eq!(now(&macros.replace("a < 10", "true")), ["changed tests/props.rs::two"]);
    let more = macros
        .replace("    #[test]\n    fn two", "    #[test]\n    fn three() {}\n\n    #[test]\n    fn two");
    assert_eq!(now(&more), ["added tests/props.rs::three"]);
}

#[test]
fn a_name_that_changed_everywhere_changes_no_test_and_one_that_still_stands_does() {
    let renamed = base()
        .with("src/lib.rs", &LIB.replace("add(", "plus("))
        .with("tests/it.rs", &IT.replace("add(", "plus(").replace("demo::add", "demo::plus"));
    let found = facts(rust(), &base(), &renamed);
    // Documentation is compared by its text.
    assert_eq!(
        found,
        ["changed src/lib.rs::doc::add", "added src/lib.rs::doc::plus"]
            .map(|line| line.replace("changed", "removed"))
    );
    let tree = old_tree(rust(), &base(), &renamed, &FromCandidate::default());
    assert!(tree.text_of("tests/it.rs").contains("use demo::plus;"), "{}", tree.text_of("tests/it.rs"));
    let both = LIB
        .replace("add(", "plus(")
        .replace("#[cfg(test)]", "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[cfg(test)]");
    let found = after("src/lib.rs", &both);
    assert!(found.contains(&"changed src/lib.rs::tests::adds".to_owned()), "{found:?}");
}

#[test]
fn what_tests_use_may_grow_and_not_change() {
    assert_eq!(edited("assert_eq!(add(a, b), a + b);", "add(a, b);"), ["support src/lib.rs"]);
    assert_eq!(edited("; 2] = [(1, 1), (2, 2)]", "; 1] = [(1, 1)]"), ["support src/lib.rs"]);
    assert_eq!(after("tests/data/cases.txt", "1\n2\n3\n"), NONE);
    assert_eq!(after("tests/data/cases.txt", "1\n3\n"), ["support tests/data/cases.txt"]);
    let shadowed =
        edited("    fn check", "    fn add(a: u32, b: u32) -> u32 {\n        a + b\n    }\n\n    fn check");
    assert_eq!(shadowed, ["evidence src/lib.rs?"]);
}

#[test]
fn documentation_that_is_run_is_a_test() {
    assert_eq!(
        edited("/// assert_eq!(demo::add(1, 1), 2);", "/// demo::add(1, 1);"),
        ["changed src/lib.rs::doc::add weaker"]
    );
    assert_eq!(edited("/// ```\n/// assert", "/// ```text\n/// assert"), ["removed src/lib.rs::doc::add"]);
    assert_eq!(edited("/// Adds.", "/// Adds two numbers."), NONE);
}

#[test]
fn what_decides_how_tests_run_needs_a_consent() {
    for (name, text) in [
        ("build.rs", "fn main() {}\n".to_owned()),
        (".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"x\"]\n".to_owned()),
        ("rust-toolchain.toml", "[toolchain]\nchannel = \"nightly\"\n".to_owned()),
        ("Cargo.toml", format!("{MANIFEST}[lib]\ntest = false\n")),
        ("Cargo.toml", format!("{MANIFEST}[[test]]\nname = \"it\"\nharness = false\n")),
        ("Cargo.toml", format!("{MANIFEST}[profile.test]\ndebug-assertions = false\n")),
        ("src/area.rs", format!("{AREA}macro_rules! assert_eq {{ ($($t:tt)*) => {{}}; }}\n")),
        ("src/area.rs", AREA.replace("a * a", "if cfg!(test) { a * a } else { 0 }")),
        ("src/area.rs", AREA.replace("    a * a", "    #[cfg(test)]\n    return a * a;\n    0")),
    ] {
        assert_eq!(after(name, &text), [format!("evidence {name}")], "{text}");
    }
    let dev = format!("{MANIFEST}[dev-dependencies]\nrstest = \"0.1\"\n");
    assert_eq!(after("Cargo.toml", &dev), ["evidence Cargo.toml?"]);
    let old =
        as_it_was(rust(), &base(), &base().with("Cargo.toml", &dev), &FromCandidate::default(), "Cargo.toml")
            .unwrap();
    assert_eq!(old.trim(), MANIFEST.trim());
    assert_eq!(after("Cargo.toml", &format!("{MANIFEST}[dependencies]\nx = \"1\"\n")), NONE);
    assert_eq!(after("src/tools/build.rs", "pub fn x() {}\n"), NONE);
    let empty = Map::of(&[("Cargo.toml", MANIFEST), ("src/lib.rs", "pub fn a() {}\n")]);
    assert_eq!(facts(rust(), &empty, &empty.with("build.rs", "fn main() {}\n")), NONE);
}

#[test]
fn code_that_is_still_to_be_written_is_charged() {
    assert_eq!(after("src/area.rs", &AREA.replace("a * a", "todo!()")), ["stub src/area.rs"]);
    assert_eq!(
        after("src/area.rs", &AREA.replace("a * a", "unimplemented!(\"later\")")),
        ["stub src/area.rs"]
    );
    assert_eq!(after("src/area.rs", &AREA.replace("a * a", "a * a // todo!()")), NONE);
    let with = base().with("src/area.rs", &AREA.replace("a * a", "todo!()"));
    assert_eq!(
        facts(rust(), &with, &with.with("src/area.rs", &AREA.replace("a * a", "let _ = a;\n    todo!()"))),
        NONE
    );
}

fn slot_reads(files: &Map) -> Reading {
    Slot::new().read(rust(), files, StageKind::Test)
}

#[test]
fn old_tests_stand_over_new_code_and_new_ones_are_left_out() {
    let weak =
        LIB.replace("    a + b\n", "    2 * a.max(b)\n").replace("        assert_eq!(add(1, 2), 3);\n", "");
    let weak =
        weak.replace("    #[test]\n    fn all", "    #[test]\n    fn new() {}\n\n    #[test]\n    fn all");
    let candidate = base().with("src/lib.rs", &weak).with("tests/new.rs", "#[test]\nfn new() {}\n");
    let tree = old_tree(rust(), &base(), &candidate, &FromCandidate::default());
    let text = tree.text_of("src/lib.rs");
    assert!(
        text.contains("2 * a.max(b)") && text.contains("add(1, 2), 3") && !text.contains("fn new"),
        "{text}"
    );
    assert!(!tree.texts().contains_key(&path("tests/new.rs")));
    let reading = slot_reads(&tree);
    let (ends, results) = (ends(&reading), &reading.tests.as_ref().unwrap().results);
    assert_eq!(ends["demo::tests::adds"], TestEnd::Failed, "{:?}", reading.residuals);
    assert_eq!(ends["demo::area::tests::squares"], TestEnd::Passed);
    // Each changed test is found among the results.
    let changed = structure(rust(), &base(), &candidate.with("src/area/tests.rs", "")).inventory.changed;
    assert_eq!(changed.len(), 2);
    for test in changed {
        assert_eq!(results.iter().filter(|(name, result)| test.id.is(name, result)).count(), 1, "{test:?}");
    }
    let gone = base().with("src/lib.rs", &LIB[..LIB.find("#[cfg(test)]").unwrap()]);
    let text = old_tree(rust(), &base(), &gone, &FromCandidate::default()).text_of("src/lib.rs");
    assert!(text.contains("fn adds"), "{text}");
}

#[test]
fn where_old_tests_do_not_compile_imports_and_then_single_tests_are_conceded() {
    let lib = LIB.replace(
        "pub fn add(a: u32, b: u32) -> u32 {\n    a + b",
        "pub fn add(a: u32, b: u32, c: u32) -> u32 {\n    a + b + c",
    );
    let lib = lib
        .replace("add(1, 1)", "add(1, 1, 0)")
        .replace("add(1, 2)", "add(1, 2, 0)")
        .replace("add(a, b)", "add(a, b, 0)");
    let more = "#[test]\nfn it_squares() {\n    assert_eq!(demo::area::of(2), 4);\n}\n";
    let base = base().with("tests/it.rs", &format!("{IT}\n{more}"));
    let candidate = base
        .with("src/lib.rs", &lib)
        .with("tests/it.rs", &format!("{}\n{more}", IT.replace("add(1, 1)", "add(1, 1, 0)")));
    let pair = Pair { base: &base, candidate: &candidate };
    let mut conceded = FromCandidate::default();
    for _ in 0..6 {
        let reading = slot_reads(&old_tree(rust(), &base, &candidate, &conceded));
        let more = rust().take_more(&pair, &conceded, &reading);
        if more == conceded {
            let ends = ends(&reading);
            assert_eq!(ends["demo/it::it_squares"], TestEnd::Passed, "{:?}", reading.residuals);
            break;
        }
        conceded = more;
    }
    let named: Vec<String> = conceded.tests.iter().map(|(file, name)| format!("{file}::{name}")).collect();
    assert_eq!(named, ["src/lib.rs::tests::adds", "src/lib.rs::tests::check", "tests/it.rs::it_adds"]);
    assert!(conceded.files.is_empty(), "{conceded:?}");
}

#[test]
fn commands_that_verification_repeats_are_known_and_cargo_add_is_carried_out() {
    let root = rust().roots(&base()).remove(0);
    let kind = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        rust().command(&argv, &root, &base())
    };
    for line in [
        "cargo test --workspace",
        "cargo check",
        "cargo build --release",
        "cargo fmt --check",
        "cargo fmt --all -- --check",
        "cargo clippy",
    ] {
        assert_eq!(kind(line), CommandKind::Repeats, "{line}");
    }
    for line in [
        "cargo run",
        "cargo fmt",
        "cargo add x --git https://a/b",
        "cargo add --path ../x",
        "cargo add x --registry y",
        "cargo install x",
        "cargo add",
    ] {
        assert_eq!(kind(line), CommandKind::Other, "{line}");
    }
    let CommandKind::Adds(added) = kind("cargo add serde@1 rand --dev --features derive,std -p demo") else {
        panic!()
    };
    assert_eq!(added.names, ["serde", "rand"]);
    assert_eq!(added.fetch.step.profile, Profile::Fetch);
    assert_eq!(added.fetch.step.argv[..2], ["cargo", "add"]);
    let files = Map::of(&[
        ("Cargo.toml", "[dependencies]\nrand2 = { package = \"rand\", version = \"1\" }\n"),
        ("Cargo.lock", "[[package]]\nname = \"libc\"\n"),
    ]);
    let found: Vec<String> = rust().packages(&files).into_iter().collect();
    assert_eq!(found, ["libc", "rand", "rand2"]);
}
