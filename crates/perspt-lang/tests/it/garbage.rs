//! Readers are total: any bytes give a reading, and none of them a green one where a step failed.

use std::collections::BTreeMap;

use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::stage::{Preset, Stage, StepEnd, StepOutput};
use perspt_lang::plugin::{FromCandidate, Machine, Pair, ReadContext, Selection, Terms, Tools};
use perspt_lang::{Plugin, plugins};
use proptest::prelude::*;

use crate::support::{Map, stage, structure, terms, working};

/// Pieces that real tools print, to be shuffled with noise.
const PIECES: [&str; 38] = [
    "test a ... ok",
    "test a ... FAILED",
    "test a ... ",
    "a: test",
    "running 1 test",
    "failures:",
    "    a",
    "---- a stdout ----",
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    "test result: FAILED. 99999999999999999999 passed; -1 failed",
    "     Running unittests src/lib.rs (/x/demo-0)",
    "   Doc-tests demo",
    "src/lib.rs - add (line 5): test",
    "test src/lib.rs - add (line 5) ... ok",
    "error: test failed, to rerun pass `--lib`",
    "thread 'a' (1) panicked at src/lib.rs:1:2:",
    "{\"reason\":\"build-finished\",\"success\":true}",
    "{\"reason\":\"build-finished\",\"success\":false}",
    "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/t/Cargo.toml\",\"target\":{\"kind\":[\"lib\"],\"name\":\"demo\",\"src_path\":\"/t/src/lib.rs\"},\"profile\":{\"test\":true},\"filenames\":[\"/b/perspt-target/debug/deps/libdemo-0.rmeta\"],\"executable\":\"/x/demo-0\"}",
    "{\"reason\":\"compiler-message\",\"manifest_path\":\"/t/Cargo.toml\",\"message\":{\"level\":\"error\",\"message\":\"m\",\"spans\":[{\"file_name\":\"src/lib.rs\",\"line_start\":0,\"column_start\":99999999999,\"is_primary\":true}]}}",
    "error: no matching package named `x` found",
    " --> Cargo.toml:5:14",
    "Caused by:",
    "tests/test_a.py::test_a",
    "1 test collected in 0.01s",
    "<testsuites><testsuite>",
    "<testcase classname=\"tests.test_a\" name=\"test_a\">",
    "<failure message=\"m\">&#0;&nosuch;</failure></testcase>",
    "<testcase classname=\"tests.test_a\" name=\"test_a\" />",
    "</testsuite></testsuites>",
    "{\"test\": \"tests/test_a.py::T::test_a\", \"end\": \"passed\"}",
    "{\"test\": \"tests/test_a.py::T::test_a\"}",
    "{\"done\": 1}",
    "{\"file\": \"demo.py\", \"problem\": null}",
    "{\"file\": \"demo.test.js\", \"by\": \"node\", \"problem\": {\"message\": \"m\", \"line\": 99999999999}}",
    "{\"testResults\": [{\"name\": \"demo.test.js\", \"assertionResults\": [{\"title\": \"a\", \"status\": \"passed\"}]}]}",
    "{\"testResults\": [{\"name\": \"demo.test.js\", \"status\": \"failed\", \"message\": \"at (a:1:2) Cannot find module '\"}]}",
    "{\"main\": \"demo.test.js\", \"whole\": true, \"loaded\": [\"demo.test.js\"]}",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "[ -~]{0,30}|é…|\u{feff}".prop_map(String::into_bytes),
    ];
    let joined = prop::collection::vec((piece, prop::sample::select(vec!["\n", "", " ", "\r\n"])), 0..12);
    joined.prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(piece, end)| piece.into_iter().chain(end.bytes()).collect::<Vec<u8>>())
            .collect()
    })
}

/// Pieces of sources, in whatever order.
fn source() -> impl Strategy<Value = String> {
    const PIECES: [&str; 28] = [
        "#[test]\n",
        "fn a() { assert!(b()); }\n",
        "#[cfg(test)]\n",
        "mod tests {\n",
        "}\n",
        "use super::*;\n",
        "proptest! { #[test] fn c() {} }\n",
        "/// ```\n",
        "/// assert!(true);\n",
        "macro_rules! assert { () => {} }\n",
        "def test_a():\n",
        "    assert a() == 1\n",
        "class TestA:\n",
        "    def test_b(self):\n",
        "        pass\n",
        "@pytest.mark.parametrize('a', [1, 2])\n",
        "from a import (b as c, d)\n",
        "\"\"\">>> 1\n1\"\"\"\n",
        "pytestmark = x\n",
        "raise NotImplementedError\n",
        "test('a', () => {\n",
        "describe(`b`, function () {\n",
        "});\n",
        "import { a as b } from './c';\n",
        "é\u{0}",
        "'",
        "\"",
        "(",
    ];
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..25).prop_map(|pieces| pieces.concat())
}

fn end() -> impl Strategy<Value = StepEnd> {
    prop_oneof![
        (-1..256i32).prop_map(StepEnd::Exited),
        Just(StepEnd::Exited(0)),
        Just(StepEnd::Signalled(11)),
        Just(StepEnd::TimedOut),
        Just(StepEnd::NotStarted("no".to_owned())),
    ]
}

fn files() -> Map {
    Map::of(&[
        ("Cargo.toml", "[package]\nname = \"demo\"\n"),
        ("src/lib.rs", ""),
        ("pyproject.toml", ""),
        ("demo.py", ""),
        ("tests/test_a.py", ""),
        ("go.mod", "module demo\n"),
        ("demo.go", "package demo\n"),
        ("demo_test.go", "package demo\n"),
        ("package.json", "{\"name\": \"demo\"}"),
        ("demo.test.js", ""),
    ])
}

/// Every stage of every plugin, unittest's included.
fn stages() -> Vec<(&'static dyn Plugin, Stage)> {
    let mut all = Vec::new();
    for plugin in plugins() {
        let root = plugin.roots(&files()).remove(0);
        for kind in StageKind::ALL {
            let found = plugin.stages(
                &root,
                &files(),
                &terms(&Machine::default(), &working(), &Selection::default()),
            );
            all.extend(
                found.into_iter().flatten().filter(|stage| stage.kind == kind).map(|stage| (*plugin, stage)),
            );
        }
        let configured =
            ["mypy", "pyright", "ty", "ruff"].map(|tool| format!("[tool.{tool}]\n[tool.ruff.format]\n"));
        for files in configured.map(|text| files().with("pyproject.toml", &text)) {
            let (machine, tools, selection) = (Machine::default(), working(), Selection::default());
            let terms = Terms { preset: Preset::Strict, ..terms(&machine, &tools, &selection) };
            let found = plugin.stages(&root, &files, &terms).into_iter().flatten();
            let beside = found.filter(|stage| [StageKind::Type, StageKind::Lint].contains(&stage.kind));
            all.extend(beside.map(|stage| (*plugin, stage)));
        }
        if plugin.name() == "python" {
            let mut tools = working();
            let missing =
                perspt_lang::plugin::ToolState::Missing { why: String::new(), install: String::new() };
            tools.insert("pytest".to_owned(), missing);
            all.push((
                *plugin,
                stage(*plugin, &root, &files(), StageKind::Test, &Machine::default(), &tools),
            ));
        }
    }
    assert!(plugins().iter().all(|plugin| all.iter().any(|(of, _)| of.name() == plugin.name())));
    all
}

fn read(plugin: &dyn Plugin, stage: &Stage, outputs: &[StepOutput]) -> Reading {
    let files = files();
    let root = plugin.roots(&files).remove(0);
    let context = ReadContext {
        tree: perspt_core::tree::Tree::default().id(),
        root: &root,
        seen_as: "/t",
        files: &files,
        tools: &Tools::new(),
    };
    let late: Vec<String> = outputs.iter().flat_map(|output| plugin.late_reports(stage, output)).collect();
    drop(late);
    plugin.read(stage, outputs, &context)
}

fn is_green(reading: &Reading) -> bool {
    reading.status == Status::Measured && !reading.residuals.iter().any(|residual| residual.counts())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_gives_a_reading_and_a_failed_step_never_a_green_one(
        which in 0..stages().len(),
        ran in 0..4usize,
        parts in prop::collection::vec((text(), text(), text(), end(), any::<bool>()), 3),
    ) {
        let (plugin, stage) = &stages()[which];
        let outputs: Vec<StepOutput> = stage.steps.iter().zip(parts).take(ran).map(|(step, (out, err, report, end, cut))| StepOutput {
            step: step.name.clone(),
            end,
            stdout: out,
            stderr: err,
            cut,
            reports: step.reports.iter().map(|name| (name.clone(), report.clone())).collect::<BTreeMap<_, _>>(),
        }).collect();
        let reading = read(*plugin, stage, &outputs);
        let nothing_collected = |output: &StepOutput| output.step == "collect" && output.end == StepEnd::Exited(5);
        let failed = outputs.iter().any(|output| !output.end.is_success() && !nothing_collected(output));
        // A listing that fails because one target does not answer it is made good by the run.
        let is_listing = |output: &StepOutput| plugin.name() == "rust" && output.step == "list";
        let excused = outputs.iter().all(|output| output.end.is_success() || is_listing(output));
        prop_assert!(!failed || excused || !is_green(&reading), "{:?} {reading:?}", outputs);
        prop_assert!(!outputs.is_empty() || reading.status != Status::Measured);
        for residual in reading.residuals.iter().filter(|residual| residual.counts()) {
            prop_assert!(residual.score >= perspt_core::residual::Milli::ONE);
        }
        let _ = plugin.environment_fault(&reading);
        let _ = plugin.continues_after(stage, &StepOutput { step: "list".to_owned(), end: StepEnd::Exited(1), stdout: Vec::new(), stderr: Vec::new(), cut: false, reports: BTreeMap::new() });
    }

    #[test]
    fn any_output_of_a_probe_gives_a_state(parts in prop::collection::vec((text(), text(), text(), end()), 2), ran in 0..3usize) {
        for plugin in plugins() {
            for probe in plugin.probes(&Machine::default()) {
                let outputs: Vec<StepOutput> = probe.steps.iter().zip(parts.clone()).take(ran).map(|(step, (out, err, report, end))| StepOutput {
                    step: step.name.clone(), end, stdout: out, stderr: err, cut: false,
                    reports: step.reports.iter().map(|name| (name.clone(), report.clone())).collect(),
                }).collect();
                let state = plugin.read_probe(&probe, &outputs);
                let works = matches!(state, perspt_lang::plugin::ToolState::Works { .. });
                prop_assert!(!works || outputs.iter().all(|output| !matches!(output.end, StepEnd::TimedOut | StepEnd::NotStarted(_))));
            }
        }
    }

    #[test]
    fn any_source_is_compared_and_put_back(
        before in source(), after in source(), code in "[\\x00-\\x7fé'\"#\\[\\](){};/*! \\n]{0,200}",
    ) {
        let files = |text: &str| Map::of(&[
            ("Cargo.toml", "[package]\nname = \"demo\"\n"), ("src/lib.rs", text), ("tests/it.rs", text), ("demo.py", text),
            ("tests/test_a.py", text), ("conftest.py", text), ("pytest.ini", "[pytest]\naddopts = --doctest-modules\n"),
        ]);
        for (base, candidate) in [(files(&before), files(&after)), (files(&before), files(&format!("{before}{code}")))] {
            let pair = Pair { base: &base, candidate: &candidate };
            for plugin in plugins() {
                plugin.structure(&pair, &working());
                plugin.old_tests(&pair, &FromCandidate::default());
            }
        }
    }

    #[test]
    fn any_files_give_roots_plants_and_structure(texts in prop::collection::vec(text(), 6), code in "[\\x00-\\x7fé'\"#\\[\\](){};/*! \\n]{0,200}") {
        let text = |at: usize| String::from_utf8_lossy(&texts[at]).into_owned();
        let base = Map::of(&[
            ("Cargo.toml", &text(0)), ("src/lib.rs", &text(1)), ("pyproject.toml", &text(2)), ("setup.cfg", &text(2)),
            ("tests/test_a.py", &text(3)), ("tests/it.rs", &text(3)), ("requirements.txt", &text(4)), ("setup.py", &code),
        ]);
        let candidate = base.with("src/lib.rs", &code).with("tests/test_a.py", &code).with("Cargo.toml", &text(5)).with("setup.cfg", &code);
        for plugin in plugins() {
            for root in plugin.roots(&base) {
                for kind in StageKind::ALL {
                    plugin.plants(kind, &root, &base, "planted1");
                }
                plugin.stages(&root, &base, &terms(&Machine::default(), &working(), &Selection::default()));
                plugin.fetch(&root, &base);
                plugin.prepare(&root, &base);
            }
            structure(*plugin, &base, &candidate);
            structure(*plugin, &candidate, &base);
            plugin.packages(&candidate);
        }
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    let deep = "mod a {".repeat(100_000);
    let open = "[".repeat(100_000);
    let base = Map::of(&[("src/lib.rs", "#[test]\nfn a() {}\n"), ("tests/test_a.py", "")]);
    let nested = format!("{}{}", "class A:\n".repeat(10), open);
    for text in [deep, open, nested] {
        let candidate =
            base.with("src/lib.rs", &text).with("tests/test_a.py", &text).with("Cargo.toml", &text);
        for plugin in plugins() {
            plugin.roots(&candidate);
            structure(*plugin, &base, &candidate);
        }
    }
}
