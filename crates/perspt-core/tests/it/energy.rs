//! Energy, and the proof that nothing else can make.

use std::collections::BTreeSet;

use perspt_core::consent::{Consents, Declared};
use perspt_core::energy::{
    Energy, NotProved, ReadingSummary, Scores, StabilityProof, TestCounts, Weights, prove,
};
use perspt_core::grade::Grade;
use perspt_core::inventory::{ChangedTest, Fate, Inventory, TestId};
use perspt_core::judge::{Case, Declarations, Finding, Terms, Undeclared, structure_stage};
use perspt_core::plan::Contract;
use perspt_core::reading::{Reading, StageId, StageKind, Status, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Charge, Class, Component, Milli, Position, Residual, Severity};
use perspt_core::stage::Preset;
use proptest::prelude::*;

use crate::support::*;

const COMPONENTS: [Component; 5] =
    [Component::Syn, Component::Str, Component::Log, Component::Boot, Component::Sheaf];

fn reading(kind: StageKind, residuals: Vec<Residual>) -> Reading {
    Reading {
        tree: tree_id("t"),
        stage: if kind == StageKind::Structure { structure_stage() } else { stage(kind) },
        tool: "a tool".to_owned(),
        status: Status::Measured,
        residuals,
        tests: None,
        inventory: None,
        promises: vec![],
        looked: BTreeSet::from([path("src/lib.rs")]),
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

fn error(component: Component) -> Residual {
    Residual::error(component, Class::CompileError, "a tool", "a message")
}

fn summary(reading: &Reading) -> ReadingSummary {
    ReadingSummary::of(reading, blob("r"))
}

fn energy_of(readings: &[Reading], required: &[StageId], weights: &Weights) -> Energy {
    let found = readings.iter().flat_map(|one| one.residuals.iter().map(|residual| (&one.stage, residual)));
    let findings: Vec<Finding> =
        found.map(|(stage, residual)| Finding { stage: stage.clone(), residual: residual.clone() }).collect();
    Energy::of_findings(&findings, readings, required, weights)
}

/// A candidate that changes one existing test, which its plan declares.
fn changes_a_test() -> Reading {
    let id = TestId { file: path("tests/a.rs"), name: "adds".to_owned(), runner: "a::adds".to_owned() };
    let test =
        ChangedTest { id, fate: Fate::Changed, old: "old".to_owned(), new: "new".to_owned(), weaker: vec![] };
    let inventory = Inventory { changed: vec![test], ..Inventory::default() };
    Reading { inventory: Some(inventory), ..reading(StageKind::Structure, vec![]) }
}

/// The proof of tree `t`, with these words of `--allow`.
fn proof(readings: &[Reading], required: &[StageId], allowed: &[&str]) -> Result<StabilityProof, NotProved> {
    let case = Case { tree: tree_id("t"), base: tree_id("base"), readings, before: &[], old_tests: &[] };
    let changed = BTreeSet::from([path("src/lib.rs")]);
    let declared = Declarations { tests: vec![(declaration("tests/a.rs"), Declared::InTime)], red: vec![] };
    let consents = Consents { grants: allowed.iter().map(|word| grant(word)).collect() };
    let terms = Terms {
        contract: &Contract::default(),
        packages: &[],
        files: &changed,
        changed: &changed,
        brings_tests: false,
        touched: &BTreeSet::new(),
        require: None,
        declared: &declared,
        consents: &consents,
        undeclared: Undeclared::Tell,
        red: Undeclared::Tell,
        required,
        preset: Preset::Default,
        weights: &Weights::default(),
    };
    prove(&case, &terms)
}

fn weights() -> impl Strategy<Value = Weights> {
    let milli = || prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>(), 0u64..5000].prop_map(Milli);
    (milli(), milli(), milli(), milli()).prop_map(|(alpha, beta, gamma, epsilon)| Weights {
        alpha,
        beta,
        gamma,
        epsilon,
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn one_error_keeps_a_node_unstable_whatever_the_weights(
        weights in weights(),
        component in 0usize..5,
        score in any::<u64>(),
        clean in 0usize..3,
    ) {
        let mut bad = error(COMPONENTS[component]);
        bad.score = Milli(score);
        let mut readings = vec![reading(StageKind::Build, vec![]); clean];
        readings.push(reading(StageKind::Build, vec![bad]));
        let energy = energy_of(&readings, &[stage(StageKind::Build)], &weights);
        prop_assert!(!energy.is_stable(&weights));
    }

    #[test]
    fn a_required_stage_that_did_not_look_is_never_stable(weights in weights(), how in 0usize..3) {
        let mut readings = vec![reading(StageKind::Build, vec![])];
        let mut silent = reading(StageKind::Test, vec![]);
        match how {
            0 => {}
            1 => {
                silent.status = Status::NotRun("why".to_owned());
                readings.push(silent);
            }
            _ => {
                silent.status = Status::Unavailable("why".to_owned());
                readings.push(silent);
            }
        }
        let required = [stage(StageKind::Build), stage(StageKind::Test)];
        let energy = energy_of(&readings, &required, &weights);
        prop_assert_eq!(energy.unmeasured, 1);
        prop_assert!(!energy.is_stable(&weights));
    }

    #[test]
    fn totals_are_never_more_than_can_be_written(weights in weights(), scores in prop::collection::vec(any::<u64>(), 0..6)) {
        let weighed = |(at, score): (usize, u64)| {
            let mut one = error(COMPONENTS[at % 5]);
            one.score = Milli(score);
            one
        };
        let residuals: Vec<Residual> = scores.into_iter().enumerate().map(weighed).collect();
        let more = [residuals.clone(), vec![error(Component::Syn)]].concat();
        let required = [stage(StageKind::Build)];
        let before = energy_of(&[reading(StageKind::Build, residuals)], &required, &weights);
        let after = energy_of(&[reading(StageKind::Build, more)], &required, &weights);
        prop_assert!(after.total >= before.total && after.errors == before.errors + 1);
        prop_assert!(after.rank() > before.rank());
    }
}

#[test]
fn totals_saturate() {
    let mut huge = error(Component::Syn);
    huge.score = Milli(u64::MAX);
    let build = reading(StageKind::Build, vec![huge.clone(), huge]);
    let energy = energy_of(&[build.clone(), build], &[], &Weights::default());
    assert_eq!((energy.scores.syn, energy.total), (Milli(u64::MAX), Milli(u64::MAX)));
    let all = TestCounts { passed: u32::MAX, failed: 1, skipped: 1 };
    assert_eq!(all.collected(), u32::MAX);
}

#[test]
fn the_total_is_the_weighted_sum() {
    let residuals = COMPONENTS.map(error).to_vec();
    let energy = energy_of(&[reading(StageKind::Build, residuals)], &[], &Weights::default());
    // 1·1 + 0.5·1 + 2·1 + 1 + 1
    assert_eq!(energy.total, Milli(5500));
    assert_eq!(energy.errors, 5);
    let none = Weights { alpha: Milli(0), beta: Milli(0), gamma: Milli(0), epsilon: Milli(0) };
    let energy = energy_of(&[reading(StageKind::Build, vec![error(Component::Syn)])], &[], &none);
    assert_eq!(energy.total, Milli(0));
    assert!(!energy.is_stable(&none));
}

#[test]
fn ten_errors_weigh_more_than_one() {
    let with = |count: usize| {
        let errors = vec![error(Component::Syn); count];
        energy_of(&[reading(StageKind::Build, errors)], &[stage(StageKind::Build)], &Weights::default())
    };
    assert!(with(10).total > with(1).total && with(10).rank() > with(1).rank());
}

#[test]
fn an_error_weighs_at_least_one_unit_and_what_is_only_shown_weighs_nothing() {
    let mut light = error(Component::Log);
    light.score = Milli(1);
    let mut inherited = error(Component::Syn);
    inherited.charge = Charge::Inherited("it was there".to_owned());
    let warning = Residual::warning(Component::Syn, Class::CompileWarning, "a tool", "unused");
    let seen = summary(&reading(StageKind::Build, vec![light, inherited, warning]));
    assert_eq!(seen.scores, Scores { log: Milli::ONE, ..Scores::default() });
    assert_eq!((seen.errors, seen.old_tests), (1, false));
    assert!(!seen.is_green());
}

#[test]
fn up_to_epsilon_a_node_is_stable() {
    let weights = Weights::default();
    let mut slight = error(Component::Syn);
    slight.severity = Severity::Warning;
    slight.score = Milli(100);
    let at = |residual: &Residual| {
        let build = reading(StageKind::Build, vec![residual.clone()]);
        energy_of(&[build], &[stage(StageKind::Build)], &weights)
    };
    assert!(at(&slight).is_stable(&weights));
    slight.score = Milli(101);
    assert!(!at(&slight).is_stable(&weights));
}

#[test]
fn what_could_be_looked_at_ranks_before_what_was_found() {
    let weights = Weights::default();
    let required = [stage(StageKind::Build), stage(StageKind::Test)];
    let broken = energy_of(&[reading(StageKind::Build, vec![error(Component::Syn)])], &required, &weights);
    let many = vec![error(Component::Log); 9];
    let further = [reading(StageKind::Build, vec![]), reading(StageKind::Test, many)];
    assert!(energy_of(&further, &required, &weights).rank() < broken.rank());
}

#[test]
fn a_proof_is_made_of_readings_of_that_tree_by_every_required_stage() {
    let own = reading(StageKind::Structure, vec![]);
    let build = reading(StageKind::Build, vec![]);
    let required = [structure_stage(), stage(StageKind::Build)];
    let both = [own.clone(), build.clone()];
    let proved = proof(&both, &required, &[]).unwrap();
    assert_eq!((proved.tree(), proved.judgement().grade), (tree_id("t"), Grade::Build));
    assert_eq!((proved.judgement().energy.total, proved.consents().len()), (Milli(0), 0));

    let mut stray = build.clone();
    stray.tree = tree_id("another");
    let refused = proof(&[own.clone(), stray.clone()], &required, &[]).unwrap_err();
    assert!(matches!(refused, NotProved::OtherTree { stage: "build", found, .. } if found == stray.tree));
    let mut stray = own.clone();
    stray.tree = tree_id("another");
    let refused = proof(&[stray, build.clone()], &required, &[]).unwrap_err();
    assert!(matches!(refused, NotProved::OtherTree { stage: "structure", .. }));

    let three = [structure_stage(), stage(StageKind::Build), stage(StageKind::Test)];
    let unstable =
        |unmeasured, errors, total| NotProved::Unstable { total: Milli(total), errors, unmeasured };
    assert_eq!(proof(&both, &three, &[]), Err(unstable(1, 0, 0)));
    let mut silent = reading(StageKind::Test, vec![]);
    silent.status = Status::Unavailable("why".to_owned());
    assert_eq!(proof(&[own.clone(), build.clone(), silent], &three, &[]), Err(unstable(1, 0, 0)));
    // The same stage of another root is another stage.
    let elsewhere = [structure_stage(), root("py", "rust").stage(StageKind::Build)];
    assert_eq!(proof(&both, &elsewhere, &[]), Err(unstable(1, 0, 0)));
    let bad = reading(StageKind::Build, vec![error(Component::Syn)]);
    assert_eq!(proof(&[own, bad], &required, &[]), Err(unstable(0, 1, 1000)));
}

#[test]
fn nothing_is_proved_without_perspts_own_look() {
    let build = reading(StageKind::Build, vec![]);
    let required = [stage(StageKind::Build)];
    assert_eq!(proof(&[build], &required, &[]), Err(NotProved::NoStructure));
    assert_eq!(proof(&[], &[], &[]), Err(NotProved::NoStructure));
    // A look that did not take place is none, where it is required as it always is.
    let mut silent = reading(StageKind::Structure, vec![]);
    silent.status = Status::NotRun("why".to_owned());
    assert!(matches!(proof(&[silent], &[structure_stage()], &[]), Err(NotProved::Unstable { .. })));
}

#[test]
fn a_proof_needs_every_consent_and_says_what_gave_it() {
    let readings = [changes_a_test()];
    let required = [structure_stage()];
    let refused = proof(&readings, &required, &["evidence", "red:any"]).unwrap_err();
    let NotProved::NoConsent { kind, subject } = refused else { panic!("{refused}") };
    assert_eq!((kind.as_str(), subject.as_str()), ("tests", "tests/a.rs::adds"));
    let proved = proof(&readings, &required, &["deps", "tests"]).unwrap();
    let given: Vec<_> =
        proved.consents().iter().map(|(need, grant)| (need.subject.as_str(), grant.to_string())).collect();
    assert_eq!(given, [("tests/a.rs::adds", "tests".to_owned())]);
    // An unstable candidate is refused for that, whatever is permitted.
    let mut worse = changes_a_test();
    worse.residuals.push(error(Component::Str));
    assert!(matches!(proof(&[worse], &required, &["tests:any"]), Err(NotProved::Unstable { .. })));
}

#[test]
fn a_summary_says_what_the_log_needs_and_no_more() {
    let mut tests = Tests::default();
    for (name, end) in [("a", TestEnd::Passed), ("b", TestEnd::Failed), ("c", TestEnd::Skipped)] {
        tests
            .results
            .insert(TestName(name.to_owned()), TestResult { end, file: None, message: String::new() });
    }
    let mut long = error(Component::Log).in_file(Some(path("src/lib.rs")));
    long.message = "é".repeat(500);
    long.place = Some(Position { line: 7, column: 0 });
    let mut run = reading(StageKind::Test, vec![long; 9]);
    run.tests = Some(tests);
    let seen = summary(&run);
    assert_eq!(seen.tests, Some(TestCounts { passed: 1, failed: 1, skipped: 1 }));
    assert_eq!(seen.headlines.len(), 4);
    assert!(seen.headlines[0].starts_with("src/lib.rs:7: é"));
    assert!(seen.headlines.iter().all(|line| line.chars().count() == 200));
}

#[test]
fn a_summary_says_whether_the_tests_as_they_were_must_be_run() {
    assert!(summary(&changes_a_test()).old_tests);
    let mut added = changes_a_test();
    let inventory = added.inventory.take().unwrap();
    let id = inventory.changed[0].id.clone();
    let moved = vec![(id.clone(), TestId { file: path("tests/b.rs"), ..id.clone() })];
    added.inventory = Some(Inventory { added: vec![id], moved, ..Inventory::default() });
    assert!(!summary(&added).old_tests);
}

#[test]
fn a_finding_is_known_again_on_another_line_and_in_any_order() {
    let finding = |message: &str, line: u32| {
        let mut one = error(Component::Syn);
        one.message = message.to_owned();
        one.place = Some(Position { line, column: 1 });
        one
    };
    let print = |residuals: Vec<Residual>| summary(&reading(StageKind::Build, residuals)).fingerprint;
    let first = print(vec![finding("line 10 is wrong", 10), finding("other", 1)]);
    assert_eq!(first, print(vec![finding("other", 5), finding("line 22 is wrong", 22)]));
    assert_ne!(first, print(vec![finding("line 10 is wrong", 10)]));
}

#[test]
fn the_component_that_weighs_most_is_named() {
    let weights = Weights::default();
    assert_eq!(Scores::default().largest(&weights), None);
    let scores = Scores { syn: Milli(1500), log: Milli(1000), ..Scores::default() };
    assert_eq!(scores.largest(&weights), Some(Component::Log));
    let none = Weights { alpha: Milli(0), beta: Milli(0), gamma: Milli(0), epsilon: Milli(0) };
    assert_eq!(scores.largest(&none), None);
}

#[test]
fn thousandths_are_shown_with_two_decimals_or_three() {
    for (milli, shown) in [(0, "0.00"), (100, "0.10"), (5500, "5.50"), (1001, "1.001"), (12_340, "12.34")] {
        assert_eq!(Milli(milli).to_string(), shown);
    }
    assert_eq!(Milli::units(3), Milli(3000));
    assert_eq!(Milli::units(u64::MAX), Milli(u64::MAX));
}
