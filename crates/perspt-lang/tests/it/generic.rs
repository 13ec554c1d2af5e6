//! The user's own commands: what their runs say, in whatever form.

use std::collections::BTreeMap;

use perspt_core::own::{OwnCommand, OwnCommands, OwnWays};
use perspt_core::path::RelPath;
use perspt_core::reading::{PluginName, Reading, StageKind, Status, TestEnd};
use perspt_core::stage::{Profile, Root, Stage, StepEnd, StepOutput};
use perspt_lang::generic::{NAME, error_in, in_place, read};
use perspt_lang::plugin::{Files as _, FromCandidate, OldTestFile, Pair, ReadContext, Tools};

use crate::support::*;

fn root() -> Root {
    let plugin = PluginName(NAME.to_owned());
    Root { dir: RelPath::root(), plugin, packages: vec![RelPath::root()], has_tests: false }
}

fn words(line: &str) -> OwnCommand {
    OwnCommand(line.split(' ').map(str::to_owned).collect())
}

fn ways(build: Option<&str>, test: Option<&str>, report: Option<&str>) -> OwnWays {
    let commands = OwnCommands {
        build_cmd: build.map(words),
        test_cmd: test.map(words),
        test_report: report.map(|report| RelPath::parse(report).unwrap()),
    };
    OwnWays { commands, ..OwnWays::default() }
}

fn stage_of(ways: &OwnWays, kind: StageKind) -> Stage {
    let stages = in_place(Vec::new(), &root(), ways);
    stages.into_iter().flatten().find(|stage| stage.kind == kind).unwrap()
}

fn output(step: &str, code: i32, stdout: &str) -> StepOutput {
    StepOutput {
        step: step.to_owned(),
        end: StepEnd::Exited(code),
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
        cut: false,
        reports: BTreeMap::new(),
    }
}

const SOURCES: [(&str, &str); 3] =
    [("src/calc.c", "int add;\n"), ("tests/test_add.c", "int main;\n"), ("Makefile", "test:\n")];

fn reading_of(stage: &Stage, outputs: &[StepOutput]) -> Reading {
    let files = Map::of(&SOURCES);
    let (root, tools) = (root(), Tools::new());
    let context =
        ReadContext { tree: files.tree().id(), root: &root, seen_as: "/ws", files: &files, tools: &tools };
    read(stage, outputs, &context)
}

/// The reading of a test command that printed this.
fn tested(code: i32, stdout: &str) -> Reading {
    reading_of(
        &stage_of(&ways(None, Some("make test"), None), StageKind::Test),
        &[output("test", code, stdout)],
    )
}

fn results(reading: &Reading) -> Vec<(&str, TestEnd)> {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    results.map(|(name, result)| (name.0.as_str(), result.end)).collect()
}

use TestEnd::{Failed, Passed, Skipped};

#[test]
fn tap_is_read_test_by_test_with_skips_and_expected_failures() {
    let reading = tested(
        0,
        "cc -o t t.c\nTAP version 13\n1..5\nok 1 - adds\nok 2 - needs a disk # SKIP no disk\nnot ok 3 - later # TODO soon\nok 4\nok 5 - has \\# inside\n",
    );
    assert_eq!(
        results(&reading),
        [
            ("adds", Passed),
            ("has # inside", Passed),
            ("later", Skipped),
            ("needs a disk", Skipped),
            ("test 4", Passed)
        ]
    );
    assert!(classes(&reading).is_empty());
    assert_eq!(reading.command.as_deref(), Some("make test"));
}

#[test]
fn a_failing_tap_test_has_its_name_its_words_and_its_place() {
    let reading = tested(
        1,
        "1..2\nok 1 - adds\nnot ok 2 - muls\n# failed at tests/test_add.c:12\n  ---\n  found: 3\n  ...\n",
    );
    assert_eq!(results(&reading), [("adds", Passed), ("muls", Failed)]);
    let [residual] = &reading.residuals[..] else { panic!("{:?}", reading.residuals) };
    assert_eq!((residual.class.as_str(), residual.symbol.as_deref()), ("test-failed", Some("muls")));
    let place = (residual.file.as_ref().unwrap().as_str(), residual.place.unwrap().line);
    assert_eq!(place, ("tests/test_add.c", 12));
    assert!(residual.evidence.contains("found: 3"));
}

#[test]
fn subtests_are_named_below_their_test() {
    let reading = tested(
        1,
        "TAP version 14\n# Subtest: sums\n    ok 1 - small\n    not ok 2 - large\n    1..2\nnot ok 1 - sums\nok 2 - rest\n1..2\n",
    );
    assert_eq!(
        results(&reading),
        [("rest", Passed), ("sums", Failed), ("sums::large", Failed), ("sums::small", Passed)]
    );
    assert_eq!(classes(&reading), ["test-failed", "test-failed"]);
}

#[test]
fn several_programs_may_print_their_reports_one_after_the_other() {
    let two = tested(0, "./a\n1..1\nok 1 - adds\n./b\n1..2\nok 1 - adds\nok 2 - muls\n");
    assert_eq!(results(&two), [("adds", Passed), ("adds[2]", Passed), ("muls", Passed)]);
    assert!(classes(&two).is_empty());
    let late = tested(0, "ok 1 - adds\n1..1\nok 1 - subs\n1..1\n");
    assert_eq!(results(&late), [("adds", Passed), ("subs", Passed)]);
    assert!(classes(&late).is_empty());
}

#[test]
fn a_run_that_ended_without_its_announced_tests_measured_nothing() {
    for printed in [
        "1..3\nok 1 - adds\n",
        "ok 1 - adds\nok 2 - muls\n",
        "1..2\nok 1 - adds\n1..1\nok 1 - other\n",
        "1..2\nok 1 - adds\nBail out! no memory\n",
        "TAP version 13\n",
        "1..4\n",
        "1..1\n    1..2\n    ok 1 - a\nok 1 - adds\n",
    ] {
        let reading = tested(0, printed);
        assert_eq!(classes(&reading), ["report-missing"], "{printed}");
    }
}

#[test]
fn words_of_a_log_are_no_report() {
    for printed in
        ["ok\n", "ok, done\nnot ok at all\n", "checking 1..2\n    ok 1 - indented\n", "Bail out!\n"]
    {
        let reading = tested(0, printed);
        assert!(reading.tests.is_none() && classes(&reading).is_empty(), "{printed}: {reading:?}");
    }
    let none = tested(0, "1..0 # skip nothing to test\n");
    assert_eq!((results(&none).len(), none.tests.is_some()), (0, true));
}

const CTEST: &str = "Test project /ws/build\n    Start 1: adds\n1/3 Test #1: adds .............................   Passed    0.00 sec\n    Start 2: muls\n2/3 Test #2: muls .............................***Failed    0.01 sec\n    Start 3: old\n3/3 Test #3: old ..............................***Not Run (Disabled)   0.00 sec\n\n50% tests passed, 1 tests failed out of 2\n";

#[test]
fn what_ctest_prints_is_read_test_by_test() {
    let reading = tested(8, CTEST);
    assert_eq!(results(&reading), [("adds", Passed), ("muls", Failed), ("old", Skipped)]);
    assert_eq!(classes(&reading), ["test-failed"]);
    let cut = CTEST.split("3/3").next().unwrap();
    assert_eq!(classes(&tested(8, cut)), ["report-missing", "report-missing", "test-failed"]);
    let nothing = tested(0, "Test project /ws/build\nNo tests were found!!!\n");
    assert!(nothing.tests.is_some() && results(&nothing).is_empty());
}

#[test]
fn a_report_in_junits_form_is_read_wherever_the_run_left_it() {
    let stage = stage_of(&ways(None, Some("mvn test"), None), StageKind::Test);
    let mut left = output("test", 1, "1..1\nok 1 - not this\n");
    let report = "<?xml version=\"1.0\"?><testsuite tests=\"2\"><testcase classname=\"CalcTest\" name=\"adds\" time=\"0\"/><testcase classname=\"CalcTest\" name=\"muls\"><failure message=\"expected 6\">at x</failure></testcase></testsuite>";
    left.reports.insert("target/surefire-reports/TEST-CalcTest.xml".to_owned(), report.into());
    left.reports.insert("target/settings.xml".to_owned(), "<settings><a/></settings>".into());
    let reading = reading_of(&stage, std::slice::from_ref(&left));
    assert_eq!(results(&reading), [("CalcTest::adds", Passed), ("CalcTest::muls", Failed)]);
    assert_eq!(classes(&reading), ["test-failed"]);
    left.reports.insert("target/surefire-reports/TEST-Other.xml".to_owned(), "<testsuite><testcase".into());
    assert_eq!(classes(&reading_of(&stage, &[left])), ["report-missing", "test-failed"]);
}

#[test]
fn a_report_that_the_user_names_must_be_there() {
    let ways = ways(None, Some("make test"), Some("out/report.xml"));
    let stage = stage_of(&ways, StageKind::Test);
    assert_eq!(stage.steps[0].reports, ["{tree}/out/report.xml"]);
    let mut left = output("test", 0, "1..1\nok 1 - adds\n");
    assert_eq!(classes(&reading_of(&stage, std::slice::from_ref(&left))), ["report-missing"]);
    left.reports.insert("{tree}/out/report.xml".to_owned(), "1..1\nok 1 - adds\n".into());
    assert_eq!(results(&reading_of(&stage, &[left])), [("adds", Passed)]);
}

#[test]
fn a_run_that_names_no_test_is_judged_by_its_exit_code() {
    let green = tested(0, "all fine\n");
    assert!(green.tests.is_none() && classes(&green).is_empty());
    let red = tested(2, "make: *** [test] Error 1\n");
    assert_eq!(classes(&red), ["target-failed"]);
    assert_eq!(red.residuals[0].message, "`make test` ended with exit code 2");
    assert!(red.residuals[0].evidence.contains("Error 1"));
}

#[test]
fn a_bad_end_counts_though_every_named_test_passed() {
    assert_eq!(classes(&tested(2, "1..1\nok 1 - adds\n")), ["tool-failed"]);
    let one = tested(2, "1..1\nok 1 - adds\nsrc/calc.c:3:5: error: expected ';'\n");
    assert_eq!(classes(&one), ["compile-error"]);
}

#[test]
fn errors_of_compilers_are_findings_with_their_places() {
    let stage = stage_of(&ways(Some("make"), None, None), StageKind::Build);
    let printed = "src/calc.c:3:5: error: expected ';' before '}' token\n/ws/src/calc.c:9: error: cannot find symbol\ncalc.c:4:1: warning: unused\n../src/calc.c:7:2: fatal error: no such file\nerror[E0425]: cannot find value\n --> src/calc.c:8:3\nelsewhere.c:1:1: error: not of the tree\n";
    let reading = reading_of(&stage, &[output("build", 2, printed)]);
    let places: Vec<(&str, u32)> = reading
        .residuals
        .iter()
        .map(|one| (one.file.as_ref().unwrap().as_str(), one.place.unwrap().line))
        .collect();
    assert_eq!(places, [3, 9, 7, 8].map(|line| ("src/calc.c", line)));
    assert_eq!(reading.residuals[0].message, "expected ';' before '}' token");
    assert_eq!(reading.residuals[3].message, "cannot find value");
    let whole = reading_of(&stage, &[output("build", 2, "no rule\n")]);
    assert_eq!(classes(&whole), ["compile-error"]);
}

#[test]
fn a_command_that_hangs_or_does_not_start_has_measured_nothing() {
    let stage = stage_of(&ways(None, Some("make test"), None), StageKind::Test);
    let ended = |end: StepEnd| reading_of(&stage, &[StepOutput { end, ..output("test", 0, "1..1\nok 1\n") }]);
    assert_eq!(classes(&ended(StepEnd::TimedOut)), ["timeout"]);
    assert!(ended(StepEnd::TimedOut).tests.is_none());
    assert_eq!(classes(&ended(StepEnd::Signalled(11))), ["crash"]);
    let none = ended(StepEnd::NotStarted("no such program".to_owned()));
    assert!(matches!(none.status, Status::Unavailable(_)) && none.command.is_some());
}

#[test]
fn own_commands_stand_in_place_of_a_languages_build_and_tests_and_tests_build_first() {
    let of_language = || {
        let syntax = Stage::required(StageKind::Syntax, "python compile", vec![]);
        let test = Stage::required(StageKind::Test, "pytest", vec![]);
        vec![Ok(syntax), Ok(test)]
    };
    let described = |ways: &OwnWays, root: &Root| -> Vec<String> {
        let stages = in_place(of_language(), root, ways).into_iter().flatten();
        stages.map(|stage| format!("{} {}", stage.kind.as_str(), stage.tool)).collect()
    };
    let none = OwnWays::default();
    assert_eq!(described(&none, &root()), ["syntax python compile", "test pytest"]);
    let both = ways(Some("make"), Some("make test"), None);
    assert_eq!(described(&both, &root()), ["syntax python compile", "build make", "test make test"]);
    let steps = stage_of(&both, StageKind::Test).steps;
    let steps: Vec<_> = steps.iter().map(|step| (step.name.as_str(), step.profile)).collect();
    assert_eq!(steps, [("build", Profile::Build), ("test", Profile::Test)]);
    // What is said of a language goes before what is said of all, and runs in its own folder.
    let python = OwnCommands { test_cmd: Some(words("tox -e py")), ..OwnCommands::default() };
    let ways = OwnWays { by_language: [("python".to_owned(), python)].into(), ..both };
    let api = Root { dir: RelPath::parse("api").unwrap(), plugin: PluginName("python".to_owned()), ..root() };
    assert_eq!(described(&ways, &api), ["syntax python compile", "build make", "test tox -e py"]);
    assert_eq!(described(&ways, &root()).last().unwrap(), "test make test");
    let placed = ways.test(&api).unwrap();
    assert_eq!((placed.folder.as_str(), ways.build(&api).unwrap().folder.as_str()), ("api", ""));
}

/// What a change of files asks consent for, and what of it is put back for the old tests.
fn asked(before: &[(&str, &str)], after: &[(&str, &str)]) -> (Vec<String>, Vec<(String, OldTestFile)>) {
    let (base, candidate) = (Map::of(before), Map::of(after));
    let pair = Pair { base: &base, candidate: &candidate };
    let inventory = perspt_lang::generic().structure(&pair, &Tools::new()).inventory;
    let support = inventory.support.iter().map(|one| format!("tests {}", one.path));
    let evidence = inventory.evidence.iter().map(|one| format!("evidence {}", one.path));
    let old = perspt_lang::generic().old_tests(&pair, &FromCandidate::default());
    (support.chain(evidence).collect(), old.into_iter().map(|(path, was)| (path.to_string(), was)).collect())
}

#[test]
fn existing_files_of_tests_and_builds_are_the_users_and_new_ones_are_free() {
    let before = [
        ("src/calc.c", "a"),
        ("tests/test_add.c", "a"),
        ("CalcTest.java", "a"),
        ("Makefile", "a"),
        ("latest.c", "a"),
        ("tests/README.md", "a"),
        ("tests/sums.txt", "a"),
        ("golden/sums.json", "a"),
        ("notes.txt", "a"),
        ("tests/test_a.py", "a"),
    ];
    let mut after = before.map(|(path, _)| (path, "b")).to_vec();
    let changed = [
        "tests CalcTest.java",
        "tests golden/sums.json",
        "tests tests/sums.txt",
        "tests tests/test_add.c",
        "evidence Makefile",
    ];
    let (asks, old) = asked(&before, &after);
    assert_eq!(asks, changed);
    assert!(old.len() == 5 && old.iter().all(|(_, was)| *was == OldTestFile::Base), "{old:?}");
    after = before.to_vec();
    after.extend([("tests/test_mul.c", "new"), ("src/mul.c", "new"), ("lib/Makefile", "new")]);
    assert_eq!(asked(&before, &after), (vec![], vec![]));
    after = before.to_vec();
    after.push(("GNUmakefile", "hides the other"));
    let hidden =
        (vec!["evidence GNUmakefile".to_owned()], vec![("GNUmakefile".to_owned(), OldTestFile::Absent)]);
    assert_eq!(asked(&before, &after), hidden);
    let moved: Vec<_> = before.iter().filter(|(path, _)| !path.ends_with("add.c")).copied().collect();
    assert_eq!(asked(&[("tests/test_add.c", "x")], &[]).0, ["tests tests/test_add.c"]);
    assert!(asked(&[("tests/test_add.c", "x")], &[("tests/unit/test_add.c", "x")]).0.is_empty());
    assert_eq!(asked(&before, &moved).0, [] as [&str; 0], "another file of tests has its text");
}

#[test]
fn a_planted_error_is_one_for_files_that_print_what_is_outside_their_marks() {
    let planted = |path: &str| error_in(&RelPath::parse(path).unwrap());
    assert!(planted("src/a.c").starts_with(")]}"));
    assert!(planted("index.php").starts_with("<?php\n)]}"));
    assert!(planted("view.erb").starts_with("<% )]}"));
}
