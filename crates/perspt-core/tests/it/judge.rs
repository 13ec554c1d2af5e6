//! The one judge, rule by rule: what counts, what is inherited, what only the user can permit, how much was proved.

use std::collections::BTreeSet;

use perspt_core::consent::{ConsentKind, Consents, Declared, Need, TestChange, TestDeclaration};
use perspt_core::contract::{Breach, PromiseFound, PromiseKind, PromiseReading};
use perspt_core::energy::Weights;
use perspt_core::event::{JudgementNote, StageResult};
use perspt_core::grade::{Grade, Require};
use perspt_core::inventory::{ChangedEvidence, ChangedSupport, ChangedTest, Fate, Inventory, TestId};
use perspt_core::judge::{
    Case, Declarations, Judgement, TEST_UNITS, Terms, Undeclared, brief_promises, judge, note,
    structure_stage,
};
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, Criticality, WeightedTest};
use perspt_core::reading::{Part, Reading, StageId, StageKind, Status, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Charge, Class, Component, Milli, Residual, Severity};
use perspt_core::stage::{Preset, StageRole};

use crate::support::*;

use TestEnd::{Failed, Passed, Skipped};

/// A candidate over `base`, in a root with packages `a` and `b`, of a node that touches `a/src/lib.rs`.
struct Trial {
    readings: Vec<Reading>,
    before: Vec<Reading>,
    old_tests: Vec<Reading>,
    shown: Vec<Reading>,
    promises: Vec<PromiseReading>,
    inventory: Inventory,
    contract: Contract,
    packages: Vec<RelPath>,
    files: BTreeSet<RelPath>,
    changed: BTreeSet<RelPath>,
    brings_tests: bool,
    require: Option<Require>,
    parsed: BTreeSet<RelPath>,
    declared: Declarations,
    consents: Consents,
    undeclared: Undeclared,
    red: Undeclared,
    preset: Preset,
}

impl Trial {
    fn of(readings: &[Reading], before: &[Reading]) -> Trial {
        Trial {
            readings: readings.to_vec(),
            before: before.to_vec(),
            old_tests: vec![],
            shown: vec![],
            promises: vec![],
            inventory: Inventory::default(),
            contract: Contract::default(),
            packages: vec![path("a"), path("b")],
            files: BTreeSet::from([path("a/src/lib.rs")]),
            changed: BTreeSet::from([path("a/src/lib.rs")]),
            brings_tests: false,
            require: None,
            parsed: BTreeSet::from([path(LIB)]),
            declared: Declarations::default(),
            consents: Consents::default(),
            undeclared: Undeclared::Tell,
            red: Undeclared::Tell,
            preset: Preset::Default,
        }
    }

    /// Without anything that perspt itself could parse.
    fn bare(readings: &[Reading]) -> Trial {
        Trial { parsed: BTreeSet::new(), ..Trial::of(readings, &[]) }
    }

    fn allowing(mut self, words: &[&str]) -> Trial {
        words.iter().for_each(|word| self.consents.add(grant(word)));
        self
    }

    fn having(mut self, inventory: Inventory) -> Trial {
        self.inventory = inventory;
        self
    }

    fn touching(mut self, files: &[&str]) -> Trial {
        self.files = files.iter().map(|file| path(file)).collect();
        self
    }

    fn declaring(mut self, file: &str, when: Declared) -> Trial {
        self.declared.tests.push((declaration(file), when));
        self
    }

    /// Judged with perspt's own look, which is always there.
    fn look<T>(&self, with: impl FnOnce(&Judgement, &Case<'_>, &Terms<'_>) -> T) -> T {
        let mut readings = vec![Reading {
            inventory: Some(self.inventory.clone()),
            promises: self.promises.clone(),
            looked: self.parsed.clone(),
            stage: structure_stage(),
            ..reading("now", StageKind::Structure, vec![], None)
        }];
        readings.extend(self.readings.clone());
        let required: Vec<StageId> = readings.iter().map(|one| one.stage.clone()).collect();
        readings.extend(self.shown.clone());
        let case = Case {
            tree: tree_id("now"),
            base: tree_id("base"),
            readings: &readings,
            before: &self.before,
            old_tests: &self.old_tests,
        };
        let terms = Terms {
            contract: &self.contract,
            packages: &self.packages,
            files: &self.files,
            changed: &self.changed,
            brings_tests: self.brings_tests,
            touched: &self.changed,
            require: self.require,
            declared: &self.declared,
            consents: &self.consents,
            undeclared: self.undeclared,
            red: self.red,
            required: &required,
            preset: self.preset,
            weights: &Weights::default(),
        };
        with(&judge(&case, &terms), &case, &terms)
    }

    fn judged(&self) -> Judgement {
        self.look(|judgement, _, _| judgement.clone())
    }

    fn noted(&self) -> JudgementNote {
        self.look(|judgement, case, terms| note(judgement, case, terms, blob("whole")))
    }

    /// What counts, by test or message.
    fn counted(&self) -> Vec<String> {
        let judgement = self.judged();
        let name = |residual: &Residual| residual.symbol.clone().unwrap_or_else(|| residual.message.clone());
        let mut names: Vec<String> = judgement.counted().map(name).collect();
        names.sort();
        names
    }

    fn classes(&self) -> Vec<Class> {
        self.judged().counted().map(|residual| residual.class).collect()
    }

    fn needs(&self) -> Vec<(ConsentKind, String)> {
        self.judged().needs.into_iter().map(|need| (need.kind, need.subject)).collect()
    }

    fn charges(&self) -> Vec<Charge> {
        self.judged().findings.into_iter().map(|finding| finding.residual.charge).collect()
    }
}

fn reading(on: &str, kind: StageKind, residuals: Vec<Residual>, tests: Option<Tests>) -> Reading {
    Reading {
        tree: tree_id(on),
        stage: stage(kind),
        tool: "a tool".to_owned(),
        status: Status::Measured,
        residuals,
        tests,
        inventory: None,
        promises: vec![],
        looked: BTreeSet::from([path(LIB)]),
        reach: Default::default(),
        parts: vec![],
        absent: BTreeSet::new(),
        regressed: false,
        only_prose: false,
        other_roots: BTreeSet::new(),
        command: None,
        notes: vec![],
    }
}

/// A run of tests in these files; those that fail say `said`.
fn run_saying(on: &str, said: &str, tests: &[(&str, &str, TestEnd)]) -> Reading {
    let mut residuals = vec![];
    let mut results = Tests::default();
    for (name, file, end) in tests {
        let message = if *end == Failed { said.to_owned() } else { String::new() };
        let result = TestResult { end: *end, file: Some(path(file)), message };
        results.results.insert(TestName((*name).to_owned()), result);
        if *end == Failed {
            let mut failed = Residual::error(Component::Log, Class::TestFailed, "cargo test", said);
            failed.score = Milli::units(TEST_UNITS);
            failed.symbol = Some((*name).to_owned());
            residuals.push(failed.in_file(Some(path(file))));
        }
    }
    reading(on, StageKind::Test, residuals, Some(results))
}

fn run(on: &str, tests: &[(&str, &str, TestEnd)]) -> Reading {
    run_saying(on, "it failed", tests)
}

fn found(on: &str, kind: StageKind, class: Class, errors: &[(&str, &str)]) -> Reading {
    let error = |(file, message): &(&str, &str)| {
        Residual::error(Component::Syn, class, "a tool", *message).in_file(Some(path(file)))
    };
    reading(on, kind, errors.iter().map(error).collect(), None)
}

fn build(on: &str, errors: &[(&str, &str)]) -> Reading {
    found(on, StageKind::Build, Class::CompileError, errors)
}

fn id(file: &str, name: &str) -> TestId {
    TestId { file: path(file), name: name.to_owned(), runner: name.to_owned() }
}

fn changed(file: &str, name: &str) -> ChangedTest {
    ChangedTest {
        id: id(file, name),
        fate: Fate::Changed,
        old: "assert 1".to_owned(),
        new: "assert 2".to_owned(),
        weaker: vec![],
    }
}

fn removed(file: &str, name: &str) -> ChangedTest {
    ChangedTest { fate: Fate::Removed, new: String::new(), ..changed(file, name) }
}

fn changing(tests: &[ChangedTest]) -> Inventory {
    Inventory { changed: tests.to_vec(), ..Inventory::default() }
}

fn named(name: &str, criticality: Criticality) -> Contract {
    let weighted_tests = vec![WeightedTest { name: name.to_owned(), criticality }];
    Contract { weighted_tests, ..Contract::default() }
}

fn one(judgement: &Judgement) -> &Need {
    assert_eq!(judgement.needs.len(), 1, "{:?}", judgement.needs);
    &judgement.needs[0]
}

fn is_stable(judgement: &Judgement) -> bool {
    judgement.energy.is_stable(&Weights::default())
}

#[test]
fn a_compiler_error_of_before_in_another_package_is_inherited_and_known_by_its_words() {
    let before = [build("base", &[("b/src/lib.rs", "no method on line 3"), ("a/src/lib.rs", "no type")])];
    let errors =
        [("b/src/lib.rs", "no method on line 9"), ("b/src/lib.rs", "no field"), ("a/src/lib.rs", "no type")];
    let trial = Trial::of(&[build("now", &errors)], &before);
    assert_eq!(trial.counted(), ["no field", "no type"]);
    assert!(matches!(trial.charges()[0], Charge::Inherited(_)));
}

#[test]
fn the_same_mistake_made_once_more_is_a_new_one() {
    let of = |on, errors| found(on, StageKind::Syntax, Class::SyntaxError, errors);
    let errors = [("b/src/lib.rs", "no method on line 3"), ("b/src/lib.rs", "no method on line 9")];
    // What was measured twice was still there once.
    let before = [of("base", &errors[..1]), of("base", &errors[..1])];
    let trial = Trial::of(&[of("now", &errors)], &before);
    assert_eq!(trial.counted(), ["no method on line 9"]);
}

#[test]
fn a_syntax_error_of_before_is_inherited_in_every_file_the_node_does_not_touch() {
    let of = |on, errors| found(on, StageKind::Syntax, Class::SyntaxError, errors);
    let errors = [("a/src/lib.rs", "mine"), ("a/src/other.rs", "not mine"), ("b/src/lib.rs", "foreign")];
    let before = [of("base", &errors)];
    assert_eq!(Trial::of(&[of("now", &errors)], &before).counted(), ["mine"]);
    let new = [("a/src/other.rs", "new")];
    assert_eq!(Trial::of(&[of("now", &new)], &before).counted(), ["new"]);
}

#[test]
fn where_nothing_was_measured_before_every_finding_counts() {
    let now = [build("now", &[("b/src/lib.rs", "x")])];
    assert_eq!(Trial::of(&now, &[]).counted(), ["x"]);
    let mut silent = build("base", &[("b/src/lib.rs", "x")]);
    silent.status = Status::Unavailable("why".to_owned());
    let counted = Trial::of(&now, &[silent]).counted();
    assert_eq!(counted, ["x"], "what did not look says nothing about what was there");
}

#[test]
fn where_no_package_is_known_every_finding_counts() {
    let before = [build("base", &[("b/src/lib.rs", "x"), ("c/src/lib.rs", "y")])];
    let now = [build("now", &[("b/src/lib.rs", "x"), ("c/src/lib.rs", "y")])];
    let mut trial = Trial::of(&now, &before);
    trial.packages.clear();
    assert_eq!(trial.counted(), ["x", "y"]);
    // A file outside every package, a finding without a file, a node without files: all count.
    assert_eq!(Trial::of(&now, &before).counted(), ["y"]);
    assert_eq!(Trial::of(&now, &before).touching(&[]).counted(), ["x", "y"]);
    let mut nowhere = build("base", &[("b/src/lib.rs", "x")]);
    nowhere.residuals[0].file = None;
    let now = Reading { tree: tree_id("now"), ..nowhere.clone() };
    assert_eq!(Trial::of(&[now], &[nowhere]).counted(), ["x"]);
}

#[test]
fn a_node_whose_files_lie_in_no_package_inherits_what_was_there() {
    let before = [build("base", &[("b/src/lib.rs", "x")])];
    let now = [build("now", &[("b/src/lib.rs", "x"), ("b/src/lib.rs", "new")])];
    assert_eq!(Trial::of(&now, &before).touching(&["docs/guide.md"]).counted(), ["new"]);
}

#[test]
fn a_file_belongs_to_the_deepest_package_that_holds_it() {
    let errors = [("b/src/lib.rs", "x"), ("b/c/src/lib.rs", "y"), ("bc/src/lib.rs", "z")];
    let mut trial = Trial::of(&[build("now", &errors)], &[build("base", &errors)]);
    trial.packages = vec![RelPath::root(), path("b"), path("b/c")];
    assert_eq!(trial.touching(&["b/c/src/lib.rs"]).counted(), ["y"]);
}

#[test]
fn what_a_node_of_this_session_has_mended_is_not_inherited_by_the_next() {
    let old = build("start", &[("b/src/lib.rs", "x")]);
    let mended = build("base", &[]);
    let again = [build("now", &[("b/src/lib.rs", "x")])];
    assert_eq!(Trial::of(&again, std::slice::from_ref(&old)).counted(), Vec::<String>::new());
    assert_eq!(Trial::of(&again, &[old, mended]).counted(), ["x"]);

    let old = run("start", &[("t", "b/t.rs", Failed)]);
    let mended = run("base", &[("t", "b/t.rs", Passed)]);
    let again = [run("now", &[("t", "b/t.rs", Failed)])];
    assert_eq!(Trial::of(&again, std::slice::from_ref(&old)).counted(), Vec::<String>::new());
    assert_eq!(Trial::of(&again, &[old, mended]).counted(), ["t"], "a new failure always counts");
}

#[test]
fn a_file_nobody_looks_at_is_charged_to_the_node_that_touched_it_or_hid_it() {
    let of = |on, files: &[(&str, &str)]| found(on, StageKind::Build, Class::UnmeasuredFile, files);
    let both = [("a/src/lib.rs", "mine"), ("a/src/old.rs", "not mine")];
    assert_eq!(Trial::of(&[of("now", &both)], &[of("base", &both)]).counted(), ["mine"]);
    // The base's tools saw it: the node took it out of their sight.
    assert_eq!(Trial::of(&[of("now", &both)], &[of("base", &[])]).counted(), ["mine", "not mine"]);
    // A base that does not build was not looked at as a whole, and one that was not measured not at all.
    let broken = build("base", &[("a/src/lib.rs", "no type")]);
    assert_eq!(Trial::of(&[of("now", &both)], &[broken]).counted(), ["mine"]);
    assert_eq!(Trial::of(&[of("now", &both)], &[]).counted(), ["mine"]);
}

#[test]
fn a_failure_of_before_in_another_package_is_inherited_whatever_it_says() {
    let before = [run_saying("base", "one", &[("old_b", "b/t.rs", Failed), ("fine_b", "b/t.rs", Passed)])];
    let tests = [("old_b", "b/t.rs", Failed), ("fine_b", "b/t.rs", Failed), ("new_b", "b/t.rs", Failed)];
    let trial = Trial::of(&[run_saying("now", "another", &tests)], &before);
    assert_eq!(trial.counted(), ["fine_b", "new_b"]);
    assert!(trial.needs().is_empty());
    let inherited = |charge: &&Charge| matches!(charge, Charge::Inherited(_));
    assert_eq!(trial.charges().iter().filter(inherited).count(), 1);
}

#[test]
fn a_failure_of_before_that_the_node_can_reach_counts_until_leaving_it_is_a_matter_of_consent() {
    let before = [run_saying("base", "left 3, right 4", &[("t::old", "a/t.rs", Failed)])];
    let now = [run_saying("now", "left 5, right 6", &[("t::old", "a/t.rs", Failed)])];
    let trial = || Trial::of(&now, &before);
    assert_eq!(trial().counted(), ["t::old"]);
    assert!(trial().needs().is_empty());
    let hint = trial().judged().counted().next().unwrap().hint.clone().unwrap();
    assert!(hint.contains("leaves_red"), "{hint}");

    let red = [(ConsentKind::Red, "t::old".to_owned())];
    let mut declared = trial();
    declared.declared.red.push(("old".to_owned(), Declared::Late));
    let mut asked = trial();
    asked.red = Undeclared::Ask;
    for (case, covered) in [(declared, false), (asked, false), (trial().allowing(&["red:old"]), true)] {
        assert!(case.counted().is_empty());
        assert_eq!(case.needs(), red);
        assert!(matches!(case.charges()[0], Charge::Consent(_)));
        assert!(is_stable(&case.judged()));
        assert_eq!(case.noted().missing_count, u32::from(!covered));
    }
    // A bare word covers only what was declared in time, so it does not even ask here.
    assert_eq!(trial().allowing(&["red"]).counted(), ["t::old"]);
}

#[test]
fn another_failure_than_before_counts_whatever_was_declared() {
    let before = [run_saying("base", "left 3, right 4", &[("old", "a/t.rs", Failed)])];
    let now = [run_saying("now", "no such function", &[("old", "a/t.rs", Failed)])];
    let mut trial = Trial::of(&now, &before).allowing(&["red:any"]);
    trial.declared.red.push(("old".to_owned(), Declared::InTime));
    trial.red = Undeclared::Ask;
    assert_eq!(trial.counted(), ["old"]);
    assert!(trial.needs().is_empty());
}

#[test]
fn the_same_failure_is_told_by_its_words_without_digits_addresses_and_paths() {
    let same = |one: &str, other: &str| {
        let before = [run_saying("base", one, &[("old", "a/t.rs", Failed)])];
        let trial = Trial::of(&[run_saying("now", other, &[("old", "a/t.rs", Failed)])], &before);
        trial.allowing(&["red:any"]).counted().is_empty()
    };
    assert!(same("at 0x7f12 in /tmp/a/x.py line 10", "at 0x9e in /tmp/b/y.py line 22"));
    assert!(same("", ""));
    assert!(!same("KeyError: 'a'", "ValueError: 'a'"));
    assert!(!same("assert x == y", "assert x == z"));
}

#[test]
fn a_failure_of_before_is_noted_as_the_only_thing_that_is_left() {
    let before = [run("base", &[("old", "a/t.rs", Failed), ("fine", "a/t.rs", Passed)])];
    let only = [run("now", &[("old", "a/t.rs", Failed), ("fine", "a/t.rs", Passed)])];
    assert!(Trial::of(&only, &before).noted().only_red);
    let both = [run("now", &[("old", "a/t.rs", Failed), ("fine", "a/t.rs", Failed)])];
    assert!(!Trial::of(&both, &before).noted().only_red);
    assert!(!Trial::of(&before, &before).allowing(&["red:any"]).noted().only_red, "it is stable already");
    // An undeclared change beside it would be a matter of consent too.
    let trial = Trial::of(&only, &before).having(changing(&[changed("a/t.rs", "fine")]));
    assert!(trial.noted().only_red && trial.noted().told_undeclared);
}

#[test]
fn a_test_that_wavers_on_the_tree_before_is_shown_and_not_charged() {
    let once = run("base", &[("flaky", "a/t.rs", Passed), ("red", "a/t.rs", Failed)]);
    let twice = run("base", &[("flaky", "a/t.rs", Failed), ("red", "a/t.rs", Failed)]);
    let now = [run("now", &[("flaky", "a/t.rs", Failed), ("red", "a/t.rs", Failed)])];
    let trial = Trial::of(&now, &[once.clone(), twice.clone()]);
    assert_eq!(trial.counted(), ["red"]);
    assert!(trial.charges().iter().any(|charge| matches!(charge, Charge::Shown(_))));
    // Nor is it missed.
    let gone = [run("now", &[("red", "a/t.rs", Passed)])];
    assert!(Trial::of(&gone, &[once, twice]).counted().is_empty());
}

#[test]
fn a_test_that_passed_on_one_tree_and_failed_on_another_does_not_waver() {
    let before = [run("start", &[("t", "a/t.rs", Passed)]), run("base", &[("t", "a/t.rs", Failed)])];
    assert_eq!(Trial::of(&[run("now", &[("t", "a/t.rs", Failed)])], &before).counted(), ["t"]);
}

#[test]
fn a_test_that_ran_before_and_is_gone_or_skipped_counts_as_failing() {
    let ran = [("gone", "b/t.rs", Passed), ("hidden", "b/t.rs", Passed), ("red", "b/t.rs", Failed)];
    let now = [run("now", &[("hidden", "b/t.rs", Skipped), ("new", "b/t.rs", Passed)])];
    let trial = Trial::of(&now, &[run("base", &ran)]);
    assert_eq!(trial.counted(), ["gone", "hidden", "red"]);
    let judgement = trial.judged();
    for residual in judgement.counted() {
        assert_eq!((residual.severity, residual.score), (Severity::Error, Milli::units(TEST_UNITS)));
        assert_eq!(residual.component, Component::Log);
        assert_eq!(residual.file, Some(path("b/t.rs")));
    }
    assert_eq!(trial.classes(), [Class::TestMissing, Class::TestSkipped, Class::TestMissing]);
}

#[test]
fn a_test_that_was_skipped_before_may_stay_skipped_or_go() {
    let before = [run("base", &[("slow", "a/t.rs", Skipped), ("t", "a/t.rs", Passed)])];
    for now in [vec![("slow", "a/t.rs", Skipped), ("t", "a/t.rs", Passed)], vec![("t", "a/t.rs", Passed)]] {
        assert!(Trial::of(&[run("now", &now)], &before).counted().is_empty());
    }
}

#[test]
fn a_test_in_only_one_of_two_runs_of_the_base_is_not_missed() {
    let both = [
        run("base", &[("stays", "a/t.rs", Passed), ("comes", "a/t.rs", Passed)]),
        run("base", &[("stays", "a/t.rs", Passed), ("goes", "a/t.rs", Passed)]),
    ];
    let now = [run("now", &[("new", "a/t.rs", Passed)])];
    for before in [both.clone(), [both[1].clone(), both[0].clone()]] {
        assert_eq!(Trial::of(&now, &before).counted(), ["stays"]);
    }
}

#[test]
fn a_test_that_an_earlier_node_added_is_missed_too_and_one_it_removed_is_not() {
    let before = [
        run("start", &[("old", "a/t.rs", Passed), ("dropped", "a/t.rs", Passed)]),
        run("base", &[("old", "a/t.rs", Passed), ("new", "a/t.rs", Passed)]),
    ];
    assert_eq!(Trial::of(&[run("now", &[("old", "a/t.rs", Passed)])], &before).counted(), ["new"]);
}

#[test]
fn a_run_that_was_not_measured_misses_no_tests() {
    let before = [run("base", &[("t", "a/t.rs", Passed)])];
    let mut now = run("now", &[]);
    now.status = Status::NotRun("it does not compile".to_owned());
    let judgement = Trial::of(&[now], &before).judged();
    assert!(judgement.findings.is_empty() && judgement.energy.unmeasured == 1);
}

#[test]
fn as_many_cases_of_a_test_under_other_names_are_all_there_and_fewer_are_not() {
    let before = [run("base", &[("t[1]", "a/t.py", Passed), ("t[2]", "a/t.py", Passed)])];
    let other = [("t[3]", "a/t.py", Passed), ("t[4]", "a/t.py", Passed)];
    let with_old = |now: &[(&str, &str, TestEnd)]| {
        let mut trial = Trial::of(&[run("now", now)], &before);
        trial.old_tests = vec![run("old", &[("t[1]", "a/t.py", Passed), ("t[2]", "a/t.py", Passed)])];
        trial
    };
    assert!(with_old(&other).counted().is_empty());
    let more = [&other[..], &[("t[5]", "a/t.py", Passed)]].concat();
    assert!(with_old(&more).counted().is_empty());
    // Where nothing shows that the old cases still pass, they are missed.
    assert_eq!(Trial::of(&[run("now", &other)], &before).counted(), ["t[1]", "t[2]"]);
    assert_eq!(with_old(&other[..1]).counted(), ["t[1]", "t[2]"]);
    assert_eq!(Trial::of(&[run("now", &other[..1])], &before).counted(), ["t[1]", "t[2]"]);
    // A case that is skipped did not run, and cases of another test are none of this one.
    let skipped = [("t[3]", "a/t.py", Passed), ("t[4]", "a/t.py", Skipped)];
    assert_eq!(Trial::of(&[run("now", &skipped)], &before).counted(), ["t[1]", "t[2]"]);
    let others = [("u[3]", "a/t.py", Passed), ("u[4]", "a/t.py", Passed)];
    assert_eq!(Trial::of(&[run("now", &others)], &before).counted(), ["t[1]", "t[2]"]);
}

#[test]
fn what_the_candidate_removed_or_moved_by_its_text_is_not_lost() {
    let before = [run("base", &[("gone", "a/t.rs", Passed), ("moves", "a/t.rs", Passed)])];
    let moved = vec![(id("a/t.rs", "moves"), id("a/u.rs", "goes"))];
    let inventory = Inventory { moved, ..changing(&[removed("a/t.rs", "gone")]) };
    let now = [run("now", &[("goes", "a/u.rs", Passed)])];
    let trial = Trial::of(&now, &before).having(inventory.clone()).allowing(&["tests:any"]);
    assert!(trial.counted().is_empty());
    assert_eq!(trial.needs(), [(ConsentKind::Tests, "a/t.rs::gone".to_owned())], "a move needs no consent");
    // Without what the text says, both are lost.
    assert_eq!(Trial::of(&now, &before).counted(), ["gone", "moves"]);
    // A test that went where nothing runs it is lost, whatever its text.
    for now in
        [vec![("else", "a/u.rs", Passed)], vec![("else", "a/u.rs", Passed), ("goes", "a/u.rs", Skipped)]]
    {
        let now = [run("now", &now)];
        let trial = Trial::of(&now, &before).having(inventory.clone());
        assert!(trial.counted().contains(&"moves".to_owned()), "{:?}", trial.counted());
        let permitted = Trial::of(&now, &before).having(inventory.clone()).allowing(&["tests:any"]);
        assert!(permitted.counted().is_empty());
        assert!(permitted.needs().contains(&(ConsentKind::Tests, "a/t.rs::moves".to_owned())));
    }
}

#[test]
fn the_contract_weighs_the_tests_it_names() {
    let now = [run("now", &[("t::adds", "a/t.rs", Failed), ("t::other", "a/t.rs", Failed)])];
    let score = |criticality, name: &str| {
        let mut trial = Trial::of(&now, &[]);
        trial.contract = named(name, criticality);
        let judgement = trial.judged();
        let of = |residual: &&Residual| residual.symbol.as_deref() == Some("t::adds");
        judgement.counted().find(of).unwrap().score
    };
    assert_eq!(score(Criticality::Critical, "adds"), Milli::units(10));
    assert_eq!(score(Criticality::High, "t::adds"), Milli::units(3));
    assert_eq!(score(Criticality::Low, "t.adds"), Milli::units(1));
    assert_eq!(score(Criticality::Critical, "dds"), Milli::units(TEST_UNITS));
}

#[test]
fn a_named_test_that_is_not_there_or_skipped_fails_at_its_weight() {
    for (tests, class) in [
        (vec![("t::other", "a/t.rs", Passed)], Some(Class::TestMissing)),
        (vec![("t::adds", "a/t.rs", Skipped), ("t::other", "a/t.rs", Passed)], Some(Class::TestSkipped)),
        (vec![("t::adds", "a/t.rs", Passed)], None),
    ] {
        let mut trial = Trial::of(&[run("now", &tests)], &[]);
        trial.contract = named("adds", Criticality::Critical);
        assert_eq!(trial.classes(), class.into_iter().collect::<Vec<_>>());
        assert_eq!(trial.judged().energy.scores.log, Milli::units(class.map_or(0, |_| 10)));
    }
}

#[test]
fn what_a_node_of_two_roots_brings_may_lie_in_either() {
    let elsewhere = |tests: &[(&str, &str, TestEnd)]| Reading {
        stage: root("b", "python").stage(StageKind::Test),
        ..run("now", tests)
    };
    let mut trial = Trial::of(&[elsewhere(&[]), run("now", &[("adds", "a/t.rs", Passed)])], &[]);
    trial.contract = named("adds", Criticality::High);
    trial.brings_tests = true;
    assert!(trial.counted().is_empty(), "{:?}", trial.counted());
    trial.readings = vec![elsewhere(&[]), run("now", &[])];
    assert_eq!(trial.classes(), [Class::NoTests, Class::NoTests, Class::TestMissing]);
    // Where one of them had tests, they are to go on running there.
    trial.readings = vec![elsewhere(&[]), run("now", &[("adds", "a/t.rs", Passed)])];
    let before = elsewhere(&[("old", "b/t.py", Skipped), ("t", "b/t.py", Passed)]);
    trial.before = vec![Reading { tree: tree_id("base"), ..before }];
    assert_eq!(trial.classes(), [Class::TestMissing, Class::NoTests]);
}

#[test]
fn a_project_without_tests_is_no_finding_and_a_run_of_none_where_some_are_expected_is() {
    let none = [run("now", &[])];
    let skipped = [run("now", &[("slow", "a/t.rs", Skipped)])];
    assert!(Trial::of(&none, &[]).counted().is_empty());
    assert!(Trial::of(&none, &[run("base", &[])]).counted().is_empty());
    for now in [&none, &skipped] {
        let mut brings = Trial::of(now, &[]);
        brings.brings_tests = true;
        let added = Inventory { added: vec![id("a/t.rs", "new")], ..Inventory::default() };
        for trial in [brings, Trial::of(now, &[]).having(added)] {
            assert_eq!(trial.classes(), [Class::NoTests]);
        }
    }
    let before = [run("base", &[("t", "a/t.rs", Passed)])];
    assert_eq!(Trial::of(&none, &before).classes(), [Class::TestMissing, Class::NoTests]);
}

#[test]
fn where_the_last_test_goes_with_a_consent_none_is_expected_any_more() {
    let before = [run("base", &[("t", "a/t.rs", Passed), ("slow", "a/t.rs", Skipped)])];
    let now = [run("now", &[("slow", "a/t.rs", Skipped)])];
    let trial = || Trial::of(&now, &before).having(changing(&[removed("a/t.rs", "t")]));
    assert!(trial().allowing(&["tests:any"]).counted().is_empty());
    assert_eq!(trial().classes(), [Class::UndeclaredChange]);
    // A test that is still there by its text is expected to run.
    let kept = Trial::of(&now, &before).having(changing(&[changed("a/t.rs", "t")])).allowing(&["tests:any"]);
    assert_eq!(kept.classes(), [Class::NoTests]);
}

#[test]
fn a_changed_test_is_a_need_that_says_what_is_weaker_and_what_the_old_one_says() {
    let before = [run("base", &[("t", "a/t.rs", Passed)])];
    let now = [run("now", &[("t", "a/t.rs", Passed)])];
    for (old, said) in [
        (Some(Passed), Some("as it was, it passes over the new code too")),
        (Some(Failed), Some("as it was, it fails over the new code")),
        (Some(Skipped), Some("as it was, it is skipped over the new code")),
        (None, None),
    ] {
        let weaker = vec!["3 assertions before, 1 now".to_owned()];
        let test = ChangedTest { weaker: weaker.clone(), ..changed("a/t.rs", "t") };
        let mut trial =
            Trial::of(&now, &before).having(changing(&[test])).declaring("a/t.rs", Declared::InTime);
        trial.old_tests = old.map(|end| run("old", &[("t", "a/t.rs", end)])).into_iter().collect();
        let judgement = trial.judged();
        let need = one(&judgement);
        assert_eq!((need.kind, need.subject.as_str()), (ConsentKind::Tests, "a/t.rs::t"));
        assert_eq!((&need.weaker, need.declared), (&weaker, Declared::InTime));
        assert_eq!(need.notes.first().map(String::as_str), said);
        assert_eq!(need.test, Some(id("a/t.rs", "t")));
        assert!(is_stable(&judgement), "a need is outside the energy");
        assert_eq!((trial.noted().missing_count, trial.noted().tests_changed), (1, 1));
    }
    let trial = Trial::of(&now, &before).having(changing(&[removed("a/t.rs", "t")]));
    let judgement = trial.declaring("a/t.rs", Declared::InTime).judged();
    assert!(one(&judgement).why.contains("removed"));
}

#[test]
fn a_declared_update_does_not_cover_a_removal() {
    let before = [run("base", &[("t", "a/t.rs", Passed), ("u", "a/t.rs", Passed)])];
    let now = [run("now", &[("u", "a/t.rs", Passed)])];
    let gone = |change: TestChange, named: Option<&str>| {
        let mut trial = Trial::of(&now, &before).having(changing(&[removed("a/t.rs", "t")]));
        let test = named.map(str::to_owned);
        let declared = TestDeclaration { change, test, ..declaration("a/t.rs") };
        trial.declared.tests.push((declared, Declared::InTime));
        trial
    };
    assert_eq!(gone(TestChange::Update, Some("t")).classes(), [Class::UndeclaredChange]);
    let asked = gone(TestChange::Update, Some("t")).allowing(&["tests:any"]).judged();
    assert_eq!(one(&asked).declared, Declared::No);
    for change in [TestChange::Remove, TestChange::Rename, TestChange::Move] {
        assert_eq!(one(&gone(change, Some("t")).judged()).declared, Declared::InTime);
    }
    assert_eq!(one(&gone(TestChange::Update, None).judged()).declared, Declared::InTime);
}

#[test]
fn what_nobody_declared_is_told_as_a_finding_first_and_asked_about_then() {
    let now = [run("now", &[("t", "a/t.rs", Passed)])];
    let evidence = ChangedEvidence {
        path: path("build.rs"),
        what: "a build script".to_owned(),
        settled_by_results: false,
    };
    let inventory = Inventory { evidence: vec![evidence], ..changing(&[changed("a/t.rs", "t")]) };
    let trial = || Trial::of(&now, &[]).having(inventory.clone());
    let told = trial();
    assert_eq!(told.classes(), [Class::UndeclaredChange, Class::UndeclaredChange]);
    assert_eq!(told.counted(), ["a/t.rs::t", "build.rs"]);
    assert!(told.needs().is_empty() && told.noted().told_undeclared && !is_stable(&told.judged()));
    let judgement = told.judged();
    assert!(judgement.findings.iter().all(|finding| finding.stage == structure_stage()));
    assert!(judgement.counted().all(|one| one.hint.as_ref().unwrap().contains("changes_tests")));

    let mut asked = trial();
    asked.undeclared = Undeclared::Ask;
    assert!(asked.counted().is_empty() && !asked.noted().told_undeclared);
    assert_eq!((asked.needs().len(), asked.noted().missing_count), (2, 2));

    let covered = trial().allowing(&["tests:any", "evidence:build.rs"]);
    assert!(covered.counted().is_empty(), "what is permitted is not told");
    assert_eq!((covered.needs().len(), covered.noted().missing_count), (2, 0));
    // A bare word does not reach what nobody declared; what was declared late is asked about at once.
    assert_eq!(trial().allowing(&["tests", "evidence"]).counted().len(), 2);
    let late = trial().declaring("a/t.rs", Declared::Late).declaring("build.rs", Declared::Late);
    assert_eq!((late.counted().len(), late.noted().missing_count), (0, 2));
}

#[test]
fn data_of_tests_is_settled_by_the_old_tests_and_a_helper_is_not() {
    let before = [run("base", &[("t", "a/t.rs", Passed)])];
    let now = [run("now", &[("t", "a/t.rs", Passed)])];
    let with = |file: &str, old: Option<TestEnd>| {
        let support = ChangedSupport { path: path(file), what: "it lost a line".to_owned() };
        let inventory = Inventory { support: vec![support], ..Inventory::default() };
        let mut trial = Trial::of(&now, &before).having(inventory).declaring(file, Declared::InTime);
        trial.old_tests = old.map(|end| run("old", &[("t", "a/t.rs", end)])).into_iter().collect();
        trial
    };
    assert!(with("a/data.json", Some(Passed)).needs().is_empty());
    for (file, old) in
        [("a/helper.rs", Some(Passed)), ("a/data.json", Some(Failed)), ("a/data.json", Some(Skipped))]
    {
        assert_eq!(with(file, old).needs(), [(ConsentKind::Tests, file.to_owned())], "{file} {old:?}");
    }
    // Where they could not be run nothing is settled, and that is said.
    let judgement = with("a/data.json", None).judged();
    assert!(one(&judgement).notes[0].contains("could not be run"));
    let mut silent = with("a/data.json", Some(Passed));
    silent.old_tests[0].status = Status::NotRun("it does not build".to_owned());
    assert_eq!(silent.needs().len(), 1);
    let judgement = with("a/data.json", Some(Failed)).judged();
    assert!(one(&judgement).notes[0].starts_with("1 unchanged test passes only with the new"));
}

#[test]
fn what_decides_how_tests_run_is_settled_by_results_only_where_results_can_settle_it() {
    let before = [run("base", &[("t", "a/t.py", Passed)])];
    let now = [run("now", &[("t", "a/t.py", Passed)])];
    let with = |settled_by_results: bool, old: TestEnd| {
        let what = "a fixture".to_owned();
        let evidence = ChangedEvidence { path: path("conftest.py"), what, settled_by_results };
        let inventory = Inventory { evidence: vec![evidence], ..Inventory::default() };
        let mut trial = Trial::of(&now, &before).having(inventory).declaring("conftest.py", Declared::InTime);
        trial.old_tests = vec![run("old", &[("t", "a/t.py", old)])];
        trial.needs()
    };
    let need = [(ConsentKind::Evidence, "conftest.py".to_owned())];
    assert!(with(true, Passed).is_empty());
    assert_eq!(with(true, Failed), need);
    assert_eq!(with(false, Passed), need);
}

#[test]
fn an_old_test_that_nothing_explains_is_a_need_of_its_own() {
    let tests = [("p::t::u", "a/t.py", Passed), ("p::v", "a/t.py", Passed), ("w", "a/w.py", Passed)];
    let (before, now) = ([run("base", &tests)], [run("now", &tests)]);
    let mut trial = Trial::of(&now, &before).having(changing(&[changed("a/t.py", "v")]));
    trial.undeclared = Undeclared::Ask;
    let mut old = run("old", &[("p::t::u", "a/t.py", Failed), ("p::v", "a/t.py", Failed)]);
    trial.old_tests = vec![old.clone()];
    let subject = |need: (ConsentKind, String)| need.1;
    let needs: Vec<String> = trial.needs().into_iter().map(subject).collect();
    assert_eq!(needs, ["a/t.py::v", "a/t.py::t::u", "a/w.py::w"], "failing and missing alike");
    // What fails with the candidate's own files is a finding, not this.
    trial.readings = vec![run("now", &[tests[0], tests[1], ("w", "a/w.py", Failed)])];
    assert_eq!(trial.needs().len(), 2);
    assert_eq!(trial.counted(), ["w"]);
    // With support that changed, that is the subject, and the tests are its note.
    trial.readings = now.to_vec();
    let support = ChangedSupport { path: path("a/helper.py"), what: "it changed".to_owned() };
    trial.inventory.support.push(support);
    let judgement = trial.judged();
    assert_eq!(judgement.needs.len(), 2);
    assert!(judgement.needs[1].notes[0].starts_with("2 unchanged tests pass only"));
    // So is one that failed before and passes only with the candidate's own test files.
    trial.inventory.support.clear();
    trial.before = vec![run("base", &[("p::t::u", "a/t.py", Failed), tests[1]])];
    old.tests.as_mut().unwrap().results.clear();
    trial.old_tests = vec![old];
    assert_eq!(trial.needs().len(), 2);
}

/// A reading that lists these files.
fn looking(reading: Reading, files: &[&str]) -> Reading {
    Reading { looked: files.iter().map(|file| path(file)).collect(), ..reading }
}

const LIB: &str = "a/src/lib.rs";

fn passing() -> Reading {
    run("now", &[("t", "a/t.rs", Passed)])
}

#[test]
fn code_that_no_tool_reads_needs_a_consent_and_has_no_grade() {
    let mut trial = Trial::bare(&[looking(passing(), &[LIB])]);
    trial.changed.insert(path("tools/run.sh"));
    let judgement = trial.judged();
    assert_eq!(trial.needs(), [(ConsentKind::Unmeasured, "tools/run.sh".to_owned())]);
    assert!(is_stable(&judgement), "it is asked about, never told");
    assert_eq!(judgement.grade, Grade::None);
    assert_eq!(judgement.below, ["no tool looked at it: tools/run.sh"]);
    assert_eq!(trial.noted().missing_count, 1);
    assert_eq!(trial.allowing(&["unmeasured"]).noted().missing_count, 0);
}

#[test]
fn a_grade_says_the_best_of_the_tools_that_read_the_file() {
    let parsed = looking(found("now", StageKind::Syntax, Class::SyntaxError, &[]), &[LIB]);
    let built = looking(build("now", &[]), &[LIB]);
    let tested = looking(passing(), &[LIB]);
    let untested = looking(run("now", &[("t", "a/t.rs", Skipped)]), &[LIB]);
    let elsewhere = looking(passing(), &["a/src/other.rs"]);
    let grade = |readings: &[Reading]| Trial::bare(readings).judged().grade;
    assert_eq!(grade(&[]), Grade::None);
    assert_eq!(grade(std::slice::from_ref(&parsed)), Grade::Syntax);
    assert_eq!(grade(&[parsed.clone(), built.clone()]), Grade::Build);
    assert_eq!(grade(&[parsed.clone(), built.clone(), untested]), Grade::Build);
    assert_eq!(grade(&[parsed.clone(), elsewhere]), Grade::Syntax);
    assert_eq!(grade(&[parsed.clone(), built.clone(), tested.clone()]), Grade::Tests);
    let mut silent = tested.clone();
    silent.status = Status::NotRun("why".to_owned());
    assert_eq!(grade(&[built.clone(), silent]), Grade::Build);
    let below = |readings: &[Reading]| Trial::bare(readings).judged().below;
    assert_eq!(below(&[parsed]), ["syntax only, no test loads it: a/src/lib.rs"]);
    assert_eq!(below(&[built]), ["built, no test loads it: a/src/lib.rs"]);
    assert!(below(&[tested]).is_empty());
    assert_eq!(below(&[]), ["no tool looked at it: a/src/lib.rs"]);
}

#[test]
fn a_users_own_command_has_a_grade_of_its_own_and_says_what_it_is_worth() {
    let own = |reading: Reading| Reading { command: Some("make test".to_owned()), ..reading };
    let by_exit_code = own(looking(reading("now", StageKind::Test, vec![], None), &[LIB]));
    let named = own(looking(passing(), &[LIB]));
    let none_passed = own(looking(run("now", &[("t", "a/t.rs", Skipped)]), &[LIB]));
    let judged = |readings: &[Reading]| {
        let judgement = Trial::bare(readings).judged();
        (judgement.grade, judgement.below)
    };
    let words = "judged by the exit code of `make test` alone: a/src/lib.rs";
    assert_eq!(judged(std::slice::from_ref(&by_exit_code)), (Grade::Command, vec![words.to_owned()]));
    let (grade, below) = judged(&[named]);
    assert_eq!(grade, Grade::Command, "which tests reach the file is not known");
    assert!(below[0].starts_with("`make test` notices errors in it; which of its tests"), "{below:?}");
    assert_eq!(judged(&[none_passed]).0, Grade::None);
    let parsed = looking(found("now", StageKind::Syntax, Class::SyntaxError, &[]), &[LIB]);
    assert_eq!(judged(&[parsed, by_exit_code.clone()]).0, Grade::Command);
    let built = looking(build("now", &[]), &[LIB]);
    let words = "built; judged by the exit code of `make test` alone: a/src/lib.rs";
    assert_eq!(judged(&[built, by_exit_code]), (Grade::Build, vec![words.to_owned()]));
}

#[test]
fn a_file_whose_errors_a_users_command_does_not_notice_waits() {
    let blind = Reading {
        command: Some("true".to_owned()),
        ..looking(reading("now", StageKind::Test, vec![], None), &[])
    };
    let trial = Trial::bare(&[blind]);
    let needs = trial.judged().needs;
    assert_eq!(trial.needs(), [(ConsentKind::Unmeasured, LIB.to_owned())]);
    assert_eq!(needs[0].why, "`true` does not notice an error in it, nor does any tool here");
}

#[test]
fn an_exit_code_is_asked_for_no_single_tests_but_old_ones_must_still_be_named() {
    let by_exit_code = Reading {
        command: Some("make test".to_owned()),
        ..looking(reading("now", StageKind::Test, vec![], None), &[LIB])
    };
    let mut trial = Trial::bare(std::slice::from_ref(&by_exit_code));
    trial.brings_tests = true;
    trial.contract.weighted_tests =
        vec![WeightedTest { name: "adds".to_owned(), criticality: Criticality::High }];
    assert_eq!(trial.classes(), []);
    trial.before =
        vec![Reading { command: by_exit_code.command.clone(), ..run("base", &[("t", "a/t.rs", Passed)]) }];
    assert_eq!(trial.classes(), [Class::TestMissing]);
}

#[test]
fn a_commit_has_the_lowest_grade_of_its_files_and_their_parts() {
    let mut trial = Trial::of(&[looking(passing(), &[LIB]), looking(build("now", &[]), &["b/x.rs"])], &[]);
    trial.changed.insert(path("b/x.rs"));
    assert_eq!(trial.judged().grade, Grade::Build);
    let part = |grade, lines, why: &str| Part { file: path(LIB), lines, grade, why: why.to_owned() };
    let mut reading = looking(passing(), &[LIB]);
    reading.parts =
        vec![part(Grade::Syntax, (10, 14), "cfg(windows)"), part(Grade::Build, (3, 3), "feature x")];
    let judgement = Trial::bare(&[reading]).judged();
    assert_eq!(judgement.grade, Grade::Syntax);
    assert_eq!(
        judgement.below,
        [
            "not compiled here: a/src/lib.rs:10-14, cfg(windows)",
            "built, no test runs it: a/src/lib.rs:3, feature x"
        ]
    );
    assert_eq!(judgement.files[0].grade, Grade::Tests);
}

#[test]
fn a_stage_that_read_nothing_of_what_was_changed_is_not_concerned_unless_it_is_red() {
    let results = |reading: Reading, changed: &[&str]| {
        let mut trial = Trial::bare(&[reading]);
        trial.changed = changed.iter().map(|file| path(file)).collect();
        trial.judged().stages[1].result
    };
    assert_eq!(results(looking(passing(), &[LIB]), &[LIB]), StageResult::Pass);
    assert_eq!(results(looking(passing(), &["b/x.rs"]), &[LIB]), StageResult::NotConcerned);
    assert_eq!(
        results(looking(passing(), &[]), &["data/x.json"]),
        StageResult::Pass,
        "it may be read at run time"
    );
    let red = run("now", &[("t", "a/t.rs", Failed)]);
    assert_eq!(results(looking(red, &[]), &[LIB]), StageResult::Fail(1));
}

#[test]
fn evidence_below_what_is_required_is_a_finding() {
    let requires = |require: Require, readings: &[Reading]| {
        let mut trial = Trial::bare(readings);
        trial.require = Some(require);
        trial.judged().counted().map(|residual| residual.class).collect::<Vec<_>>()
    };
    let (built, tested) = (looking(build("now", &[]), &[LIB]), looking(passing(), &[LIB]));
    let unmet = [Class::EvidenceTooLow];
    for (require, readings, found) in [
        (Require::Tests, &[built.clone(), tested.clone()][..], &[][..]),
        (Require::Tests, std::slice::from_ref(&built), &unmet),
        (Require::Types, std::slice::from_ref(&built), &[]),
        (Require::Types, std::slice::from_ref(&tested), &unmet),
        (Require::Build, std::slice::from_ref(&tested), &[]),
        (Require::Build, &[looking(build("now", &[]), &["b/x.rs"])], &unmet),
    ] {
        assert_eq!(requires(require, readings), found, "{require:?}");
    }
    let mut trial = Trial::bare(&[built]);
    trial.require = Some(Require::Tests);
    assert!(trial.noted().only_required && !is_stable(&trial.judged()));
}

#[test]
fn prose_and_data_alone_have_a_grade_of_their_own() {
    let mut trial = Trial::bare(&[]);
    trial.changed = BTreeSet::from([path("README.md"), path("docs/a.rst")]);
    assert_eq!((trial.judged().grade, trial.judged().below.len()), (Grade::Prose, 0));
    trial.changed.extend([path("config.toml"), path(".env.example"), path("app.cfg.dist")]);
    let judgement = trial.judged();
    assert_eq!(judgement.grade, Grade::Data);
    assert_eq!(judgement.below, ["not looked at: .env.example, app.cfg.dist, config.toml"]);
    trial.changed.insert(path("a/src/lib.rs"));
    assert_eq!(trial.judged().grade, Grade::None);
}

#[test]
fn each_required_stage_has_its_verdict() {
    let mut silent = build("now", &[]);
    silent.status = Status::Unavailable("why".to_owned());
    let mut trial = Trial::of(&[silent, run("now", &[("t", "a/t.rs", Failed)])], &[]);
    let results = |trial: &Trial| -> Vec<StageResult> {
        trial.judged().stages.into_iter().map(|verdict| verdict.result).collect()
    };
    let expected = [StageResult::Pass, StageResult::Unavailable, StageResult::Fail(1)];
    assert_eq!(results(&trial), expected);
    // What is inherited is no failure of the stage, and is counted beside it.
    trial = Trial::of(&[run("now", &[("t", "b/t.rs", Failed)])], &[run("base", &[("t", "b/t.rs", Failed)])]);
    assert_eq!(results(&trial), [StageResult::Pass, StageResult::Pass]);
    assert_eq!(trial.judged().stages[1].inherited, 1);
}

#[test]
fn a_shown_stage_has_its_verdict_and_changes_nothing_else() {
    let lint = || found("now", StageKind::Lint, Class::LintFinding, &[(LIB, "too long"), (LIB, "too wide")]);
    let mut silent = lint();
    silent.status = Status::Unavailable("why".to_owned());
    for (shown, result) in [(lint(), StageResult::Fail(2)), (silent, StageResult::Unavailable)] {
        for readings in [vec![build("now", &[]), run("now", &[("t", LIB, Passed)])], vec![]] {
            let without = Trial::bare(&readings).judged();
            let mut judged = Trial { shown: vec![shown.clone()], ..Trial::bare(&readings) }.judged();
            let last = judged.stages.pop().unwrap();
            assert_eq!((last.role, last.result), (StageRole::Shown, result));
            let its = judged.findings.split_off(without.findings.len());
            assert!(its.len() == 2 && its.iter().all(|one| matches!(one.residual.charge, Charge::Shown(_))));
            assert_eq!(judged, without, "neither energy nor grade nor needs");
        }
    }
}

#[test]
fn what_is_noted_of_many_needs_is_few_and_says_how_many() {
    let tests: Vec<ChangedTest> = (0..40).map(|at| changed("a/t.rs", &format!("t{at}"))).collect();
    let mut trial = Trial::of(&[], &[]).having(changing(&tests));
    trial.undeclared = Undeclared::Ask;
    let noted = trial.noted();
    assert_eq!((noted.missing.len(), noted.missing_count), (20, 40));
    let subjects: BTreeSet<String> = trial.needs().into_iter().map(|need| need.1).collect();
    assert!(noted.missing.iter().all(|need| subjects.contains(&need.subject)));
}

#[test]
fn the_same_findings_are_known_again_and_others_are_not() {
    let print =
        |message: &str| Trial::of(&[build("now", &[("a/src/lib.rs", message)])], &[]).judged().fingerprint();
    assert_eq!(print("no type on line 3"), print("no type on line 44"));
    assert_ne!(print("no type"), print("no field"));
}

/// Only the failure that a test wavers with is excused, and that is said.
#[test]
fn a_wavering_test_does_not_excuse_another_failure() {
    let passes = run("base", &[("t", "a/t.py", Passed)]);
    let wavers = run_saying("base", "assert 0.7 < 0.5", &[("t", "a/t.py", Failed)]);
    let now = |said: &str| run_saying("now", said, &[("t", "a/t.py", Failed)]);
    let trial = Trial::of(&[now("assert 0.9 < 0.5")], &[passes.clone(), wavers.clone()]);
    assert!(trial.counted().is_empty());
    let below = trial.judged().below;
    assert!(below.iter().any(|line| line.contains("wavers on the tree before too: t")), "{below:?}");
    let trial = Trial::of(&[now("NameError: nonsense")], &[passes, wavers]);
    assert_eq!(trial.counted(), ["t"]);
}

/// Where the runner says what a test leads to, an old failure that leads to nothing changed is nobody's business, as long
/// as it is the same one.
#[test]
fn an_old_failure_out_of_reach_is_inherited() {
    let leads_to = |file: &str, said: &str| {
        let mut reading = run_saying("now", said, &[("t", "a/t.py", Failed), ("u", "a/u.py", Passed)]);
        reading.reach.insert(path("a/t.py"), BTreeSet::from([path("a/t.py"), path(file)]));
        reading
    };
    let base = run_saying("base", "no", &[("t", "a/t.py", Failed), ("u", "a/u.py", Passed)]);
    let counted = |now: Reading| Trial::of(&[now], std::slice::from_ref(&base)).counted();
    assert!(counted(leads_to("a/src/other.rs", "no")).is_empty());
    assert_eq!(counted(leads_to("a/src/other.rs", "another")), ["t"]);
    assert_eq!(counted(leads_to(LIB, "no")), ["t"]);
    assert_eq!(
        counted(run_saying("now", "no", &[("t", "a/t.py", Failed)])).len(),
        2,
        "nothing is known of it"
    );
}

#[test]
fn in_the_strict_preset_a_new_warning_counts_as_an_error_and_an_old_one_is_inherited() {
    let warning = |message: &str| {
        Residual::warning(Component::Syn, Class::CompileWarning, "a tool", message).in_file(Some(path(LIB)))
    };
    let now = reading("now", StageKind::Build, vec![warning("unused"), warning("dead")], None);
    let before = reading("base", StageKind::Build, vec![warning("dead")], None);
    let mut trial = Trial::of(&[now], &[before]);
    assert_eq!(trial.counted(), Vec::<String>::new());
    assert_eq!(trial.judged().energy.errors, 0);
    trial.preset = Preset::Strict;
    assert_eq!(trial.counted(), ["unused"]);
    assert_eq!(trial.judged().energy.errors, 1);
    let inherited = Charge::Inherited("it was there before".to_owned());
    assert_eq!(trial.charges(), [Charge::Counted, inherited]);
}

#[test]
fn a_warning_about_no_file_of_the_tree_counts_in_no_preset() {
    let elsewhere = Residual::warning(Component::Boot, Class::CompileWarning, "a tool", "deprecated");
    let mut trial = Trial::of(&[reading("now", StageKind::Build, vec![elsewhere], None)], &[]);
    trial.preset = Preset::Strict;
    assert_eq!(trial.counted(), Vec::<String>::new());
}

fn promise(kind: PromiseKind, words: &str, found: PromiseFound) -> PromiseReading {
    PromiseReading { kind, promise: words.to_owned(), found }
}

fn breach(file: &str, line: Option<u32>) -> Vec<Breach> {
    vec![Breach {
        file: Some(path(file)),
        line,
        what: "it is otherwise".to_owned(),
        direction: "mend it".to_owned(),
    }]
}

#[test]
fn a_broken_promise_is_an_error_of_structure_that_names_its_place_and_a_direction() {
    let now = [build("now", &[])];
    for (kind, class) in [
        (PromiseKind::Signature, Class::Signature),
        (PromiseKind::ForbiddenPattern, Class::ForbiddenPattern),
        (PromiseKind::Invariant, Class::Invariant),
    ] {
        let mut trial = Trial::of(&now, &[]);
        assert!(trial.judged().energy.is_stable(&Weights::default()));
        let breaches = breach("a/src/lib.rs", Some(7));
        trial.promises = vec![promise(kind, "fn f()", PromiseFound::Broken { breaches })];
        let judged = trial.judged();
        assert!(!judged.energy.is_stable(&Weights::default()));
        assert_eq!(judged.energy.scores.str, Milli::ONE);
        let [finding] = &judged.findings[..] else { panic!("{:?}", judged.findings) };
        let residual = &finding.residual;
        assert_eq!(
            (residual.class, residual.component, residual.severity),
            (class, Component::Str, Severity::Error)
        );
        assert_eq!(
            (residual.file.clone(), residual.place.map(|place| place.line)),
            (Some(path("a/src/lib.rs")), Some(7))
        );
        assert_eq!((residual.symbol.as_deref(), residual.hint.as_deref()), (Some("fn f()"), Some("mend it")));
        assert_eq!(trial.noted().headlines, ["a/src/lib.rs:7: it is otherwise"]);
    }
}

#[test]
fn what_nobody_measured_of_a_contract_is_said_and_counts_neither_way() {
    let mut trial = Trial::of(&[build("now", &[])], &[]);
    trial.promises = vec![
        promise(
            PromiseKind::Invariant,
            "0 stays 0",
            PromiseFound::Unmeasured { why: "it is prose".to_owned() },
        ),
        promise(PromiseKind::Signature, "fn f()", PromiseFound::Kept),
        promise(
            PromiseKind::Invariant,
            "no `x`",
            PromiseFound::BrokenBefore { breaches: breach("a/src/lib.rs", Some(1)) },
        ),
    ];
    let judged = trial.judged();
    assert!(judged.energy.is_stable(&Weights::default()));
    assert_eq!(judged.unmeasured, ["0 stays 0 (it is prose)", "no `x` (it did not hold before)"]);
    assert_eq!(trial.noted().unmeasured, judged.unmeasured);
    let many: Vec<String> = (1..=5).map(|n| format!("{n}")).collect();
    assert_eq!(brief_promises(&many), ["1", "2", "and 3 more"]);
    assert_eq!(brief_promises(&many[..3]), ["1", "2", "3"]);
    assert_eq!(trial.charges(), [Charge::Inherited("it was there before".to_owned())]);
}
