//! Real Node, tsc, Vitest, Jest and eslint: what the plugin makes of their output.

use std::path::PathBuf;

use perspt_core::reading::{Reading, StageKind, Status, TestEnd};
use perspt_core::residual::{Class, Component};
use perspt_core::stage::{Preset, StepEnd};
use perspt_lang::plugin::{Machine, Selection, Terms, ToolState};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, classes, counted, ends, path, stage, terms, working};

pub fn javascript() -> &'static dyn Plugin {
    plugin("javascript").unwrap()
}

/// Where `cargo xtask` installs what these tests run on.
fn packages() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").unwrap_or_else(|| set("HOME").unwrap().join(".cache"));
    let folder = caches.join("perspt-ci/javascript/node_modules");
    assert!(
        folder.join("jest").is_dir(),
        "no JavaScript tools in {}: run `cargo xtask test`",
        folder.display()
    );
    folder
}

/// A machine on which a project has all tools.
pub fn machine() -> Machine {
    let tools = [
        ("typescript", "bin/tsc"),
        ("vitest", "vitest.mjs"),
        ("jest", "bin/jest.js"),
        ("mocha", "bin/mocha.js"),
        ("eslint", "bin/eslint.js"),
    ];
    let place = |(tool, file): (&str, &str)| {
        (tool.to_owned(), packages().join(tool).join(file).to_str().unwrap().to_owned())
    };
    Machine { programs: tools.map(place).into(), ..Machine::default() }
}

fn slot() -> Slot {
    let mut slot = Slot::new();
    slot.packages = Some(packages());
    slot
}

pub fn read(files: &Map, kind: StageKind) -> Reading {
    slot().read_with(javascript(), files, kind, &machine(), &working())
}

/// A module package whose tests run with this command.
fn package(script: &str, more: &[(&str, &str)]) -> Map {
    let manifest = format!(
        "{{\"name\": \"demo\", \"type\": \"module\", \"scripts\": {{\"test\": \"{script}\"}}, \
         \"devDependencies\": {{\"typescript\": \"5\"}}}}"
    );
    let mut files = Map::of(&[("package.json", &manifest), ("src/sum.js", SUM)]);
    more.iter().for_each(|(name, text)| files.put(name, text));
    files
}

const SUM: &str = "export const sum = (a, b) => a + b;\n";
const TEST: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { sum } from '../src/sum.js';\n";

pub fn node(tests: &str) -> Map {
    package("node --test", &[("test/sum.test.js", &format!("{TEST}{tests}"))])
}

const RIGHT: &str = "test('adds', () => assert.equal(sum(1, 2), 3));\n";

#[test]
fn a_clean_tree_is_green_and_says_which_files_its_tests_loaded() {
    let files = node(RIGHT).with("src/alone.js", "export const alone = 1;\n");
    let syntax = read(&files, StageKind::Syntax);
    assert_eq!((syntax.status, syntax.residuals), (Status::Measured, vec![]));
    assert!(syntax.looked.contains(&path("src/alone.js")));
    let test = read(&files, StageKind::Test);
    assert_eq!((test.status.clone(), test.residuals.clone()), (Status::Measured, vec![]));
    assert_eq!(ends(&test), [("test/sum.test.js::adds", TestEnd::Passed)].into());
    assert!(test.looked.contains(&path("src/sum.js")) && test.looked.contains(&path("test/sum.test.js")));
    assert!(!test.looked.contains(&path("src/alone.js")), "no test leads to it");
}

#[test]
fn a_file_that_does_not_parse_is_an_error_at_its_place_and_is_read_as_node_would() {
    let files = node(RIGHT)
        .with("src/wrong.js", "let a = 1;\nlet b = = 2;\n")
        .with("src/script.cjs", "const a = require('./a');\nreturn;\nwith (a) {}\n")
        .with("src/strict.mjs", "export const a = 1;\nwith (a) {}\n")
        .with("src/view.js", "export const View = () => <b>hi</b>;\n")
        .with("src/typed.ts", "export const a: number = 1;\nfunction (: {\n")
        .with("src/fine.tsx", "export const V = (p: { a: string }) => <b>{p.a}</b>;\n")
        .with("bin/tool", "not looked at")
        .with("bin/run.js", "#!/usr/bin/env node\nexport {};\n");
    for slot in [slot(), Slot::new()] {
        // With the project's compiler, and by our own grammar where there is none.
        let machine = if slot.packages.is_some() { machine() } else { Machine::default() };
        let reading = slot.read_with(javascript(), &files, StageKind::Syntax, &machine, &working());
        let found: Vec<(&str, u32)> = counted(&reading.residuals)
            .map(|one| (one.file.as_ref().unwrap().as_str(), one.place.unwrap().line))
            .collect();
        assert_eq!(found, [("src/strict.mjs", 2), ("src/typed.ts", 2), ("src/wrong.js", 2)]);
        let wrong = reading.residuals.iter().find(|one| one.file == Some(path("src/wrong.js"))).unwrap();
        assert_eq!((wrong.component, wrong.class), (Component::Syn, Class::SyntaxError));
        assert!(wrong.evidence.contains("let b = = 2"), "{}", wrong.evidence);
    }
}

#[test]
fn a_file_that_the_script_did_not_report_is_unmeasured() {
    let files = node(RIGHT);
    let slot = slot();
    slot.lay_out(&files, javascript());
    let more = files.with("src/late.js", "");
    let root = javascript().roots(&files).remove(0);
    let stage = stage(javascript(), &root, &files, StageKind::Syntax, &machine(), &working());
    let outputs = slot.outputs(javascript(), &stage);
    assert_eq!(
        classes(&slot.read_outputs(javascript(), &stage, &outputs, &root, &more)),
        ["unmeasured-file"]
    );
}

#[test]
fn every_way_a_node_test_can_end_is_read_under_its_suites() {
    let reading = read(
        &node(
            "import { describe, it } from 'node:test';\ntest('wrong', () => {\n  assert.equal(sum(1, 2), 4);\n});\n\
             test.skip('skipped', () => {});\ntest.todo('later');\n\
             describe('outer', () => { describe('inner', () => { it('deep', () => {}); }); });\n\
             test('parent', async (t) => { await t.test('child', () => {}); });\n",
        ),
        StageKind::Test,
    );
    let name = |name: &str| format!("test/sum.test.js::{name}");
    let expected = [
        ("wrong", TestEnd::Failed),
        ("skipped", TestEnd::Skipped),
        ("later", TestEnd::Skipped),
        ("outer::inner::deep", TestEnd::Passed),
        ("parent", TestEnd::Passed),
        ("parent::child", TestEnd::Passed),
    ];
    let expected: Vec<(String, TestEnd)> = expected.map(|(test, end)| (name(test), end)).into();
    assert_eq!(ends(&reading), expected.iter().map(|(test, end)| (test.as_str(), *end)).collect());
    let [wrong] = &reading.residuals[..] else { panic!("{:?}", reading.residuals) };
    assert_eq!((wrong.component, wrong.class), (Component::Log, Class::TestFailed));
    assert_eq!((wrong.file.clone(), wrong.place.unwrap().line), (Some(path("test/sum.test.js")), 6));
    assert!(wrong.message.contains("wrong") && wrong.evidence.contains("3 == 4"), "{wrong:?}");
    assert!(reading.reach[&path("test/sum.test.js")].contains(&path("src/sum.js")));
}

#[test]
fn what_keeps_a_test_file_from_loading_says_whose_fault_it_is() {
    let of = |line: &str| read(&node(line), StageKind::Test);
    let missing = of("import { x } from './nowhere.js';\n");
    assert_eq!(classes(&missing), ["import-error"]);
    assert_eq!(missing.residuals[0].file, Some(path("test/sum.test.js")));
    assert_eq!(javascript().environment_fault(&missing), None);
    let name = of("import { product } from '../src/sum.js';\n");
    assert_eq!(classes(&name), ["import-error"]);
    let package = of("import leftPad from 'left-pad';\n");
    assert_eq!(classes(&package), ["module-missing"]);
    assert_eq!(package.residuals[0].component, Component::Boot);
    assert!(javascript().environment_fault(&package).unwrap().contains("left-pad"));
    let itself = of("import { sum as same } from 'demo';\n");
    assert_eq!(classes(&itself), ["import-error"], "its manifest exports nothing");
    let throws = of("throw new Error('while loading');\n");
    assert_eq!(classes(&throws), ["collection-error"]);
    assert!(throws.residuals[0].message.contains("while loading"), "{}", throws.residuals[0].message);
    let late = of(&format!("{RIGHT}setTimeout(() => {{ throw new Error('late'); }}, 20);\n"));
    assert_eq!(late.residuals.len(), 1, "a passed test does not hide it: {:?}", late.residuals);
}

#[test]
fn a_process_that_is_ended_by_its_own_code_has_not_passed() {
    let exits = "test('exits', () => process.exit(0));\ntest('never', () => assert.fail());\n";
    let after = "import { after } from 'node:test';\nafter(() => process.exit(0));\ntest('wrong', () => assert.fail());\n";
    let module = node(RIGHT).with("src/sum.js", "process.exit(0);\nexport const sum = 1;\n");
    for files in
        [node(exits), node(after), node("process.exit(0);\n"), node("process.reallyExit(0);\n"), module]
    {
        let reading = read(&files, StageKind::Test);
        assert!(!classes(&reading).is_empty(), "{:?}", reading.tests);
        assert_eq!(reading.looked.len(), 0, "{:?}", reading.looked);
    }
    let killed = read(&node("process.kill(process.pid, 'SIGKILL');\n"), StageKind::Test);
    assert_eq!(classes(&killed).len(), 1, "{:?}", killed.residuals);
}

#[test]
fn no_test_is_no_pass_and_no_error_either() {
    let empty = read(&package("node --test", &[]), StageKind::Test);
    assert_eq!((classes(&empty), ends(&empty).len()), (vec![], 0));
    let helper = read(&node("").with("test/helper.js", "export const help = 1;\n"), StageKind::Test);
    assert_eq!((classes(&helper), ends(&helper).len()), (vec![], 0));
}

#[test]
fn a_run_that_hangs_or_is_ended_is_read_as_such() {
    let files = node(RIGHT);
    let slot = slot();
    slot.lay_out(&files, javascript());
    let root = javascript().roots(&files).remove(0);
    let stage = stage(javascript(), &root, &files, StageKind::Test, &machine(), &working());
    let mut outputs = slot.outputs(javascript(), &stage);
    for (end, class) in [(StepEnd::TimedOut, "timeout"), (StepEnd::Signalled(11), "crash")] {
        outputs[0].end = end;
        let reading = slot.read_outputs(javascript(), &stage, &outputs, &root, &files);
        assert_eq!(classes(&reading), [class]);
    }
    outputs[0].end = StepEnd::Exited(0);
    outputs[0].reports.clear();
    let reading = slot.read_outputs(javascript(), &stage, &outputs, &root, &files);
    assert_eq!(classes(&reading), ["report-missing"]);
}

const VITEST: &str =
    "import { test, expect, describe } from 'vitest';\nimport { sum } from '../src/sum.js';\n";

#[test]
fn vitest_is_read_test_by_test_with_the_files_that_its_tests_import() {
    let tests = format!(
        "{VITEST}describe('sums', () => {{\n  test('right', () => {{ expect(sum(1, 2)).toBe(3); }});\n  \
         test('wrong', () => {{\n    expect(sum(1, 2)).toBe(4);\n  }});\n  test.skip('not', () => {{}});\n}});\n"
    );
    let typed = "import { test } from 'vitest';\nimport type { Sum } from '../src/types';\n\
                 export type { Sum } from '../src/types';\nimport '../src/more';\ntest('c', () => {});\n";
    let files = package(
        "vitest run",
        &[
            ("test/a.test.js", &tests),
            ("test/b.test.js", "import './nowhere.js';\n"),
            ("test/c.test.ts", typed),
            ("src/types.ts", "export type Sum = number;\n"),
            ("src/more.ts", "export {};\n"),
        ],
    );
    let reading = read(&files, StageKind::Test);
    let found = [
        ("test/a.test.js::sums::not", TestEnd::Skipped),
        ("test/a.test.js::sums::right", TestEnd::Passed),
        ("test/a.test.js::sums::wrong", TestEnd::Failed),
        ("test/c.test.ts::c", TestEnd::Passed),
    ];
    assert_eq!(ends(&reading), found.into());
    let mut kinds = classes(&reading);
    kinds.sort_unstable();
    assert_eq!(kinds, ["import-error", "test-failed"], "{:?}", reading.residuals);
    let wrong = reading.residuals.iter().find(|one| one.class == Class::TestFailed).unwrap();
    assert_eq!(wrong.place.unwrap().line, 6);
    assert!(
        reading.looked.contains(&path("src/sum.js")) && !reading.looked.contains(&path("test/b.test.js"))
    );
    assert!(reading.looked.contains(&path("src/more.ts")));
    assert!(!reading.looked.contains(&path("src/types.ts")), "an import of types alone loads nothing");
    let exits = package(
        "vitest run",
        &[("test/a.test.js", "import { test } from 'vitest';\ntest('a', () => process.exit(0));\n")],
    );
    assert!(!classes(&read(&exits, StageKind::Test)).is_empty());
}

#[test]
fn jest_is_read_test_by_test_and_settings_that_it_cannot_read_are_named() {
    let manifest = "{\"name\": \"demo\", \"scripts\": {\"test\": \"jest\"}}";
    let tests = "const { sum } = require('../sum');\ntest('right', () => { expect(sum(1, 2)).toBe(3); });\n\
                 test('wrong', () => {\n  expect(sum(1, 2)).toBe(4);\n});\n";
    let files = Map::of(&[
        ("package.json", manifest),
        ("sum.js", "exports.sum = (a, b) => a + b;\n"),
        ("__tests__/sum.js", tests),
        ("b.test.js", "const x = require('no-such-package');\ntest('b', () => {});\n"),
    ]);
    let reading = read(&files, StageKind::Test);
    let found = [("__tests__/sum.js::right", TestEnd::Passed), ("__tests__/sum.js::wrong", TestEnd::Failed)];
    assert_eq!(ends(&reading), found.into());
    let mut kinds = classes(&reading);
    kinds.sort_unstable();
    assert_eq!(kinds, ["module-missing", "test-failed"], "{:?}", reading.residuals);
    assert!(reading.looked.contains(&path("sum.js")));
    let first = files.with("__tests__/sum.js", "test('s', () => { expect(1).toMatchSnapshot(); });\n");
    let reading = read(&first, StageKind::Test);
    let hint = reading
        .residuals
        .iter()
        .find_map(|one| one.hint.as_deref().filter(|_| one.class == Class::TestFailed));
    assert!(hint.is_some_and(|hint| hint.contains("snapshot")), "{:?}", reading.residuals);
    let exits = files.with("b.test.js", "process.exit(0);\n").without("__tests__/sum.js");
    assert!(!classes(&read(&exits, StageKind::Test)).is_empty());
    let refused =
        read(&files.with("jest.config.js", "throw new Error('broken settings');\n"), StageKind::Test);
    assert_eq!(classes(&refused), ["tool-refused"], "{:?}", refused.residuals);
    assert!(javascript().environment_fault(&refused).unwrap().contains("broken settings"));
}

#[test]
fn mocha_shares_a_process_so_old_files_also_run_without_new_ones() {
    let manifest =
        "{\"name\": \"demo\", \"scripts\": {\"test\": \"mocha 'test/**/*.js' --reporter dot --exit\"}}";
    let files = Map::of(&[
        ("package.json", manifest),
        ("sum.js", "exports.sum = (a, b) => (globalThis.helped ? 3 : a - b);\n"),
        (
            "test/z.js",
            "const { sum } = require('../sum');\ndescribe('sums', () => { it('adds', () => { if (sum(1, 2) !== 3) throw new Error('wrong'); }); it.skip('not', () => {}); });\n",
        ),
        ("test/new.js", "globalThis.helped = true;\nit('helps', () => {});\n"),
    ]);
    let reading = read(&files, StageKind::Test);
    let expected = [
        ("test/new.js::helps", TestEnd::Passed),
        ("test/z.js::sums::adds", TestEnd::Passed),
        ("test/z.js::sums::not", TestEnd::Skipped),
    ];
    assert_eq!(ends(&reading), expected.into(), "{:?}", reading.residuals);
    assert!(reading.looked.contains(&path("sum.js")));
    let selection = Selection { new_tests: [path("test/new.js")].into(), ..Selection::default() };
    let slot = slot();
    slot.lay_out(&files, javascript());
    let root = javascript().roots(&files).remove(0);
    let (machine, tools) = (machine(), working());
    let stages = javascript().stages(&root, &files, &terms(&machine, &tools, &selection));
    let stage = stages.into_iter().flatten().find(|stage| stage.kind == StageKind::Test).unwrap();
    let outputs = slot.outputs(javascript(), &stage);
    let reading = slot.read_outputs(javascript(), &stage, &outputs, &root, &files);
    assert_eq!(ends(&reading)["test/z.js::sums::adds"], TestEnd::Failed);
    assert_eq!(classes(&reading), ["test-failed"]);
    let exits = files.with("test/z.js", "it('exits', () => process.exit(0));\n");
    assert_eq!(classes(&read(&exits, StageKind::Test)), ["report-missing"]);
}

#[test]
fn settings_that_match_no_test_leave_none_collected() {
    let test = format!("{VITEST}test('a', () => {{}});\n");
    let config = "export default { test: { include: ['nowhere/**'] } };\n";
    let files = package("vitest run", &[("test/a.test.js", &test), ("vitest.config.js", config)]);
    let reading = read(&files, StageKind::Test);
    assert_eq!((reading.status.clone(), reading.tests.clone().unwrap().results.len()), (Status::Measured, 0));
    assert_eq!(reading.looked.len(), 0);
    let root = javascript().roots(&files).remove(0);
    let plants = javascript().plants(StageKind::Test, &root, &files, "planted1");
    let planted =
        slot().read_planted(javascript(), &files, &plants[0], StageKind::Test, (&machine(), &working()));
    assert!(!plants[0].expect.is_met(&reading, &planted), "the whole run would not see it either");
}

const TSCONFIG: &str = "{\n  // comments are allowed\n  \"compilerOptions\": {\"strict\": true, \"module\": \"esnext\", \
                        \"moduleResolution\": \"bundler\", \"types\": []},\n  \"include\": [\"src\"]\n}\n";

#[test]
fn type_errors_have_their_place_and_the_files_that_were_checked_are_listed() {
    let files = package(
        "node --test",
        &[
            ("tsconfig.json", TSCONFIG),
            ("src/a.ts", "export const a: number = 1;\nexport const b: string = a;\n"),
            (
                "src/c.ts",
                "import { nothing } from './nowhere';\nimport x from 'no-such-package';\nexport { nothing, x };\n",
            ),
            ("src/unchecked.ts", "// @ts-nocheck\nexport const d: string = 1;\n"),
            ("scripts/other.ts", "export const e: string = 1;\n"),
        ],
    );
    let reading = read(&files, StageKind::Type);
    let found: Vec<(&str, u32, &str)> = counted(&reading.residuals)
        .map(|one| (one.file.as_ref().unwrap().as_str(), one.place.unwrap().line, one.class.as_str()))
        .collect();
    let expected = [
        ("src/a.ts", 2, "compile-error"),
        ("src/c.ts", 1, "import-error"),
        ("src/c.ts", 2, "module-missing"),
    ];
    assert_eq!(found, expected);
    assert_eq!(reading.residuals[0].symbol.as_deref(), Some("TS2322"));
    assert_eq!(reading.looked, [path("src/a.ts"), path("src/c.ts")].into());
    let broken = read(&files.with("tsconfig.json", "{\"include\": [\"nowhere\"]}"), StageKind::Type);
    assert_eq!(classes(&broken), ["manifest-error"]);
    assert!(javascript().environment_fault(&broken).unwrap().contains("TS18003"));
    let refused = read(
        &files.with("tsconfig.json", "{\"compilerOptions\": {\"module\": \"nonsense\"}}"),
        StageKind::Type,
    );
    let last = refused.residuals.last().unwrap();
    assert_eq!((last.class, last.file.clone()), (Class::ManifestError, Some(path("tsconfig.json"))));
    assert_eq!(javascript().environment_fault(&refused), None, "it looked all the same");
    assert_eq!(javascript().environment_fault(&reading), None, "old errors are the tree's own");
}

#[test]
fn projects_that_refer_to_each_other_are_checked_together() {
    let settings = |more: &str| {
        format!(
            "{{\"compilerOptions\": {{\"strict\": true, \"composite\": true, \"types\": []}}, \"include\": [\"*.ts\"]{more}}}"
        )
    };
    let files = package(
        "node --test",
        &[
            ("tsconfig.json", "{\"files\": [], \"references\": [{\"path\": \"a\"}, {\"path\": \"b\"}]}"),
            ("a/tsconfig.json", &settings("")),
            ("a/one.ts", "export const one: number = 1;\n"),
            ("b/tsconfig.json", &settings(", \"references\": [{\"path\": \"../a\"}]")),
            ("b/two.ts", "import { one } from '../a/one.js';\nexport const two: string = one;\n"),
        ],
    );
    let reading = read(&files, StageKind::Type);
    let found: Vec<_> = counted(&reading.residuals).map(|one| one.file.clone().unwrap()).collect();
    assert_eq!(found, [path("b/two.ts")], "{:?}", reading.residuals);
    assert!(reading.looked.contains(&path("a/one.ts")));
}

#[test]
fn types_are_checked_where_the_project_is_set_up_for_it_and_a_compiler_that_is_not_installed_is_named() {
    let kinds = |files: &Map, machine: &Machine| -> Vec<Result<StageKind, String>> {
        let root = javascript().roots(files).remove(0);
        let (tools, selection) = (working(), Selection::default());
        let stages = javascript().stages(&root, files, &terms(machine, &tools, &selection));
        stages.into_iter().map(|stage| stage.map(|stage| stage.kind).map_err(|lack| lack.install)).collect()
    };
    let plain = node(RIGHT);
    assert_eq!(kinds(&plain, &machine()), [Ok(StageKind::Syntax), Ok(StageKind::Test)]);
    let typed = plain.with("tsconfig.json", TSCONFIG).with("package-lock.json", "{}");
    assert_eq!(kinds(&typed, &machine())[1], Ok(StageKind::Type));
    let lack = kinds(&typed, &Machine::default())[1].clone().unwrap_err();
    assert!(lack.contains("npm ci"), "{lack}");
    let vitest = package("vitest run", &[("pnpm-lock.yaml", "")]);
    let lack = kinds(&vitest, &Machine::default())[1].clone().unwrap_err();
    assert!(lack.contains("pnpm install"), "{lack}");
    let other = package("ava", &[("test/a.test.js", "")]);
    assert!(kinds(&other, &machine())[1].is_err(), "a runner whose report is not read is named");
}

#[test]
fn eslint_looks_where_it_is_configured_and_only_in_the_strict_preset() {
    let config = "export default [{ rules: { 'no-debugger': 'error', 'no-var': 'warn' } }];\n";
    let files = node(RIGHT).with("eslint.config.js", config).with("src/bad.js", "debugger;\nvar a = 1;\n");
    let root = javascript().roots(&files).remove(0);
    let (machine, tools, selection) = (machine(), working(), Selection::default());
    let kinds = |preset| -> Vec<StageKind> {
        let terms = Terms { preset, ..terms(&machine, &tools, &selection) };
        javascript().stages(&root, &files, &terms).into_iter().flatten().map(|stage| stage.kind).collect()
    };
    assert!(!kinds(Preset::Default).contains(&StageKind::Lint));
    assert!(kinds(Preset::Strict).contains(&StageKind::Lint));
    let terms = Terms { preset: Preset::Strict, ..terms(&machine, &tools, &selection) };
    let stages = javascript().stages(&root, &files, &terms);
    let lint = stages.into_iter().flatten().find(|stage| stage.kind == StageKind::Lint).unwrap();
    let slot = slot();
    slot.lay_out(&files, javascript());
    let outputs = slot.outputs(javascript(), &lint);
    let reading = slot.read_outputs(javascript(), &lint, &outputs, &root, &files);
    let found: Vec<_> = reading
        .residuals
        .iter()
        .map(|one| (one.symbol.as_deref().unwrap(), one.place.unwrap().line))
        .collect();
    assert_eq!(found, [("no-debugger", 1), ("no-var", 2)]);
    assert!(reading.looked.contains(&path("src/sum.js")));
}

#[test]
fn every_stage_sees_what_is_planted_for_it() {
    let test = format!("{VITEST}test('a', () => {{ expect(sum(1, 1)).toBe(2); }});\n");
    let vitest = package(
        "vitest run",
        &[("test/a.spec.js", &test), ("tsconfig.json", TSCONFIG), ("src/b.ts", "export const b = 1;\n")],
    );
    let jest = Map::of(&[
        ("package.json", "{\"name\": \"demo\", \"scripts\": {\"test\": \"jest\"}}"),
        ("a.test.js", "test('a', () => {});\n"),
    ]);
    let commonjs = Map::of(&[
        ("package.json", "{\"name\": \"demo\", \"scripts\": {\"test\": \"node --test\"}}"),
        ("test-a.js", "require('node:test')('a', () => {});\n"),
    ]);
    let mocha = Map::of(&[
        ("package.json", "{\"name\": \"demo\", \"scripts\": {\"test\": \"mocha\"}}"),
        ("test/a.js", "it('a', () => {});\n"),
    ]);
    let none = package("node --test", &[]);
    let single = package("node --test check.js", &[("check.js", "import 'node:test';\n")]);
    for files in [vitest, jest, mocha, commonjs, none, single, node(RIGHT)] {
        let root = javascript().roots(&files).remove(0);
        for kind in [StageKind::Syntax, StageKind::Type, StageKind::Test] {
            for plant in javascript().plants(kind, &root, &files, "planted0a1b") {
                let without = read(&files, kind);
                let tools = (&machine(), &working());
                let with = slot().read_planted(javascript(), &files, &plant, kind, tools);
                assert!(plant.expect.is_met(&without, &with), "{}: {:?}", plant.what, with.residuals);
            }
        }
    }
}

#[test]
fn each_package_of_a_workspace_is_run_in_its_own_way() {
    let files = Map::of(&[
        (
            "package.json",
            "{\"name\": \"w\", \"workspaces\": [\"packages/*\"], \"scripts\": {\"test\": \"npm test -ws\"}}",
        ),
        (
            "packages/a/package.json",
            "{\"name\": \"@w/a\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}",
        ),
        (
            "packages/a/a.test.js",
            "import test from 'node:test';\ntest('a', () => { throw new Error('a'); });\n",
        ),
        (
            "packages/b/package.json",
            "{\"name\": \"@w/b\", \"type\": \"module\", \"scripts\": {\"test\": \"vitest run\"}}",
        ),
        ("packages/b/b.test.js", "import { test } from 'vitest';\ntest('b', () => {});\n"),
        ("tools/c.test.js", "require('node:test')('c', () => {});\n"),
    ]);
    let roots = javascript().roots(&files);
    assert_eq!(roots.len(), 1);
    assert_eq!(
        roots[0].packages,
        [perspt_core::path::RelPath::root(), path("packages/a"), path("packages/b")]
    );
    let reading = read(&files, StageKind::Test);
    let expected = [
        ("packages/a/a.test.js::a", TestEnd::Failed),
        ("packages/b/b.test.js::b", TestEnd::Passed),
        ("tools/c.test.js::c", TestEnd::Passed),
    ];
    assert_eq!(ends(&reading), expected.into(), "{:?}", reading.residuals);
    let unlinked = files.with("packages/a/a.test.js", "import '@w/b';\n");
    let reading = read(&unlinked, StageKind::Test);
    assert_eq!(classes(&reading), ["module-missing"], "{:?}", reading.residuals);
    assert!(javascript().environment_fault(&reading).unwrap().contains("@w/b"));
}

#[test]
fn tools_are_tried_on_a_project_of_ours_and_one_that_sees_nothing_is_broken() {
    for probe in javascript().probes(&machine()) {
        let state = javascript().read_probe(&probe, &Slot::probe(&probe, None));
        assert!(matches!(state, ToolState::Works { .. }), "{}: {state:?}", probe.tool);
    }
    let folder = tempfile::tempdir().unwrap();
    let blind = folder.path().join("blind.js");
    std::fs::write(&blind, "console.log('9.9.9');\n").unwrap();
    for (tool, _) in machine().programs {
        let fake = Machine {
            programs: [(tool.clone(), blind.to_str().unwrap().to_owned())].into(),
            ..Machine::default()
        };
        let probe = javascript().probes(&fake).into_iter().find(|probe| probe.tool == tool).unwrap();
        let state = javascript().read_probe(&probe, &Slot::probe(&probe, None));
        assert!(matches!(state, ToolState::Broken { .. }), "{tool}: {state:?}");
    }
}
