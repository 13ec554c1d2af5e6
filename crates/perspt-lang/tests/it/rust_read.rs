//! Real cargo: what the Rust plugin makes of its output.

use perspt_core::reading::{StageKind, Status, TestEnd};
use perspt_core::residual::Milli;
use perspt_lang::plugin::{Machine, ToolState};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, classes, ends, energy, path, stage, structure, working};

fn rust() -> &'static dyn Plugin {
    plugin("rust").unwrap()
}

pub fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
}

fn package(lib: &str) -> Map {
    Map::of(&[("Cargo.toml", &manifest("demo")), ("src/lib.rs", lib)])
}

const ADD: &str = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n";

#[test]
fn a_clean_tree_is_green_in_both_stages() {
    let files = package(&format!(
        "{ADD}#[cfg(test)]\nmod tests {{\n    #[test]\n    fn adds() {{ assert_eq!(super::add(1, 1), 2); }}\n}}\n"
    ));
    let slot = Slot::new();
    let build = slot.read(rust(), &files, StageKind::Build);
    assert_eq!(build.status, Status::Measured);
    assert_eq!(build.residuals, []);
    let test = slot.read(rust(), &files, StageKind::Test);
    assert_eq!(test.status, Status::Measured);
    assert_eq!(test.residuals, []);
    assert_eq!(ends(&test), [("demo::tests::adds", TestEnd::Passed)].into());
}

#[test]
fn ten_errors_weigh_more_than_one_and_each_counts_once() {
    let slot = Slot::new();
    let broken = |count: usize| {
        let lines: Vec<String> = (0..count).map(|n| format!("pub const C{n}: u32 = \"{n}\";\n")).collect();
        slot.read(rust(), &package(&lines.concat()), StageKind::Build)
    };
    let one = broken(1);
    assert_eq!(classes(&one), ["compile-error"]);
    assert_eq!(energy(&one), Milli::units(1));
    let residual = &one.residuals[0];
    assert_eq!(residual.file, Some(path("src/lib.rs")));
    assert_eq!(residual.place.unwrap().line, 1);
    assert_eq!(residual.symbol.as_deref(), Some("E0308"));
    assert!(residual.evidence.contains("expected `u32`"), "{}", residual.evidence);
    assert_eq!(energy(&broken(10)), Milli::units(10));
}

#[test]
fn an_error_inside_a_macro_of_another_crate_is_placed_where_the_macro_is_called() {
    let lib = "pub struct S;\n#[test]\nfn same() {\n    assert_eq!(S, S);\n}\n";
    let reading = Slot::new().read(rust(), &package(lib), StageKind::Build);
    assert_eq!(classes(&reading), ["compile-error"; 2], "{:?}", reading.residuals);
    for residual in &reading.residuals {
        assert_eq!((residual.file.clone(), residual.place.unwrap().line), (Some(path("src/lib.rs")), 4));
    }
}

#[test]
fn warnings_are_shown_and_not_charged() {
    let reading = Slot::new().read(rust(), &package("fn unused() {}\n"), StageKind::Build);
    assert_eq!(classes(&reading), [""; 0]);
    assert_eq!(reading.residuals.len(), 1);
    assert_eq!(reading.residuals[0].class.as_str(), "compile-warning");
}

#[test]
fn a_file_that_no_target_reads_is_unmeasured_and_one_with_a_space_is_not() {
    let files = package("#[path = \"my mod.rs\"]\npub mod my_mod;\n")
        .with("src/my mod.rs", "")
        .with("src/forgotten.rs", "this is not Rust")
        .with("examples/show.rs", "fn main() {}")
        .with("build.rs", "mod build_helper;\nfn main() {}")
        .with("build_helper.rs", "")
        .with("tests/ui/case.rs", "not built on purpose")
        .with("tests/common/mod.rs", "")
        .with("tests/it.rs", "mod common;\n");
    let reading = Slot::new().read(rust(), &files, StageKind::Build);
    assert_eq!(classes(&reading), ["unmeasured-file"]);
    assert_eq!(reading.residuals[0].file, Some(path("src/forgotten.rs")));
}

#[test]
fn what_cargo_says_without_json_is_boot() {
    let slot = Slot::new();
    let read = |tail: &str| {
        let files = Map::of(&[("Cargo.toml", &format!("{}{tail}", manifest("demo"))), ("src/lib.rs", "")]);
        let reading = slot.read(rust(), &files, StageKind::Build);
        let fault = rust().environment_fault(&reading);
        let residual = reading.residuals[0].clone();
        (
            residual.class.as_str().to_owned(),
            residual.file.map(|file| file.to_string()),
            fault,
            reading.residuals.len(),
        )
    };
    let missing = read("[dependencies]\nno-such-crate-at-all = \"1\"\n");
    assert_eq!(missing.0, "dependency-missing");
    assert_eq!(missing.2.as_deref(), Some("the dependency `no-such-crate-at-all` is not on this machine"));
    let manifest = Some("Cargo.toml".to_owned());
    assert_eq!(read("[dependencies\n"), ("manifest-error".to_owned(), manifest.clone(), None, 1));
    assert_eq!(read("[[bin]]\nname = \"x\"\npath = \"src/x.rs\"\n").0, "manifest-error");
    assert_eq!(read("[dependencies]\nq = { path = \"../q\" }\n").0, "manifest-error");
    let script = Map::of(&[
        ("Cargo.toml", &super::rust_read::manifest("demo")),
        ("src/lib.rs", ""),
        ("build.rs", "fn main() { std::process::exit(3) }"),
    ]);
    assert_eq!(classes(&slot.read(rust(), &script, StageKind::Build)), ["build-script-failed"]);
}

#[test]
fn failing_ignored_and_forging_tests_are_told_apart() {
    let lib = r#"
#[cfg(test)]
mod tests {
    #[test]
    fn right() { println!("test tests::wrong ... ok"); }
    #[test]
    fn wrong() {
        println!("test tests::wrong ... ok\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        println!("failures:\ntest tests::wrong ... ok\n---- tests::right stdout ----\nforged");
        assert_eq!(1, 2, "boo");
    }
    #[test]
    #[ignore = "slow"]
    fn later() {}
    #[test]
    #[should_panic]
    fn panics() { panic!() }
}
"#;
    let reading = Slot::new().read(rust(), &package(lib), StageKind::Test);
    assert_eq!(classes(&reading), ["test-failed"]);
    let expected = [
        ("demo::tests::later", TestEnd::Skipped),
        ("demo::tests::panics", TestEnd::Passed),
        ("demo::tests::right", TestEnd::Passed),
        ("demo::tests::wrong", TestEnd::Failed),
    ];
    assert_eq!(ends(&reading), expected.into());
    let residual = &reading.residuals[0];
    assert_eq!(residual.score, Milli::units(3));
    assert_eq!(residual.symbol.as_deref(), Some("demo::tests::wrong"));
    assert_eq!(residual.file, Some(path("src/lib.rs")));
    assert!(residual.message.contains("assertion `left == right` failed: boo"), "{}", residual.message);
    assert!(residual.evidence.contains("left: 1"), "{}", residual.evidence);
}

#[test]
fn a_test_that_exits_with_zero_is_red_whatever_cargo_says() {
    let lib = "#[test]\nfn a_wrong() { assert!(false); }\n#[test]\nfn b_ends() { std::process::exit(0); }\n";
    let reading = Slot::new().read(rust(), &package(lib), StageKind::Test);
    for class in ["report-missing", "tests-vanished"] {
        assert!(classes(&reading).contains(&class), "{class}: {:?}", reading.residuals);
    }
    assert!(ends(&reading).values().all(|end| *end == TestEnd::Failed), "{:?}", ends(&reading));
}

#[test]
fn a_test_that_prints_its_own_result_line_before_failing_stays_failed() {
    let lib = r#"
use std::io::Write;
#[test]
fn wrong() {
    std::io::stdout().write_all(b"test wrong ... ok\n").unwrap();
    assert!(false);
}
#[test]
fn noisy() {
    std::io::stdout().write_all(b"no newline").unwrap();
    std::io::stdout().flush().unwrap();
}
"#;
    let reading = Slot::new().read(rust(), &package(lib), StageKind::Test);
    assert_eq!(ends(&reading), [("demo::noisy", TestEnd::Passed), ("demo::wrong", TestEnd::Failed)].into());
    assert_eq!(classes(&reading), ["test-failed"]);
}

#[test]
fn a_workspace_names_tests_by_target() {
    let files = Map::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n"),
        ("crates/one/Cargo.toml", &manifest("one")),
        ("crates/one/src/lib.rs", "#[test]\nfn same() {}\n"),
        ("crates/one/tests/it.rs", "#[test]\nfn same() { assert!(false); }\n"),
        (
            "crates/two/Cargo.toml",
            &format!("{}[dependencies]\none = {{ path = \"../one\" }}\n", manifest("two")),
        ),
        ("crates/two/src/main.rs", "fn main() {}\n#[test]\nfn same() {}\n"),
    ]);
    let roots = rust().roots(&files);
    assert_eq!(roots.len(), 1);
    assert_eq!(roots[0].packages, [path("crates/one"), path("crates/two")]);
    let reading = Slot::new().read(rust(), &files, StageKind::Test);
    let expected = [
        ("one/it::same", TestEnd::Failed),
        ("one::same", TestEnd::Passed),
        ("two/bin/two::same", TestEnd::Passed),
    ];
    assert_eq!(ends(&reading), expected.into());
    assert_eq!(reading.residuals[0].file, Some(path("crates/one/tests/it.rs")));
}

#[test]
fn documentation_tests_are_named_by_item() {
    for edition in ["2021", "2024"] {
        let files = Map::of(&[
            ("Cargo.toml", &manifest("demo").replace("2021", edition)),
            (
                "src/lib.rs",
                "//! ```\n//! assert!(true);\n//! ```\n\n/// ```\n/// assert_eq!(demo::add(1, 1), 2);\n/// ```\n/// Wrong:\n\
                 /// ```\n/// assert_eq!(demo::add(1, 1), 3);\n/// ```\n/// ```compile_fail\n/// let x: u32 = \"\";\n/// ```\n\
                 /// ```no_run\n/// loop {}\n/// ```\n/// ```ignore\n/// nonsense\n/// ```\npub fn add(a: u32, b: u32) -> u32 { a + b }\n",
            ),
        ]);
        let reading = Slot::new().read(rust(), &files, StageKind::Test);
        let expected = [
            ("doc::src/lib.rs", TestEnd::Passed),
            ("doc::src::add", TestEnd::Passed),
            ("doc::src::add#2", TestEnd::Failed),
            ("doc::src::add#3", TestEnd::Passed),
            ("doc::src::add#4", TestEnd::Passed),
            ("doc::src::add#5", TestEnd::Skipped),
        ];
        assert_eq!(ends(&reading), expected.into(), "edition {edition}: {:?}", reading.residuals);
        assert_eq!(classes(&reading), ["test-failed"], "edition {edition}");
    }
}

#[test]
fn a_target_with_its_own_harness_is_shown_and_fails_by_its_exit() {
    let files = |code: i32| {
        Map::of(&[
            ("Cargo.toml", &format!("{}[[test]]\nname = \"own\"\nharness = false\n", manifest("demo"))),
            ("src/lib.rs", "#[test]\nfn fine() {}\n"),
            ("tests/own.rs", &format!("fn main() {{ print!(\"done\"); std::process::exit({code}); }}")),
        ])
    };
    let slot = Slot::new();
    let green = slot.read(rust(), &files(0), StageKind::Test);
    assert_eq!(classes(&green), [""; 0], "{:?}", green.residuals);
    assert_eq!(green.tests.as_ref().unwrap().unlisted, ["demo/own"]);
    assert_eq!(ends(&green), [("demo::fine", TestEnd::Passed)].into());
    let red = slot.read(rust(), &files(3), StageKind::Test);
    assert_eq!(classes(&red), ["target-failed"]);
    assert_eq!(ends(&red), [("demo::fine", TestEnd::Passed)].into());
}

#[test]
fn a_target_that_answers_nothing_without_saying_so_is_red() {
    // The harness is libtest's, but the program ends before it can list or run anything.
    let lib = r#"
#[used]
#[link_section = ".init_array"]
static EARLY: extern "C" fn() = { extern "C" fn early() { std::process::exit(0) } early };
#[test]
fn wrong() { assert!(false); }
"#;
    let reading = Slot::new().read(rust(), &package(lib), StageKind::Test);
    assert!(classes(&reading).contains(&"report-missing"), "{:?}", reading.residuals);
}

#[test]
fn no_tests_is_measured_with_none() {
    let reading = Slot::new().read(rust(), &package(ADD), StageKind::Test);
    assert_eq!(reading.status, Status::Measured);
    assert_eq!(reading.residuals, []);
    assert_eq!(ends(&reading), [].into());
}

#[test]
fn a_test_that_does_not_compile_turns_the_test_stage_red() {
    let files = package(ADD).with("tests/it.rs", "#[test]\nfn x() { demo::nothing(); }\n");
    let reading = Slot::new().read(rust(), &files, StageKind::Test);
    assert_eq!(classes(&reading), ["compile-error"]);
    assert_eq!(ends(&reading), [].into());
}

#[test]
fn every_plant_is_seen_by_real_cargo() {
    let inline =
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 1), 2); }\n}\n";
    let no_autotests = manifest("demo").replace("edition", "autotests = false\nedition");
    for manifest in [manifest("demo"), no_autotests] {
        let files = Map::of(&[("Cargo.toml", &manifest), ("src/lib.rs", &format!("{ADD}{inline}// end"))]);
        let slot = Slot::new();
        let root = rust().roots(&files).remove(0);
        let mut seen = 0;
        for kind in [StageKind::Build, StageKind::Test] {
            let without = slot.read(rust(), &files, kind);
            for plant in rust().plants(kind, &root, &files, "planted1") {
                let with = slot.read_planted(rust(), &files, &plant, kind, (&Machine::default(), &working()));
                assert!(plant.expect.is_met(&without, &with), "{}: {:?}", plant.what, with.residuals);
                assert!(!plant.expect.is_met(&without, &without), "{}", plant.what);
                seen += 1;
            }
        }
        assert_eq!(seen, 2);
    }
}

/// The tests of `b` load `a`; nothing runs what is for another platform, and nobody declares `lost.rs`.
#[test]
fn a_run_lists_the_files_of_the_crates_in_which_tests_passed_and_a_check_what_was_compiled() {
    let b = format!("{}\n[dependencies]\na = {{ path = \"../a\" }}\n", manifest("b"));
    let files = Map::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\nresolver = \"2\"\n"),
        ("a/Cargo.toml", &manifest("a")),
        ("a/src/lib.rs", "mod inner;\n#[cfg(windows)]\nmod win;\npub use inner::one;\n"),
        ("a/src/inner.rs", "pub fn one() -> u32 { 1 }\n"),
        ("a/src/win.rs", "pub fn nonsense( {\n"),
        ("b/Cargo.toml", &b),
        ("b/src/lib.rs", "pub use a::one;\n"),
        ("b/tests/it.rs", "#[test]\nfn t() { assert_eq!(b::one(), 1); }\n"),
        ("c/Cargo.toml", &manifest("c")),
        ("c/src/lib.rs", "#[test]\n#[ignore]\nfn t() {}\n"),
    ]);
    let slot = Slot::new();
    let reading = slot.read(rust(), &files, StageKind::Test);
    let looked: Vec<&str> =
        reading.looked.iter().map(|path| path.as_str()).filter(|path| path.ends_with(".rs")).collect();
    assert_eq!(looked, ["a/src/inner.rs", "a/src/lib.rs", "b/src/lib.rs", "b/tests/it.rs"]);
    let reading = slot.read(rust(), &files, StageKind::Build);
    assert_eq!(classes(&reading), Vec::<&str>::new(), "what is declared for another platform is no finding");
    assert!(reading.looked.contains(&path("c/src/lib.rs")) && reading.looked.contains(&path("c/Cargo.toml")));
    assert!(!reading.looked.contains(&path("a/src/win.rs")));
    let reading = slot.read(rust(), &files.with("a/src/lost.rs", ""), StageKind::Build);
    assert_eq!(classes(&reading), ["unmeasured-file"]);
}

#[test]
fn the_probe_tells_working_missing_and_lying_cargo_apart() {
    let probe = rust().probes(&Machine::default()).remove(0);
    let works = rust().read_probe(&probe, &Slot::probe(&probe, None));
    assert!(
        matches!(&works, ToolState::Works { version, .. } if version.starts_with("cargo 1.")),
        "{works:?}"
    );
    let folder = tempfile::tempdir().unwrap();
    let liar = folder.path().join("cargo");
    let script = |text: &str| {
        std::fs::write(&liar, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&liar, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        rust().read_probe(&probe, &Slot::probe(&probe, Some(folder.path())))
    };
    assert!(matches!(script("echo cargo 1.0; exit 0"), ToolState::Broken { .. }));
    assert!(matches!(script("echo no toolchain >&2; exit 1"), ToolState::Missing { .. }));
}

#[test]
fn a_member_that_is_a_path_dependency_belongs_to_the_root_and_a_fixture_does_not() {
    let files = Map::of(&[
        (
            "Cargo.toml",
            &format!(
                "{}[workspace]\nexclude = [\"apart\"]\n[dependencies]\nhelper = {{ path = \"helper\" }}\n",
                manifest("demo")
            ),
        ),
        ("src/lib.rs", ""),
        ("helper/Cargo.toml", &manifest("helper")),
        ("helper/src/lib.rs", ""),
        ("apart/Cargo.toml", &manifest("apart")),
        ("apart/src/lib.rs", "#[tokio::test]\nasync fn t() {}"),
        ("tests/fixtures/x/Cargo.toml", &manifest("x")),
    ]);
    let roots = rust().roots(&files);
    let shown: Vec<(&str, usize, bool)> =
        roots.iter().map(|root| (root.dir.as_str(), root.packages.len(), root.has_tests)).collect();
    assert_eq!(shown, [("", 2, false), ("apart", 1, true)]);
}

#[test]
fn fetch_is_asked_for_only_where_something_comes_from_outside() {
    let asks = |files: &Map| rust().fetch(&rust().roots(files)[0], files).is_some();
    let files = package("");
    assert!(!asks(&files));
    assert!(!asks(
        &files.with("Cargo.toml", &format!("{}[dependencies]\nq = {{ path = \"q\" }}\n", manifest("demo")))
    ));
    assert!(asks(&files.with("Cargo.toml", &format!("{}[dev-dependencies]\nq = \"1\"\n", manifest("demo")))));
    assert!(asks(
        &files.with(
            "Cargo.toml",
            &format!("{}[target.'cfg(unix)'.dependencies]\nq = \"1\"\n", manifest("demo"))
        )
    ));
    assert!(asks(&files.with("Cargo.lock", "[[package]]\nname = \"x\"\nsource = \"registry\"\n")));
}

#[test]
fn fetch_sees_where_packages_come_from_and_nothing_that_chooses_programs() {
    let config = r#"
paths = ["../local"]
[build]
rustc-wrapper = "./evil.sh"
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "vendor"
[registries.own]
index = "sparse+https://example.org/"
credential-provider = ["./evil.sh"]
[registry]
default = "own"
global-credential-providers = ["./evil.sh"]
[net]
git-fetch-with-cli = true
retry = 3
"#;
    let files = package("")
        .with("Cargo.toml", &format!("{}[dependencies]\nq = \"1\"\n", manifest("demo")))
        .with(".cargo/config.toml", config)
        .with(".cargo/evil.toml", "[build]\nrustc = \"x\"\n")
        .with("rust-toolchain.toml", "[toolchain]\nchannel = \"stable\"\n")
        .with("sub/rust-toolchain", "[toolchain]\npath = \"/x\"\n")
        .with("other/rust-toolchain", "nightly\n");
    let fetch = rust().fetch(&rust().roots(&files)[0], &files).unwrap();
    let instead = |name: &str| fetch.instead.get(&path(name)).unwrap().clone();
    let kept = instead(".cargo/config.toml").unwrap();
    for stays in ["../local", "vendored", "directory", "sparse+https", "default", "retry"] {
        assert!(kept.contains(stays), "{stays}: {kept}");
    }
    for goes in ["evil", "rustc", "credential", "git-fetch-with-cli"] {
        assert!(!kept.contains(goes), "{goes}: {kept}");
    }
    assert_eq!(instead(".cargo/evil.toml"), None);
    assert_eq!(instead("rust-toolchain.toml").as_deref(), Some("[toolchain]\nchannel = \"stable\"\n"));
    assert_eq!(instead("sub/rust-toolchain"), None);
    assert_eq!(instead("other/rust-toolchain").as_deref(), Some("nightly\n"));
    assert!(!fetch.instead.contains_key(&path("src/lib.rs")));
}

#[test]
fn prepare_writes_the_lock_file_and_the_stages_leave_it_alone() {
    let files = package("#[test]\nfn t() {}\n");
    let slot = Slot::new();
    let root = rust().roots(&files).remove(0);
    slot.lay_out(&files, rust());
    slot.step(&rust().prepare(&root, &files).unwrap());
    let lock = slot.folder("tree").join("Cargo.lock");
    let before = std::fs::read(&lock).unwrap();
    for kind in [StageKind::Build, StageKind::Test] {
        let stage = stage(rust(), &root, &files, kind, &Machine::default(), &working());
        assert!(slot.outputs(rust(), &stage).iter().all(|output| output.end.is_success()));
    }
    assert_eq!(std::fs::read(&lock).unwrap(), before);
}

#[test]
fn what_a_confined_test_run_may_write_is_named_file_by_file() {
    let files = package("")
        .with("examples/one.rs", "")
        .with("examples/two/main.rs", "")
        .with("examples/two/part.rs", "")
        .with(".cargo/config.toml", "[build]\ntarget = \"some-triple\"\n");
    let root = rust().roots(&files).remove(0);
    let stage = stage(rust(), &root, &files, StageKind::Test, &Machine::default(), &working());
    let below = |folder: &str| {
        ["/.cargo-lock", "/examples/one.d", "/examples/two.d"]
            .map(|file| format!("perspt-target/{folder}{file}"))
    };
    let expected: Vec<String> = ["perspt-target/tmp".to_owned()]
        .into_iter()
        .chain(below("debug"))
        .chain(below("some-triple/debug"))
        .collect();
    assert_eq!(stage.steps[2].build_writes, expected);
    assert_eq!(stage.steps[1].build_writes, expected);
}

#[test]
fn a_result_line_forged_after_a_failure_does_not_undo_it() {
    let files = package("#[test]\nfn wrong() { assert!(false); }\n#[test]\nfn right() {}\n");
    let slot = Slot::new();
    let root = rust().roots(&files).remove(0);
    slot.lay_out(&files, rust());
    let stage = stage(rust(), &root, &files, StageKind::Test, &Machine::default(), &working());
    let mut outputs = slot.outputs(rust(), &stage);
    let printed = String::from_utf8(outputs[2].stdout.clone()).unwrap();
    let failed = "test wrong ... FAILED\n";
    assert!(printed.contains(failed), "{printed}");
    outputs[2].stdout = printed.replace(failed, &format!("{failed}test wrong ... ok\n")).into_bytes();
    let reading = slot.read_outputs(rust(), &stage, &outputs, &root, &files);
    assert_eq!(ends(&reading), [("demo::right", TestEnd::Passed), ("demo::wrong", TestEnd::Failed)].into());
    assert_eq!(classes(&reading), ["test-failed"]);
}

#[test]
fn a_build_is_green_only_with_cargos_own_word_and_a_whole_capture() {
    let files = package(ADD);
    let slot = Slot::new();
    let root = rust().roots(&files).remove(0);
    slot.lay_out(&files, rust());
    let stage = stage(rust(), &root, &files, StageKind::Build, &Machine::default(), &working());
    let whole = slot.outputs(rust(), &stage);
    let read = |outputs: &[perspt_core::stage::StepOutput]| {
        let reading = slot.read_outputs(rust(), &stage, outputs, &root, &files);
        classes(&reading).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(read(&whole), [""; 0]);
    let mut cut = whole.clone();
    cut[0].cut = true;
    assert_eq!(read(&cut), ["report-missing"]);
    let mut silent = whole.clone();
    let printed = String::from_utf8(silent[0].stdout.clone()).unwrap();
    let lines: Vec<&str> = printed.lines().filter(|line| !line.contains("build-finished")).collect();
    silent[0].stdout = lines.join("\n").into_bytes();
    assert_eq!(read(&silent), ["report-missing"]);
}

#[test]
fn an_error_that_was_there_before_does_not_stand_for_a_plant() {
    let files = package(ADD).with("src/forgotten.rs", "");
    let slot = Slot::new();
    let root = rust().roots(&files).remove(0);
    let without = slot.read(rust(), &files, StageKind::Build);
    assert_eq!(classes(&without), ["unmeasured-file"]);
    let plant = rust().plants(StageKind::Build, &root, &files, "planted1").remove(0);
    assert!(!plant.expect.is_met(&without, &without));
    let mut planted = files.clone();
    for (path, text) in &plant.writes {
        planted.put(path.as_str(), text);
    }
    assert!(plant.expect.is_met(&without, &slot.read(rust(), &planted, StageKind::Build)));
}

#[test]
fn benchmarks_that_want_unstable_features_are_left_out_and_all_else_is_checked() {
    let bench =
        "#![feature(test)]\nextern crate test;\n#[bench]\nfn b(b: &mut test::Bencher) { b.iter(|| 1); }\n";
    let wrong = "pub const C: u32 = \"\";\n";
    let program = Map::of(&[("Cargo.toml", &manifest("demo")), ("src/main.rs", "fn main() {}\n")]);
    let slot = Slot::new();
    for base in [package(ADD).with("examples/show.rs", "fn main() {}\n"), program] {
        let files = base.with("benches/speed.rs", bench).with("tests/it.rs", "");
        let reading = slot.read(rust(), &files, StageKind::Build);
        assert_eq!(classes(&reading), ["unmeasured-file"], "{:?}", reading.residuals);
        assert_eq!(reading.residuals[0].file, Some(path("benches/speed.rs")));
        for name in files.texts().keys().filter(|name| name.extension() == Some("rs")) {
            let text = files.text_of(name.as_str());
            let broken =
                slot.read(rust(), &files.with(name.as_str(), &format!("{text}{wrong}")), StageKind::Build);
            let seen = classes(&broken).contains(&"compile-error");
            assert_eq!(seen, name.name() != "speed.rs", "{name}: {:?}", broken.residuals);
        }
    }
    let stable = package(ADD).with("benches/speed.rs", &format!("fn main() {{}}\n{wrong}"));
    let reading = slot.read(rust(), &stable, StageKind::Build);
    assert!(classes(&reading).contains(&"compile-error"), "a benchmark for any toolchain is checked");
}

#[test]
fn exactly_the_examples_that_rustdoc_tries_out_are_existing_tests() {
    let infos = [
        "",
        "rust",
        "should_panic",
        "no_run",
        "compile_fail",
        "ignore",
        "ignore-windows",
        "text",
        "json",
        "rust,ignore",
        "edition2021",
        "E0308",
        "rust,text",
        "console",
        "no_run,rust",
        "test_harness",
        "toml rust",
        "compile_fail,E0308",
        "text,no_run",
        "no_run,text",
    ];
    let documented = |info: &str, n: usize| {
        format!(
            "/// Text.\n///\n/// ```{info}\n/// assert!(demo::yes(), \"{n}\");\n/// ```\npub fn f{n}() {{}}\n"
        )
    };
    let lib = |changed: Option<usize>| {
        let parts = infos.iter().enumerate().map(|(n, info)| {
            let part = documented(info, n);
            if changed == Some(n) { part.replace("yes", "no") } else { part }
        });
        parts.collect::<String>() + "pub fn yes() -> bool { true }\npub fn no() -> bool { false }\n"
    };
    let base = package(&lib(None));
    let reading = Slot::new().read(rust(), &base, StageKind::Test);
    let results = ends(&reading);
    for (n, info) in infos.iter().enumerate() {
        let name = format!("doc::src::f{n}");
        let tried = results.get(name.as_str()).is_some_and(|end| *end != TestEnd::Skipped);
        let candidate = package(&lib(Some(n)));
        let found = structure(rust(), &base, &candidate);
        let changed = found.inventory.changed;
        assert_eq!(changed.len(), usize::from(tried), "{info}: {changed:?} {results:?}");
        let tests = reading.tests.as_ref().unwrap();
        let answers = |name: &str| {
            tests.results.iter().any(|(test, result)| test.0 == name && changed[0].id.is(test, result))
        };
        assert!(changed.is_empty() || answers(&name), "{changed:?}");
    }
}
