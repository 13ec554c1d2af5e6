//! Real go: what the plugin makes of its output.

use perspt_core::reading::{Reading, StageKind, Status, TestEnd};
use perspt_core::residual::Residual;
use perspt_core::stage::{Preset, Profile, StageRole, StepEnd};
use perspt_lang::plugin::{Machine, Plant, Selection, Terms, ToolState};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, classes, counted, ends, path, stage, terms, working};

pub fn go() -> &'static dyn Plugin {
    plugin("go").unwrap()
}

pub const MODULE: (&str, &str) = ("go.mod", "module example.org/x\n\ngo 1.21\n");
pub const CODE: (&str, &str) =
    ("x.go", "package x\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n");
pub const TEST: (&str, &str) = (
    "x_test.go",
    "package x\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"add\")\n\t}\n}\n",
);

/// A healthy module, with these files besides or in place of its own.
pub fn module(files: &[(&str, &str)]) -> Map {
    let mut all = Map::of(&[MODULE, CODE, TEST]);
    for (name, text) in files {
        all.put(name, text);
    }
    all
}

pub fn build(files: &Map) -> Reading {
    Slot::new().read(go(), files, StageKind::Build)
}

pub fn test(files: &Map) -> Reading {
    Slot::new().read(go(), files, StageKind::Test)
}

/// Component, class, file and line of each counted finding.
fn findings(reading: &Reading) -> Vec<String> {
    let line = |one: &Residual| one.place.map(|place| place.line).unwrap_or_default();
    let file = |one: &Residual| one.file.as_ref().map_or("-", |file| file.as_str()).to_owned();
    counted(&reading.residuals)
        .map(|one| format!("{:?} {} {}:{}", one.component, one.class.as_str(), file(one), line(one)))
        .collect()
}

#[test]
fn a_clean_module_is_green_in_every_stage() {
    let files = module(&[]);
    let slot = Slot::new();
    for kind in [StageKind::Build, StageKind::Test, StageKind::Lint] {
        let reading = slot.read(go(), &files, kind);
        assert_eq!(reading.status, Status::Measured);
        assert_eq!(reading.residuals, [], "{kind:?}");
    }
    let test = slot.read(go(), &files, StageKind::Test);
    assert_eq!(ends(&test), [("example.org/x::TestAdd", TestEnd::Passed)].into());
    let read: Vec<&str> = test.looked.iter().map(|path| path.as_str()).collect();
    assert_eq!(read, ["go.mod", "x.go", "x_test.go"]);
}

/// What is wrong, the files that make it so, and what is found.
type Fault<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn each_way_to_fail_has_its_place_class_and_component() {
    let broken: [Fault<'_>; 9] = [
        ("syntax", &[("y.go", "package x\n\nfunc {\n")], &["Syn syntax-error y.go:3"]),
        (
            "types",
            &[("y.go", "package x\n\nfunc Y() int { return \"a\" }\n\nfunc Z() { undefined1() }\n")],
            &["Syn compile-error y.go:3", "Syn compile-error y.go:5"],
        ),
        (
            "a type in a test",
            &[("y_test.go", "package x\n\nvar y int = \"a\"\n")],
            &["Syn compile-error y_test.go:3"],
        ),
        (
            "own package",
            &[("y.go", "package x\n\nimport _ \"example.org/x/nosuch\"\n")],
            &["Syn import-error y.go:3"],
        ),
        ("no package at all", &[("y.go", "package x\n\nimport _ \"fmtt\"\n")], &["Syn import-error y.go:3"]),
        (
            "dependency",
            &[("y.go", "package x\n\nimport _ \"github.com/foo/bar\"\n")],
            &["Boot dependency-missing y.go:3"],
        ),
        (
            "manifest",
            &[("go.mod", "module example.org/x\n\ngo 1.21\n\nbogus\n")],
            &["Boot manifest-error go.mod:5"],
        ),
        ("two packages in a folder", &[("y.go", "package other\n")], &["Syn compile-error x.go:0"]),
        (
            "a program without main",
            &[("cmd/app/main.go", "package main\n")],
            &["Syn link-error cmd/app/main.go:0"],
        ),
    ];
    for (what, files, expected) in broken {
        assert_eq!(findings(&build(&module(files))), expected, "{what}");
    }
}

#[test]
fn a_package_that_is_not_there_is_named_with_what_to_do() {
    let reading = build(&module(&[("y.go", "package x\n\nimport _ \"github.com/foo/bar\"\n")]));
    let missing = &reading.residuals[0];
    assert_eq!(missing.symbol.as_deref(), Some("github.com/foo/bar"));
    assert!(missing.hint.as_ref().unwrap().contains("go get github.com/foo/bar"), "{missing:?}");
    assert!(go().environment_fault(&reading).unwrap().contains("`github.com/foo/bar`"));
    let required = "module example.org/x\n\ngo 1.21\n\nrequire github.com/foo/bar v1.2.3\n";
    let reading =
        build(&module(&[("go.mod", required), ("y.go", "package x\n\nimport _ \"github.com/foo/bar\"\n")]));
    assert_eq!(classes(&reading), ["dependency-missing"]);
}

#[test]
fn a_version_of_go_that_is_not_there_is_the_machines_fault() {
    let reading = build(&module(&[("go.mod", "module example.org/x\n\ngo 1.99\n")]));
    assert_eq!(findings(&reading), ["Boot toolchain-missing go.mod:0"]);
    let said = go().environment_fault(&reading).unwrap();
    assert!(said.contains("1.99"), "{said}");
}

#[test]
fn a_finding_with_which_go_test_refuses_a_package_is_charged_and_others_are_for_the_linter() {
    let printf = "package x\n\nimport \"fmt\"\n\n// P prints.\nfunc P() { fmt.Printf(\"%d\\n\", \"x\") }\n";
    let reading = build(&module(&[("y.go", printf)]));
    assert_eq!(findings(&reading), ["Str lint-finding y.go:6"]);
    assert_eq!(reading.residuals[0].symbol.as_deref(), Some("printf"));
    let unreachable = "package x\n\nfunc y() int {\n\treturn 1\n\treturn 2\n}\n\nvar  z = y()\n";
    let files = module(&[("y.go", unreachable)]);
    assert_eq!(findings(&build(&files)), [""; 0]);
    let lint = Slot::new().read(go(), &files, StageKind::Lint);
    assert_eq!(findings(&lint), ["Str lint-finding y.go:0", "Str lint-finding y.go:5"]);
}

#[test]
fn the_linter_is_shown_and_required_where_the_preset_is_strict() {
    let files = module(&[]);
    let root = go().roots(&files).remove(0);
    let (machine, tools, selection) = (Machine::default(), working(), Selection::default());
    let role = |preset: Preset| {
        let terms = Terms { preset, ..terms(&machine, &tools, &selection) };
        let stages = go().stages(&root, &files, &terms).into_iter().flatten();
        stages.filter(|stage| stage.kind == StageKind::Lint).map(|stage| stage.role).collect::<Vec<_>>()
    };
    assert_eq!(role(Preset::Default), [StageRole::Shown]);
    assert_eq!(role(Preset::Strict), [StageRole::Required]);
    let mut broken = working();
    let missing = ToolState::Missing { why: "not found".to_owned(), install: "install it".to_owned() };
    broken.insert("gofmt".to_owned(), missing);
    let lacking = |preset: Preset| {
        let terms = Terms { preset, ..terms(&machine, &broken, &selection) };
        go().stages(&root, &files, &terms)
            .into_iter()
            .filter_map(Result::err)
            .map(|lack| lack.tool)
            .collect::<Vec<_>>()
    };
    assert_eq!(lacking(Preset::Default), [""; 0]);
    assert_eq!(lacking(Preset::Strict), ["gofmt"]);
}

const MANY: &str = "package x\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestCases(t *testing.T) {\n\tt.Run(\"one\", \
    func(t *testing.T) {})\n\tt.Run(\"two words\", func(t *testing.T) {\n\t\tt.Errorf(\"got %d\", 4)\n\t})\n}\n\n\
    func TestSkipped(t *testing.T) { t.Skip(\"not now\") }\n\nfunc BenchmarkAdd(b *testing.B) {}\n\n\
    func ExampleAdd() {\n\tfmt.Println(Add(1, 1))\n\t// Output: 2\n}\n\nfunc ExampleAdd_silent() { fmt.Println(1) }\n\n\
    func FuzzAdd(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, a int) {})\n}\n";

#[test]
fn tests_cases_examples_and_seeds_are_told_apart() {
    let reading = test(&module(&[("y_test.go", MANY)]));
    let x = |name: &str| format!("example.org/x::{name}");
    let expected = [
        (x("ExampleAdd"), TestEnd::Passed),
        (x("FuzzAdd"), TestEnd::Passed),
        (x("FuzzAdd[seed#0]"), TestEnd::Passed),
        (x("TestAdd"), TestEnd::Passed),
        (x("TestCases"), TestEnd::Failed),
        (x("TestCases[one]"), TestEnd::Passed),
        (x("TestCases[two_words]"), TestEnd::Failed),
        (x("TestSkipped"), TestEnd::Skipped),
    ];
    let expected = expected.iter().map(|(name, end)| (name.as_str(), *end)).collect();
    assert_eq!(ends(&reading), expected);
    assert_eq!(findings(&reading), ["Log test-failed y_test.go:11"], "a test is not charged beside its case");
    assert_eq!(reading.residuals[0].message, "`example.org/x::TestCases[two_words]` failed: got 4");
    assert_eq!(reading.reach[&path("y_test.go")].len(), 4);
}

#[test]
fn a_panic_takes_the_tests_after_it_along_and_says_where_it_was() {
    let panics = "package x\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) {\n\tvar p *int\n\t*p = 1\n}\n\n\
                  func TestC(t *testing.T) {}\n";
    let reading = test(&module(&[("y_test.go", panics)]));
    assert_eq!(findings(&reading), ["Log test-failed y_test.go:7", "Log tests-vanished y_test.go:0"]);
    assert!(reading.residuals[0].message.contains("nil pointer"), "{}", reading.residuals[0].message);
}

#[test]
fn a_package_that_does_not_build_keeps_only_its_own_tests_from_running() {
    let files = module(&[
        ("b/b.go", "package b\n\nfunc B() int { return \"\" }\n"),
        ("b/b_test.go", "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) {}\n"),
    ]);
    assert_eq!(findings(&build(&files)), ["Syn compile-error b/b.go:3"]);
    let reading = test(&files);
    assert_eq!(findings(&reading), ["Syn compile-error b/b.go:3"]);
    assert_eq!(ends(&reading), [("example.org/x::TestAdd", TestEnd::Passed)].into());
    let root = go().roots(&files).remove(0);
    assert_eq!(
        root.packages,
        [path("b")].into_iter().chain([perspt_core::path::RelPath::root()]).rev().collect::<Vec<_>>()
    );
}

#[test]
fn no_tests_is_measured_with_none() {
    let reading = test(&module(&[]).without("x_test.go"));
    assert_eq!((reading.status.clone(), ends(&reading).len()), (Status::Measured, 0));
    assert_eq!(findings(&reading), [""; 0]);
}

#[test]
fn a_file_for_another_platform_was_not_read_and_one_that_go_passes_over_is_unmeasured() {
    let files = module(&[
        ("y_windows.go", "package x\n\nfunc Y() { nonsense }\n"),
        ("z.go", "//go:build never\n\npackage x\n"),
        ("_w.go", "package x\n"),
        ("testdata/t.go", "package broken {\n"),
    ]);
    let reading = build(&files);
    assert_eq!(findings(&reading), ["Str unmeasured-file _w.go:0"]);
    let read: Vec<&str> = reading.looked.iter().map(|path| path.as_str()).collect();
    assert_eq!(read, ["go.mod", "x.go", "x_test.go"]);
}

#[test]
fn a_workspace_is_one_root_and_a_module_beside_it_another() {
    let files = Map::of(&[
        ("go.work", "go 1.21\n\nuse (\n\t./a // first\n\t./b\n)\n"),
        ("a/go.mod", "module example.org/a\n\ngo 1.21\n"),
        ("a/a.go", "package a\n\n// One is one.\nfunc One() int { return 1 }\n"),
        ("b/go.mod", "module example.org/b\n\ngo 1.21\n"),
        (
            "b/b.go",
            "package b\n\nimport \"example.org/a\"\n\n// Two is two.\nfunc Two() int { return a.One() + 1 }\n",
        ),
        (
            "b/b_test.go",
            "package b\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n",
        ),
        ("c/go.mod", "module example.org/c\n\ngo 1.21\n"),
        ("c/c.go", "package c\n"),
        ("b/testdata/d/go.mod", "module example.org/d\n"),
        ("vendor/e/go.mod", "module example.org/e\n"),
    ]);
    let roots = go().roots(&files);
    let found: Vec<_> =
        roots.iter().map(|root| (root.dir.as_str(), root.packages.len(), root.has_tests)).collect();
    assert_eq!(found, [("", 2, true), ("c", 1, false)]);
    assert_eq!(findings(&build(&files)), [""; 0]);
    let reading = test(&files);
    assert_eq!(ends(&reading), [("example.org/b::TestTwo", TestEnd::Passed)].into());
    assert!(reading.looked.contains(&path("a/a.go")), "its tests are linked with the other module");
    let wrong = files.with("a/a.go", "package a\n\n// One is one.\nfunc One() int { return 2 }\n");
    assert_eq!(findings(&test(&wrong)), ["Log test-failed b/b_test.go:7"]);
}

#[test]
fn every_plant_is_seen_by_real_go() {
    let files = module(&[("b/b.go", "package b\n")]);
    let root = go().roots(&files).remove(0);
    let (machine, tools) = (Machine::default(), working());
    for kind in [StageKind::Build, StageKind::Lint, StageKind::Test] {
        let slot = Slot::new();
        let without = slot.read(go(), &files, kind);
        let plants: Vec<Plant> = go().plants(kind, &root, &files, "planteda1b2");
        assert_eq!(plants.len(), 1);
        let with = slot.read_planted(go(), &files, &plants[0], kind, (&machine, &tools));
        assert!(plants[0].expect.is_met(&without, &with), "{}: {:?}", plants[0].what, with.residuals);
    }
}

#[test]
fn the_probe_tells_working_missing_and_lying_go_apart() {
    let probes = go().probes(&Machine::default());
    for probe in &probes {
        let state = go().read_probe(probe, &Slot::probe(probe, None));
        assert!(matches!(state, ToolState::Works { .. }), "{state:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let lying = |text: &str| {
        let program = folder.path().join("go");
        std::fs::write(&program, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        go().read_probe(&probes[0], &Slot::probe(&probes[0], Some(folder.path())))
    };
    let green = lying("#!/bin/sh\necho go version go1.21\n");
    assert!(matches!(green, ToolState::Broken { .. }), "{green:?}");
    let absent = lying("#!/bin/sh\nexit 127\n");
    assert!(matches!(absent, ToolState::Missing { .. }), "{absent:?}");
}

#[test]
fn steps_choose_cache_flags_and_toolchain_themselves_and_only_the_fetch_has_a_network() {
    let files = module(&[("go.mod", "module example.org/x\n\ngo 1.21\n\nrequire example.org/y v1.0.0\n")]);
    let root = go().roots(&files).remove(0);
    for kind in [StageKind::Build, StageKind::Test] {
        for step in stage(go(), &root, &files, kind, &Machine::default(), &working()).steps {
            for (name, value) in
                [("GOPROXY", "off"), ("GOENV", "off"), ("GOTOOLCHAIN", "local"), ("GOWORK", "off")]
            {
                assert_eq!(step.env[name], value, "{}", step.name);
            }
            assert!(step.env["GOCACHE"].starts_with("{build}/"));
            assert!(!step.env["GOFLAGS"].contains("-run"));
            // Where tests run, the cache is read-only: nothing else may be written to it than what compiling wrote.
            let is_confined = step.profile == Profile::Test;
            assert_eq!(step.env.get("GODEBUG").is_some_and(|value| value == "goindex=0"), is_confined);
            assert!(!is_confined || step.build_writes.is_empty());
        }
    }
    let fetch = go().fetch(&root, &files).unwrap().step;
    assert!(!fetch.env.contains_key("GOPROXY"));
    assert_eq!(fetch.env["GOTOOLCHAIN"], "local");
    let alone = module(&[]);
    assert!(go().fetch(&go().roots(&alone)[0], &alone).is_none());
    assert!(go().prepare(&root, &files).unwrap().env["GOPROXY"] == "off");
}

#[test]
fn in_a_tree_of_several_languages_each_has_its_own_root() {
    let files = Map::of(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("src/lib.rs", ""),
        ("server/go.mod", "module example.org/server\n\ngo 1.21\n"),
        ("server/x.go", "package server\n"),
        ("server/x_test.go", "package server\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n"),
    ]);
    let dirs = |name: &str| -> Vec<String> {
        plugin(name).unwrap().roots(&files).iter().map(|root| root.dir.as_str().to_owned()).collect()
    };
    assert_eq!((dirs("go"), dirs("rust")), (vec!["server".to_owned()], vec![String::new()]));
    assert_eq!(findings(&build(&files)), [""; 0]);
    assert_eq!(ends(&test(&files)), [("example.org/server::TestX", TestEnd::Passed)].into());
}

#[test]
fn an_import_that_is_not_used_is_an_error_at_its_place() {
    let reading = build(&module(&[("y.go", "package x\n\nimport \"os\"\n")]));
    assert_eq!(findings(&reading), ["Syn compile-error y.go:3"]);
}

#[test]
fn a_step_that_hangs_is_a_timeout_and_one_without_its_report_measured_nothing() {
    let files = module(&[]);
    let slot = Slot::new();
    slot.lay_out(&files, go());
    let root = go().roots(&files).remove(0);
    for kind in [StageKind::Build, StageKind::Test] {
        let stage = stage(go(), &root, &files, kind, &Machine::default(), &working());
        let whole = slot.outputs(go(), &stage);
        for at in 0..whole.len() {
            let mut hung = whole[..=at].to_vec();
            hung[at].end = StepEnd::TimedOut;
            let reading = slot.read_outputs(go(), &stage, &hung, &root, &files);
            assert!(classes(&reading).contains(&"timeout"), "{}", hung[at].step);
            let cut = whole[..at].to_vec();
            let reading = slot.read_outputs(go(), &stage, &cut, &root, &files);
            assert!(at == 0 || classes(&reading).contains(&"report-missing"), "without {}", whole[at].step);
        }
        let mut short = whole.clone();
        let last = short.len() - 1;
        short[last].stdout.truncate(10);
        let reading = slot.read_outputs(go(), &stage, &short, &root, &files);
        assert!(kind == StageKind::Build || !classes(&reading).is_empty(), "a run that was cut");
    }
}

#[test]
fn what_was_compiled_and_could_not_be_run_measured_nothing() {
    let files = module(&[]);
    let slot = Slot::new();
    slot.lay_out(&files, go());
    let root = go().roots(&files).remove(0);
    let stage = stage(go(), &root, &files, StageKind::Test, &Machine::default(), &working());
    let mut outputs = slot.outputs(go(), &stage);
    let last = outputs.len() - 1;
    outputs[last].end = StepEnd::Exited(1);
    outputs[last].stdout =
        b"{\"Action\":\"output\",\"Package\":\"./x\",\"Output\":\"FAIL\\t./x [setup failed]\\n\"}\n".to_vec();
    let reading = slot.read_outputs(go(), &stage, &outputs, &root, &files);
    assert!(classes(&reading).contains(&"report-missing"), "{:?}", reading.residuals);
    assert_ne!(ends(&reading)["example.org/x::TestAdd"], TestEnd::Passed);
}
