//! What the Rust plugin says of a change before any tool runs.

use perspt_core::plan::TaskType;
use perspt_lang::plugin::{Touch, Was};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, charged, node, path, touched, touched_with};

fn rust() -> &'static dyn Plugin {
    plugin("rust").unwrap()
}

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n";
const LIB: &str = "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    \
                   fn adds() {\n        assert_eq!(add(1, 1), 2);\n        assert_eq!(add(1, 2), 3);\n    }\n}\n";
const IT: &str = "#[test]\nfn it_adds() { assert_eq!(demo::add(1, 1), 2); }\n\n#[test]\nfn it_too() {}\n";

fn base() -> Map {
    Map::of(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIB),
        ("src/checks.rs", "pub fn helper() {}\n"),
        ("src/more.rs", "#[cfg(test)]\nmod checks;\n#[test]\nfn alone() {}\n"),
        ("src/more/checks.rs", "#[test]\nfn deep() {}\n"),
        ("tests/it.rs", IT),
        ("tests/data/expected.txt", "2\n"),
        ("src/snapshots/a.snap", "2\n"),
    ])
}

/// What a node of this type is charged with for one changed file.
fn after(task_type: TaskType, name: &str, text: &str) -> Vec<String> {
    charged(&touched(rust(), &base(), &base().with(name, text), &node(task_type, &[name]), "add a feature"))
}

fn deleted(task_type: TaskType, name: &str) -> Vec<String> {
    charged(&touched(rust(), &base(), &base().without(name), &node(task_type, &[name]), "add a feature"))
}

const NONE: [String; 0] = [];

#[test]
fn a_code_node_may_write_beside_tests_and_lay_them_out_anew() {
    let beside = LIB.replace("{ a + b }", "{ b + a }")
        + "\n#[cfg(test)]\nmod more_tests {\n    #[test]\n    fn new() { run() }\n}\n";
    assert_eq!(after(TaskType::Code, "src/lib.rs", &beside), NONE);
    let laid_out = LIB.replace("    use super::*;\n", "  // a word\n use super :: * ;\n\n");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &laid_out), NONE);
    assert_eq!(after(TaskType::Code, "tests/new.rs", "#[test]\nfn new() { run() }\n"), NONE);
    assert_eq!(after(TaskType::Code, "src/checks.rs", "pub fn other() {}\n"), NONE);
}

#[test]
fn a_macro_that_makes_tests_is_as_good_as_a_test() {
    let tests = "macro_rules! case {\n    ($n:ident, $v:expr) => {\n        #[test]\n        fn $n() { assert_eq!(add(1, 1), $v); }\n    };\n}\n";
    let with = base().with("src/checks.rs", tests);
    let gutted = tests.replace("assert_eq!(add(1, 1), $v);", "let _ = $v;");
    let charge = |text: &str| {
        let after = with.with("src/checks.rs", text);
        charged(&touched(rust(), &with, &after, &node(TaskType::Code, &["src/checks.rs"]), "add a feature"))
    };
    assert_eq!(charge(&gutted), ["test-changed src/checks.rs"]);
    assert_eq!(charge(&format!("{tests}\npub fn more() {{}}\n")), NONE);
}

#[test]
fn a_code_node_may_not_change_or_delete_existing_tests() {
    let changed = LIB.replace("add(1, 1), 2", "add(1, 1), 3");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &changed), ["test-changed src/lib.rs"]);
    let shadowed = LIB.replace("use super::*;", "use super::*;\n    fn add(_: u32, _: u32) -> u32 { 2 }");
    assert_eq!(after(TaskType::Refactor, "src/lib.rs", &shadowed), ["test-changed src/lib.rs"]);
    let gone = LIB.split("#[cfg(test)]").next().unwrap();
    assert_eq!(after(TaskType::Code, "src/lib.rs", gone), ["test-deleted src/lib.rs"]);
    assert_eq!(
        after(TaskType::Code, "src/more.rs", "#[cfg(test)]\nmod checks;\n"),
        ["test-deleted src/more.rs"]
    );
    assert_eq!(after(TaskType::Code, "src/more/checks.rs", ""), ["test-changed src/more/checks.rs"]);
    assert_eq!(deleted(TaskType::Code, "src/more/checks.rs"), ["test-deleted src/more/checks.rs"]);
    assert_eq!(after(TaskType::Code, "tests/it.rs", ""), ["test-changed tests/it.rs"]);
    assert_eq!(deleted(TaskType::Documentation, "tests/it.rs"), ["test-deleted tests/it.rs"]);
    assert_eq!(
        after(TaskType::Code, "tests/data/expected.txt", "3\n"),
        ["test-changed tests/data/expected.txt"]
    );
    assert_eq!(after(TaskType::Code, "src/snapshots/a.snap", "3\n"), ["test-changed src/snapshots/a.snap"]);
}

#[test]
fn a_file_that_does_not_parse_is_compared_all_the_same() {
    let torn = format!("{}\npub fn half( {{", LIB.replace("2);", "3);"));
    assert_eq!(after(TaskType::Code, "src/lib.rs", &torn), ["test-changed src/lib.rs"]);
    let torn = format!("{LIB}\npub fn half() {{ \"open");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &torn), NONE);
}

#[test]
fn a_new_test_that_can_find_nothing_is_charged() {
    for empty in ["", "assert!(true);", "let x = 1;\n    assert_eq!(1 + 1, 2);"] {
        let text = format!("#[test]\nfn fresh() {{\n    {empty}\n}}\n");
        assert_eq!(after(TaskType::UnitTest, "tests/new.rs", &text), ["test-empty tests/new.rs"], "{empty}");
    }
    for test in ["run();", "let x = 1;\n    assert_eq!(x, 1);", "assert!(run().is_err());", "check!(1);"] {
        let text = format!("#[test]\nfn fresh() {{\n    {test}\n}}\n");
        assert_eq!(after(TaskType::UnitTest, "tests/new.rs", &text), NONE, "{test}");
    }
}

#[test]
fn the_tests_of_before_are_put_back_and_new_ones_left_out() {
    let text = LIB.replace("2);", "3);") + "\n#[cfg(test)]\nmod more {\n    #[test]\n    fn fresh() {}\n}\n";
    let candidate = base()
        .with("src/lib.rs", &text.replace("pub fn", "pub const fn"))
        .with("tests/it.rs", "")
        .with("tests/new.rs", "#[test]\nfn fresh() {}\n");
    let node = node(TaskType::UnitTest, &["src/lib.rs"]);
    let (base, authored) = (base(), std::collections::BTreeSet::new());
    let touch = Touch { base: &base, candidate: &candidate, node: &node, task: "", authored: &authored };
    let was = rust().tests_as_before(&touch);
    assert_eq!(was.get(&path("tests/it.rs")), Some(&Was::Base));
    assert_eq!(was.get(&path("tests/new.rs")), Some(&Was::Absent));
    let Some(Was::Text(text)) = was.get(&path("src/lib.rs")) else { panic!("{was:?}") };
    let kept = LIB.replace("pub fn", "pub const fn") + "\nconst _: () = ();\n";
    assert_eq!(*text, kept);
}

#[test]
fn a_test_node_may_change_tests_but_not_lose_ignore_or_hide_them() {
    let changed = LIB.replace("        assert_eq!(add(1, 2), 3);\n", "");
    let residuals = touched(
        rust(),
        &base(),
        &base().with("src/lib.rs", &changed),
        &node(TaskType::UnitTest, &["src/lib.rs"]),
        "",
    );
    assert_eq!(charged(&residuals), ["test-weakened src/lib.rs"]);
    let shown: Vec<&str> = residuals.iter().map(|residual| residual.class.as_str()).collect();
    assert_eq!(shown, ["test-changed", "test-weakened"], "fewer assertions are charged");
    let ignored = LIB.replace("#[test]", "#[test]\n    #[ignore]");
    assert_eq!(after(TaskType::UnitTest, "src/lib.rs", &ignored), ["test-weakened src/lib.rs"]);
    let panics = LIB.replace("#[test]", "#[test]\n    #[should_panic]");
    assert_eq!(after(TaskType::UnitTest, "src/lib.rs", &panics), ["test-weakened src/lib.rs"]);
    let hidden = format!("#![cfg(any())]\n{LIB}");
    assert_eq!(after(TaskType::UnitTest, "src/lib.rs", &hidden), ["test-weakened src/lib.rs"]);
    let lost = IT.split("\n\n").next().unwrap();
    assert_eq!(after(TaskType::IntegrationTest, "tests/it.rs", lost), ["test-weakened tests/it.rs"]);
    assert_eq!(deleted(TaskType::UnitTest, "tests/it.rs"), ["test-weakened tests/it.rs"; 2]);
    let moved = base().without("tests/it.rs").with("tests/other.rs", IT);
    let moving = node(TaskType::UnitTest, &["tests/it.rs", "tests/other.rs"]);
    assert_eq!(charged(&touched(rust(), &base(), &moved, &moving, "")), NONE, "moved is not lost");
}

#[test]
fn a_test_that_demands_less_or_can_no_longer_fail_is_weakened() {
    let first = "assert_eq!(add(1, 1), 2);";
    for weaker in [
        "assert!(add(1, 1) > 0);",
        "assert_ne!(add(1, 1), 3);",
        "assert!(true);",
        "assert_eq!(2, 2);",
        "assert_eq!(add(1, 1), add(1, 1));",
        "assert!(add(1, 1) == 2 || true);",
        "assert!(add(1, 1) == 2 || add(0, 0) == 0);",
        "return; assert_eq!(add(1, 1), 2);",
        "if false { assert_eq!(add(1, 1), 2); }",
        "#[cfg(any())]\n assert_eq!(add(1, 1), 2);",
        "let _ = std::panic::catch_unwind(|| assert_eq!(add(1, 1), 2));",
    ] {
        let text = LIB.replace(first, weaker);
        assert_eq!(after(TaskType::UnitTest, "src/lib.rs", &text), ["test-weakened src/lib.rs"], "{weaker}");
    }
    for fine in [
        "assert_eq!(add(1, 1), 3);",
        "assert_eq!(total(1, 1), 2);",
        "assert!(add(1, 1) == 2, \"{}\", 1);",
        "assert!(matches!(add(1, 1), 2));",
        "assert_eq!(add(1, 1), Some(2).unwrap_or_else(|| 3));",
        "assert_eq!(add(1, 1), 2); assert!(add::<u8>(1, 1) == 2);",
    ] {
        let text = LIB.replace(first, fine);
        assert_eq!(after(TaskType::UnitTest, "src/lib.rs", &text), NONE, "{fine}");
    }
}

#[test]
fn a_node_may_change_tests_of_a_file_that_is_its_own_and_new() {
    let candidate = base().with("src/lib.rs", &LIB.replace("2);", "3);"));
    let own = node(TaskType::Code, &["src/lib.rs"]);
    assert_eq!(charged(&touched_with(rust(), &base(), &candidate, &own, "", &["src/lib.rs"])), NONE);
    let other = node(TaskType::Code, &["src/other.rs"]);
    let foreign = charged(&touched_with(rust(), &base(), &candidate, &other, "", &["src/lib.rs"]));
    assert_eq!(foreign, ["test-changed src/lib.rs"]);
}

#[test]
fn test_functions_of_every_kind_are_seen() {
    for test in [
        "#[tokio::test]\nasync fn t() { work(); }",
        "#[test_log::test]\nfn t() { work(); }",
        "#[rstest]\n#[case(1)]\nfn t(#[case] x: u32) { work(); }",
        "proptest! { #[test] fn t(x in 0..1) { work(); } }",
        "proptest::proptest! { #[test] fn t(x in 0..1) { work(); } }",
        "#[cfg(all(test, unix))]\nfn t() { work(); }",
        "#[cfg(test)]\nimpl X { fn t() { work(); } }",
        "#[cfg(test)]\npub(crate) const T: [u8; { 3 }] = work();",
        "mod inner { #[test] fn t() { let c = '{'; let s = r#\"}\"#; work(); } }",
    ] {
        let before = Map::of(&[("src/lib.rs", test)]);
        let candidate = before.with("src/lib.rs", &test.replace("work", "nothing"));
        let found = charged(&touched(rust(), &before, &candidate, &node(TaskType::Code, &[]), ""));
        assert_eq!(found, ["test-changed src/lib.rs"], "{test}");
    }
    for code in [
        "#[cfg(not(test))]\nfn t() { work(); }",
        "#[inline]\nfn test() { work(); }",
        "// #[test]\nfn t() { work(); }",
    ] {
        let before = Map::of(&[("src/lib.rs", code)]);
        let candidate = before.with("src/lib.rs", &code.replace("work", "nothing"));
        assert_eq!(
            charged(&touched(rust(), &before, &candidate, &node(TaskType::Code, &[]), "")),
            NONE,
            "{code}"
        );
    }
}

#[test]
fn what_decides_how_evidence_is_gathered_is_charged_unless_the_task_names_it() {
    for (name, task) in [
        ("build.rs", "write a build script that embeds the version"),
        ("crates/x/build.rs", "fix build.rs"),
        (".cargo/config.toml", "set the linker in .cargo/config.toml"),
        ("rust-toolchain.toml", "pin the toolchain"),
        ("clippy.toml", "configure clippy"),
        (".tool-versions", "pin the rust version"),
        ("mise.toml", "write a mise.toml"),
        (".mise.toml", "pin the toolchain"),
        (".config/nextest.toml", "tune nextest"),
    ] {
        let candidate = base().with(name, "x");
        let charge =
            |task: &str| charged(&touched(rust(), &base(), &candidate, &node(TaskType::Code, &[name]), task));
        assert_eq!(charge("make it trust nobody"), [format!("evidence-rules-changed {name}")]);
        assert_eq!(charge(task), NONE, "{name}");
        let gone =
            charged(&touched(rust(), &candidate, &base(), &node(TaskType::UnitTest, &[name]), "tidy up"));
        assert_eq!(gone, [format!("evidence-rules-changed {name}")]);
    }
}

#[test]
fn a_manifest_is_compared_by_what_it_says() {
    let manifest = |text: &str| after(TaskType::Code, "Cargo.toml", text);
    assert_eq!(
        manifest(&format!("# a word\n{}\n[dependencies]\nserde = \"1\"\n", MANIFEST.replace(" = ", "="))),
        NONE
    );
    for trick in [
        "[lib]\ntest = false\n",
        "[lib]\ndoctest = false\n",
        "[[test]]\nname = \"it\"\nharness = false\n",
        "[[test]]\nname = \"it\"\ntest = false\n",
        "[[test]]\nname = \"it\"\nrequired-features = [\"never\"]\n",
        "autotests = false\n",
        "build = \"other.rs\"\n",
    ] {
        assert_eq!(manifest(&format!("{MANIFEST}{trick}")), ["evidence-rules-changed Cargo.toml"], "{trick}");
        // Also in a manifest that the session itself made.
        let greenfield = Map::default();
        let made = greenfield.with("Cargo.toml", &format!("{MANIFEST}{trick}"));
        let maker = node(TaskType::Code, &["Cargo.toml"]);
        let found = touched_with(rust(), &greenfield, &made, &maker, "make it", &["Cargo.toml"]);
        assert_eq!(charged(&found), ["evidence-rules-changed Cargo.toml"], "{trick}");
    }
    for rule in [
        "[profile.test]\noverflow-checks = false\n",
        "[workspace]\nexclude = [\"x\"]\n",
        "[workspace]\ndefault-members = [\".\"]\n",
        "[patch.x]\ny = { path = \"z\" }\n",
    ] {
        assert_eq!(manifest(&format!("{MANIFEST}{rule}")), ["evidence-rules-changed Cargo.toml"], "{rule}");
        let made = Map::default().with("Cargo.toml", &format!("{MANIFEST}{rule}"));
        let found = touched_with(
            rust(),
            &Map::default(),
            &made,
            &node(TaskType::Code, &["Cargo.toml"]),
            "",
            &["Cargo.toml"],
        );
        assert_eq!(charged(&found), NONE, "ordinary in a new manifest: {rule}");
    }
    let bench = format!("{MANIFEST}[[bench]]\nname = \"b\"\nharness = false\n");
    assert_eq!(manifest(&bench), NONE);
    let hidden = base().with("Cargo.toml", &format!("{MANIFEST}[lib]\ntest = false\n"));
    let freed = charged(&touched(rust(), &hidden, &base(), &node(TaskType::Code, &["Cargo.toml"]), ""));
    assert_eq!(freed, NONE, "taking back what hid tests is no offence");
    let workspace = Map::of(&[("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n")]);
    let fewer = workspace.with("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n");
    let lost = charged(&touched(rust(), &workspace, &fewer, &node(TaskType::Code, &["Cargo.toml"]), ""));
    assert_eq!(lost, ["evidence-rules-changed Cargo.toml"]);
    let more = workspace.with("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\n");
    assert_eq!(
        charged(&touched(rust(), &workspace, &more, &node(TaskType::Code, &["Cargo.toml"]), "")),
        NONE
    );
}

#[test]
fn forbidden_patterns_are_looked_for_in_the_nodes_files_alone() {
    let mut owner = node(TaskType::Code, &["src/new.rs"]);
    owner.contract.forbidden_patterns = vec!["unsafe".to_owned(), "assert_eq".to_owned()];
    let candidate =
        base().with("src/new.rs", "fn a() {}\nfn b() { unsafe {} }\n").with("README.md", "nothing unsafe\n");
    let found = touched(rust(), &base(), &candidate, &owner, "");
    assert_eq!(charged(&found), ["forbidden-pattern README.md", "forbidden-pattern src/new.rs"]);
    assert_eq!(found[1].place.unwrap().line, 2);
    owner.contract.forbidden_patterns = vec!["transmute".to_owned()];
    assert_eq!(charged(&touched(rust(), &base(), &candidate, &owner, "")), NONE);
}

#[test]
fn a_task_names_rust_by_its_words() {
    for task in ["a todo list in Rust", "fix src/main.rs", "write a crate", "use Cargo.toml"] {
        assert!(rust().named_in(task), "{task}");
    }
    for task in ["make users trust it", "a crateful of rusty nails", "python please"] {
        assert!(!rust().named_in(task), "{task}");
    }
}

#[test]
fn a_task_that_forbids_a_file_does_not_unlock_it() {
    let candidate = base().with("build.rs", "fn main() {}\n");
    let charge = |task: &str| {
        charged(&touched(rust(), &base(), &candidate, &node(TaskType::Code, &["build.rs"]), task))
    };
    assert_eq!(
        charge("Never change build.rs, pytest.ini or tests/conftest.py!"),
        ["evidence-rules-changed build.rs"]
    );
    assert_eq!(charge("Never change pytest.ini! Write build.rs."), NONE);
}

#[test]
fn a_code_node_may_add_to_an_existing_test_module() {
    for (at, addition) in [
        ("    use super::*;\n", "    #[test]\n    fn more() { assert!(run()); }\n"),
        ("    use super::*;\n", "    use std::fmt;\n    const LIMIT: u32 = 3;\n    fn helper() {}\n"),
        ("    #[test]\n", "    mod inner {\n        #[test]\n        fn deep() { run() }\n    }\n"),
        ("    #[test]\n", "    use super::{self as base, other};\n    impl Tool { fn add() {} }\n"),
    ] {
        let added = LIB.replace(at, &format!("{addition}{at}"));
        assert_eq!(after(TaskType::Code, "src/lib.rs", &added), NONE, "{addition}");
    }
    let nested = "#[cfg(test)]\nmod tests {\n    mod inner {\n        #[test]\n        fn deep() { work(); }\n    }\n}\n";
    let base = Map::of(&[("src/lib.rs", nested)]);
    let charge = |text: &str| {
        let candidate = base.with("src/lib.rs", text);
        touched(rust(), &base, &candidate, &node(TaskType::Code, &[]), "")
    };
    assert_eq!(charge(&nested.replace("mod inner {", "mod inner {\n#[test]\nfn more() { run() }")), []);
    let changed = charge(&nested.replace("work()", "idle()"));
    assert_eq!(charged(&changed), ["test-changed src/lib.rs"]);
    assert_eq!(changed[0].symbol.as_deref(), Some("tests::inner::deep"));
}

#[test]
fn what_is_added_to_a_test_module_may_not_stand_in_front_of_what_its_tests_use() {
    for addition in [
        "fn add(_: u32, _: u32) -> u32 { 2 }",
        "use crate::fake::add;",
        "use crate::fake::{other, sum as add};",
        "macro_rules! add { () => {} }",
        "mod add {}",
    ] {
        let shadowed = LIB.replace("    use super::*;\n", &format!("    use super::*;\n    {addition}\n"));
        assert_eq!(after(TaskType::Code, "src/lib.rs", &shadowed), ["test-changed src/lib.rs"], "{addition}");
    }
    for hidden in [
        LIB.replace("#[cfg(test)]\n", "#[cfg(test)]\n#[cfg(any())]\n"),
        LIB.replace("mod tests {\n", "mod tests {\n    #![cfg(any())]\n"),
        LIB.replace("    use super::*;\n", ""),
    ] {
        let found = after(TaskType::Code, "src/lib.rs", &hidden);
        assert!(found.iter().any(|charge| charge.starts_with("test-")), "{hidden}");
    }
}

#[test]
fn a_macro_that_takes_the_name_of_an_assertion_is_charged_unless_it_was_there() {
    let quiet = "macro_rules! assert_eq { ($($t:tt)*) => {} }\n";
    for (kind, name) in [(TaskType::Code, "src/lib.rs"), (TaskType::UnitTest, "tests/common/mod.rs")] {
        let text =
            format!("{quiet}{}", base().texts().get(&crate::support::path(name)).map_or("", |text| text));
        assert_eq!(after(kind, name, &text), [format!("evidence-rules-changed {name}")]);
    }
    for macro_name in ["assert", "assert_ne", "debug_assert", "panic", "matches", "r#assert"] {
        let text = format!("mod inner {{ macro_rules! {macro_name} {{ () => {{}} }} }}\n{LIB}");
        assert_eq!(after(TaskType::Code, "src/lib.rs", &text), ["evidence-rules-changed src/lib.rs"]);
    }
    let own = format!("macro_rules! assert_small {{ () => {{}} }}\n// macro_rules! assert\n{LIB}");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &own), NONE);
    let there = base().with("src/lib.rs", &format!("{quiet}{LIB}"));
    let charge = |candidate: &Map, task: &str| {
        charged(&touched(rust(), &there, candidate, &node(TaskType::Code, &[]), task))
    };
    assert_eq!(charge(&there.with("src/lib.rs", &format!("// a word\n{quiet}{LIB}")), ""), NONE);
    let moved = there.with("src/lib.rs", &format!("mod quiet;\n{LIB}")).with("src/quiet.rs", quiet);
    assert_eq!(charge(&moved, ""), NONE, "moved is not new");
    let quieter = there.with("src/lib.rs", &format!("{}{LIB}", quiet.replace("=> {}", "=> {{}}")));
    assert_eq!(charge(&quieter, ""), ["evidence-rules-changed src/lib.rs"]);
    assert_eq!(charge(&quieter, "rewrite the assert_eq macro"), NONE);
}

const DOCUMENTED: &str = "//! A crate.\n//!\n//! ```\n//! assert_eq!(demo::add(0, 0), 0);\n//! ```\n\n/// Adds.\n///\n/// ```\n/// \
                          # use demo::add;\n/// assert_eq!(add(1, 1), 2);\n/// ```\n///\n/// ```text\n/// 1 + 1\n/// ```\n#[inline]\n\
                          pub fn add(a: u32, b: u32) -> u32 { a + b }\n";

/// What a node is charged with for the sources of a documented crate, besides the classes of what is shown.
fn documented(task_type: TaskType, sources: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let base = Map::of(&[("Cargo.toml", MANIFEST), ("src/lib.rs", DOCUMENTED)]);
    let candidate = sources.iter().fold(base.clone(), |files, (name, text)| files.with(name, text));
    let found = touched(rust(), &base, &candidate, &node(task_type, &[]), "");
    let shown =
        found.iter().filter(|residual| !residual.counts()).map(|residual| residual.class.as_str().to_owned());
    (charged(&found), shown.collect())
}

#[test]
fn a_code_node_may_not_change_the_examples_that_rustdoc_tries_out() {
    let code = |text: &str| documented(TaskType::Code, &[("src/lib.rs", text)]).0;
    let changed = ["test-changed src/lib.rs"];
    assert_eq!(code(&DOCUMENTED.replace("(1, 1), 2", "(1, 1), 3")), changed);
    assert_eq!(code(&DOCUMENTED.replace("(0, 0), 0", "(0, 0), 1")), changed);
    for fence in ["no_run", "ignore", "text", "should_panic", "compile_fail", "rust,ignore"] {
        let weakened = DOCUMENTED.replace("/// ```\n/// #", &format!("/// ```{fence}\n/// #"));
        let found = code(&weakened);
        assert!(found.contains(&changed[0].to_owned()), "{fence}: {found:?}");
    }
    let gone =
        DOCUMENTED.replace("/// ```\n/// # use demo::add;\n/// assert_eq!(add(1, 1), 2);\n/// ```\n", "");
    assert_eq!(code(&gone), ["test-deleted src/lib.rs"]);
    let unmade = DOCUMENTED.replace("/// ", "// ");
    assert_eq!(code(&unmade), ["test-deleted src/lib.rs"]);
    for fine in [
        DOCUMENTED.replace("{ a + b }", "{ b + a }").replace("Adds.", "The sum."),
        DOCUMENTED
            .replace("```\n/// # use", "```rust\n/// use")
            .replace("assert_eq!(add", "// so\n/// assert_eq!( add"),
        DOCUMENTED.replace("1 + 1", "one and one"),
        DOCUMENTED.replace("/// Adds.\n", "/// Adds.\n///\n/// ```\n/// assert!(true);\n/// ```\n"),
        DOCUMENTED.replace("pub fn add", "pub fn sum"),
    ] {
        assert_eq!(code(&fine), NONE, "{fine}");
    }
    let (head, rest) = DOCUMENTED.split_once("\n\n").unwrap();
    let moved = [("src/lib.rs", format!("{head}\npub mod sum;\n")), ("src/sum.rs", rest.to_owned())];
    let moved: Vec<(&str, &str)> = moved.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(documented(TaskType::Code, &moved).0, NONE, "moved is not changed");
    let hidden = [moved[0], ("examples/sum.rs", rest)];
    assert_eq!(
        documented(TaskType::Code, &hidden).0,
        ["test-deleted src/lib.rs"],
        "nobody tries it out there"
    );
}

#[test]
fn a_test_node_that_changes_an_example_is_shown_and_one_that_loses_or_weakens_it_is_charged() {
    let test = |text: &str| documented(TaskType::UnitTest, &[("src/lib.rs", text)]);
    let shown = |classes: &[&str]| classes.iter().map(|class| (*class).to_owned()).collect::<Vec<_>>();
    let changed = DOCUMENTED.replace("(1, 1), 2", "(1, 2), 3");
    assert_eq!(test(&changed), (vec![], shown(&["test-changed"])));
    let renamed = changed.replace("fn add", "fn sum");
    assert_eq!(test(&renamed), (vec![], shown(&["test-changed"])), "it answers for the old one");
    let less = DOCUMENTED.replace("/// assert_eq!(add(1, 1), 2);\n", "/// add(1, 1);\n");
    let weakened = ["test-weakened src/lib.rs".to_owned()];
    assert_eq!(test(&less), (weakened.to_vec(), shown(&["test-changed"])));
    let ignored = DOCUMENTED.replace("/// ```\n/// #", "/// ```ignore\n/// #");
    assert_eq!(test(&ignored).0, weakened);
    let gone = DOCUMENTED.replace("//! assert_eq!(demo::add(0, 0), 0);\n", "").replace("//! ```\n", "");
    assert_eq!(test(&gone).0, weakened);
}

#[test]
fn examples_are_seen_however_documentation_is_written_and_only_where_rustdoc_looks() {
    for text in [
        "/**\n * Adds.\n * ```\n * work();\n * ```\n */\npub fn f() {}\n",
        "/**\nAdds.\n```\nwork();\n```\n*/\npub fn f() {}\n",
        "/*!\n~~~rust\nwork();\n~~~\n*/\n",
        "#[doc = \"```\\nwork();\\n```\"]\npub fn f() {}\n",
        "#[doc = \"```\"]\n#[doc = r\"work();\"]\n#[doc = \"```\"]\npub fn f() {}\n",
        "/// ```\n#[doc = \" work();\"]\n/// ```\npub fn f() {}\n",
        "#![doc = \"```\\nwork();\\n```\"]\n",
        "pub struct S {\n    /// ```edition2021,no_run\n    /// work();\n    /// ```\n    pub x: u32,\n}\n",
        "/// ```\n/// work();\npub fn f() {}\n",
    ] {
        let count = |manifest: &str, name: &str| {
            let base = Map::of(&[("Cargo.toml", manifest), ("src/lib.rs", ""), (name, text)]);
            let candidate = base.with(name, &text.replace("work", "idle"));
            charged(&touched(rust(), &base, &candidate, &node(TaskType::Code, &[]), "")).len()
        };
        assert_eq!(count(MANIFEST, "src/lib.rs"), 1, "{text}");
        assert_eq!(count(MANIFEST, "src/deep/one.rs"), 1, "{text}");
        assert_eq!(count(MANIFEST, "src/main.rs"), 0, "{text}");
        assert_eq!(count(MANIFEST, "examples/one.rs"), 0, "{text}");
        assert_eq!(count(&format!("{MANIFEST}[lib]\ndoctest = false\n"), "src/lib.rs"), 0, "{text}");
    }
    for text in [
        "//// ```\n//// work();\n//// ```\n",
        "// ```\n// work();\n// ```\n",
        "/// ```work();```\npub fn f() {}\n",
        "/// ```ignore\n/// work();\n/// ```\npub fn f() {}\n",
        "pub const C: &str = \"\n/// ```\n/// work();\n/// ```\n\";\n",
    ] {
        let base = Map::of(&[("Cargo.toml", MANIFEST), ("src/lib.rs", text)]);
        let candidate = base.with("src/lib.rs", &text.replace("work", "idle"));
        assert_eq!(
            charged(&touched(rust(), &base, &candidate, &node(TaskType::Code, &[]), "")),
            NONE,
            "{text}"
        );
    }
}

#[test]
fn code_that_does_something_else_under_test_is_charged_unless_the_task_speaks_of_it() {
    let sum = "pub fn add(a: u32, b: u32) -> u32 { a + b }\n";
    for trick in [
        "pub fn add(a: u32, b: u32) -> u32 { if cfg!(test) { a + b } else { a - b } }\n",
        "pub fn add(a: u32, b: u32) -> u32 { if cfg!(any(test, feature = \"x\")) { a + b } else { 0 } }\n",
        "#[cfg(test)]\npub fn add(a: u32, b: u32) -> u32 { a + b }\n#[cfg(not(test))]\npub fn add(a: u32, b: u32) -> u32 { 0 }\n",
        "#[cfg(all(unix, not(any(test, windows))))]\npub fn add(a: u32, b: u32) -> u32 { 0 }\n",
        "pub fn add(a: u32, b: u32) -> u32 {\n    #[cfg(test)]\n    return a + b;\n    #[allow(unreachable_code)]\n    0\n}\n",
        "#[cfg_attr(not(test), path = \"other.rs\")]\nmod inner;\n",
        "#[cfg_attr(test, path = \"other.rs\")]\nmod inner;\n",
        "mod deep { impl X { fn x() -> bool { cfg!(not(test)) } } }\n",
    ] {
        let text = LIB.replace(sum, trick);
        let base = base().with("src/lib.rs", &LIB.replace(sum, "").replace(sum.trim_end(), ""));
        let charge = |base: &Map, candidate: &Map, task: &str| {
            charged(&touched(rust(), base, candidate, &node(TaskType::Code, &[]), task))
        };
        let now = base.with("src/lib.rs", &text);
        assert_eq!(charge(&base, &now, "add add"), ["test-only-behaviour src/lib.rs"], "{trick}");
        assert_eq!(charge(&base, &now, "add add; switch it by cfg"), NONE, "{trick}");
        assert_eq!(charge(&now, &now.with("src/lib.rs", &format!("{text}// more\n")), ""), NONE, "{trick}");
        let moved = base.with("src/other.rs", trick);
        assert_eq!(charge(&base.with("src/more2.rs", trick), &moved, "move it"), NONE, "{trick}");
    }
    for fine in [
        "#[cfg(test)]\npub fn helper() {}\n",
        "#[cfg_attr(test, derive(Debug))]\npub struct S;\n",
        "pub struct S { #[cfg(test)] pub seen: u32 }\nimpl S { #[cfg(test)] fn seen(&self) -> u32 { self.seen } }\n",
        "#[cfg(not(windows))]\npub fn x() {}\n",
        "#[cfg(test)]\nmod more {\n    fn x() -> bool { cfg!(test) }\n}\n",
        "#[cfg(feature = \"test\")]\npub fn x() { if cfg!(debug_assertions) {} }\n",
        "// cfg!(test)\npub const C: &str = \"#[cfg(not(test))]\";\n",
    ] {
        assert_eq!(after(TaskType::Code, "src/new.rs", fine), NONE, "{fine}");
    }
    assert_eq!(after(TaskType::Code, "tests/new.rs", "pub fn x() -> bool { cfg!(test) }\n"), NONE);
}

#[test]
fn code_that_asks_for_the_name_of_its_thread_is_charged_unless_the_task_speaks_of_threads() {
    let names = "use std::thread;\npub fn name() -> bool { thread::current().name() == Some(\"t\") }\n";
    let charge = |task: &str| {
        let candidate = base().with("src/new.rs", names);
        charged(&touched(rust(), &base(), &candidate, &node(TaskType::Code, &["src/new.rs"]), task))
    };
    assert_eq!(charge("fix add"), ["test-only-behaviour src/new.rs"]);
    assert_eq!(charge("log the name of the thread"), NONE);
    let other = "pub fn name(cell: &Cell) -> String { cell.current().name().to_owned() }\n";
    assert_eq!(after(TaskType::Code, "src/new.rs", &other.replace("current()", "current(1)")), NONE);
    let in_test = format!("{LIB}\n#[cfg(test)]\nmod more {{\n    {}}}\n", names.replace('\n', " "));
    assert_eq!(after(TaskType::Code, "src/lib.rs", &in_test), NONE);
}

#[test]
fn a_function_that_does_nothing_with_what_it_takes_is_charged() {
    for stub in [
        "pub struct A;\n\nimpl A {\n    pub fn put(&mut self, _cents: i64) {}\n}\n",
        "pub fn put<T: Copy>(_a: T) {}\n",
        "pub trait T {}\n\npub fn put(_a: &dyn T) {\n    // later\n}\n",
    ] {
        assert_eq!(after(TaskType::Code, "src/new.rs", stub), ["stub src/new.rs"], "{stub}");
    }
    for fine in [
        "pub fn run() {}\n",
        "pub struct A;\n\nimpl A {\n    pub fn close(self) {}\n}\n",
        "pub struct A;\n\nimpl Log for A {\n    fn log(&self, _record: &Record) {}\n}\n",
        "pub trait T {\n    fn seen(&self, _at: u32) {}\n}\n",
        "pub fn noop(_a: u32) {}\n",
        "#[cfg(test)]\nmod tests {\n    fn take(_a: u32) {}\n\n    #[test]\n    fn t() {\n        take(run());\n    }\n}\n",
        "pub fn put(a: u32) {\n    keep(a);\n}\n",
    ] {
        assert_eq!(after(TaskType::Code, "src/new.rs", fine), NONE, "{fine}");
    }
    assert_eq!(after(TaskType::Code, "tests/new.rs", "pub fn put(_a: u32) {}\n"), NONE);
}

#[test]
fn a_macro_that_stands_in_for_code_is_charged_unless_it_was_there_or_was_asked_for() {
    let stub = format!("{LIB}\npub fn new() -> u32 {{\n    todo!()\n}}\n");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &stub), ["stub src/lib.rs"]);
    assert_eq!(
        after(TaskType::Code, "src/lib.rs", &stub.replace("todo!()", "unimplemented!(\"x\")")),
        ["stub src/lib.rs"]
    );
    assert_eq!(
        after(TaskType::Code, "src/lib.rs", &stub.replace("todo!()", "panic!(\"Not implemented yet\")")),
        ["stub src/lib.rs"]
    );
    assert_eq!(
        after(TaskType::Code, "src/lib.rs", &stub.replace("todo!()", "panic!(\"TODO: later\")")),
        ["stub src/lib.rs"]
    );
    assert_eq!(
        after(TaskType::Code, "src/lib.rs", &stub.replace("todo!()", "panic!(\"no todo left\")")),
        NONE
    );
    assert_eq!(after(TaskType::Code, "src/lib.rs", &stub.replace("todo!()", "1 // todo!()")), NONE);
    let said = stub.replace("todo!()", "\"http://example.org todo!\".len() as u32");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &said), NONE);
    let behind = stub.replace("todo!()", "let _ = \"http://example.org\"; todo!()");
    assert_eq!(after(TaskType::Code, "src/lib.rs", &behind), ["stub src/lib.rs"]);
    let (before, next) =
        (base().with("src/lib.rs", &stub), base().with("src/lib.rs", &format!("{stub}\npub fn b() {{}}\n")));
    let lib = node(TaskType::Code, &["src/lib.rs"]);
    assert_eq!(charged(&touched(rust(), &before, &next, &lib, "add b")), NONE);
    assert_eq!(charged(&touched(rust(), &base(), &before, &lib, "add a placeholder for new")), NONE);
}

#[test]
fn a_code_node_may_move_a_file_with_its_tests_as_they_are() {
    let refactor = node(TaskType::Refactor, &["src/lib.rs", "src/shapes.rs", "src/shapes/mod.rs"]);
    let before = base().with("src/shapes.rs", LIB);
    let moved =
        before.without("src/shapes.rs").with("src/shapes/mod.rs", &LIB.replace("{ a + b }", "{ b + a }"));
    assert_eq!(charged(&touched(rust(), &before, &moved, &refactor, "make shapes a folder")), NONE);
    let fewer = LIB.replace("assert_eq!(add(1, 2), 3);", "");
    let other = LIB.replace("    use super::*;\n", "    fn add(a: u32, b: u32) -> u32 { a + b }\n");
    for weaker in [fewer, other] {
        let weaker = moved.with("src/shapes/mod.rs", &weaker);
        let found = charged(&touched(rust(), &before, &weaker, &refactor, "make shapes a folder"));
        assert_eq!(found, ["test-deleted src/shapes.rs"]);
    }
}
