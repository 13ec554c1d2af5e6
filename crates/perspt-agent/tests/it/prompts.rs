//! Every prompt as a model sees it, with much to say and with nothing.

use perspt_agent::context::{ContextBudget, Focus, Request, assemble};
use perspt_agent::prompt::{ChangeForm, Evidence, ProjectEvidence, RetryEvidence, compile};
use perspt_core::effect::Intent;
use perspt_core::event::{RetryClass, RootRef};
use perspt_core::path::RelPath;
use perspt_core::plan::{OpenScope, PlanNode};
use perspt_core::reading::PluginName;
use perspt_policy::mask::Masks;

use crate::support::Memory;

const INTENTS: [Intent; 9] = [
    Intent::ArchitectExisting,
    Intent::ArchitectGreenfield,
    Intent::Generate,
    Intent::Correction,
    Intent::Retarget,
    Intent::Malformed,
    Intent::Analysis,
    Intent::SoloGenerate,
    Intent::SoloCorrection,
];

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn is_solo(intent: Intent) -> bool {
    matches!(intent, Intent::SoloGenerate | Intent::SoloCorrection)
}

/// A prompt over a small project, with all evidence there is.
fn rich(intent: Intent, form: ChangeForm) -> String {
    let files = Memory::new(&[
        ("shop/cart.py", "def total(items):\n    return sum(items)\n"),
        ("tests/test_cart.py", "from shop.cart import total\n"),
        ("pyproject.toml", "[project]\nname = \"shop\"\n"),
    ]);
    let task = "add a discount for members";
    let own = vec![path("shop/cart.py")];
    let focus = Focus::of_texts([task]);
    let request = Request { own: own.clone(), read: vec![path("pyproject.toml")], maybe: vec![], focus };
    let package = assemble(&request, &files, ContextBudget::default(), &Masks::default()).unwrap();
    let mut node = PlanNode::plain("discount", own.clone());
    node.goal = "Give members ten percent.".to_owned();
    node.scope = if is_solo(intent) { OpenScope::OneFile } else { OpenScope::Listed };
    let roots = [RootRef { dir: RelPath::root(), plugin: PluginName("python".to_owned()) }];
    let retry = RetryEvidence {
        class: Some(RetryClass::Malformed),
        reason: "no heading".to_owned(),
        violations: vec!["line 3: a block without a heading".to_owned()],
        answer: Some("```python\nx = 1\n```\n".to_owned()),
        answers_left: 4,
        corrections_left: 2,
        repeated: true,
        ..RetryEvidence::default()
    };
    let plans = matches!(intent, Intent::ArchitectExisting | Intent::ArchitectGreenfield);
    let evidence = Evidence {
        task,
        project: ProjectEvidence {
            roots: &roots,
            baseline: vec![],
            layout: vec!["Python projects have a folder of tests."],
            fragments: vec!["Look at the imports first."],
            plugins: vec![PluginName("python".to_owned())],
        },
        node: (!plans).then_some(&node),
        solo: is_solo(intent),
        package: &package,
        own: &own,
        served: vec![("shop/tax.py".to_owned(), "RATE = 7\n".to_owned())],
        analysis: vec!["total ignores its members".to_owned(), "do: pass the member on".to_owned()],
        retry: Some(retry),
        form,
        together: true,
    };
    whole(intent, &evidence)
}

/// The same with nothing known but the task.
fn bare(intent: Intent) -> String {
    let files = Memory::new(&[]);
    let package = assemble(&Request::default(), &files, ContextBudget::default(), &Masks::default()).unwrap();
    let project =
        ProjectEvidence { roots: &[], baseline: vec![], layout: vec![], fragments: vec![], plugins: vec![] };
    let evidence = Evidence {
        task: "say hello",
        project,
        node: None,
        solo: is_solo(intent),
        package: &package,
        own: &[],
        served: vec![],
        analysis: vec![],
        retry: None,
        form: ChangeForm::Blocks,
        together: false,
    };
    whole(intent, &evidence)
}

fn whole(intent: Intent, evidence: &Evidence<'_>) -> String {
    let compiled = compile(intent, 2, evidence, &[]);
    let (stable, changing) = compiled.body.split_at(compiled.stable);
    assert!(changing.starts_with("[perspt intent="), "the tag begins what changes");
    assert!(!compiled.head.contains("{{") && !compiled.body.contains("{{"), "every hole is filled");
    format!("--- head\n{}\n--- stable\n{stable}\n--- changing\n{changing}", compiled.head)
}

#[test]
fn every_prompt_reads_as_it_was_approved_with_rich_evidence() {
    for intent in INTENTS {
        insta::assert_snapshot!(format!("rich-{}", intent.slug()), rich(intent, ChangeForm::Blocks));
    }
}

#[test]
fn every_prompt_reads_as_it_was_approved_with_no_evidence() {
    for intent in INTENTS {
        insta::assert_snapshot!(format!("bare-{}", intent.slug()), bare(intent));
    }
}

#[test]
fn the_form_of_answers_is_the_one_that_the_model_is_to_use() {
    let json = rich(Intent::Generate, ChangeForm::Json);
    assert!(json.contains("exactly one JSON object") && !json.contains("### write"));
    let form = ChangeForm::Whole { paths: vec![path("shop/cart.py")], test: Some(path("tests/test_x.py")) };
    let small = rich(Intent::SoloGenerate, form);
    assert!(!small.contains("thermo"), "a small model copies examples, so it gets none");
    let (test, code) = (small.find("### write tests/test_x.py"), small.find("### write shop/cart.py"));
    assert!(test < code && test.is_some());
    assert!(!small.contains("requires_replan"), "nothing is offered that ends a node");
}

#[test]
fn a_small_model_sees_the_file_that_it_writes_again_last_and_one_form() {
    let own = [path("shop/cart.py"), path("tests/test_x.py")];
    let files = Memory::new(&[("shop/cart.py", "x = 1\n"), ("tests/test_x.py", "y = 1\n")]);
    let request = Request { own: own.to_vec(), ..Request::default() };
    let package = assemble(&request, &files, ContextBudget::default(), &Masks::default()).unwrap();
    let told = |paths: Vec<RelPath>| Evidence {
        task: "say hello",
        project: ProjectEvidence {
            roots: &[],
            baseline: vec![],
            layout: vec![],
            fragments: vec![],
            plugins: vec![],
        },
        node: None,
        solo: true,
        package: &package,
        own: &own,
        served: vec![],
        analysis: vec![],
        retry: Some(RetryEvidence { answers_left: 4, repeated: true, ..RetryEvidence::default() }),
        form: ChangeForm::Whole { paths, test: None },
        together: false,
    };
    for (asked, other) in [(&own[0], &own[1]), (&own[1], &own[0])] {
        for intent in [Intent::SoloCorrection, Intent::Malformed] {
            let prompt = compile(intent, 1, &told(vec![asked.clone()]), &[]).body;
            let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text} is missing: {prompt}"));
            assert!(at(&format!("{other} (")) < at(&format!("{asked} (")), "{prompt}");
            assert!(at(&format!("{asked} (")) < at("say hello") && at("say hello") < at("### write"));
            assert!(
                prompt.contains(&format!("### write {asked}"))
                    && !prompt.contains(&format!("### write {other}"))
            );
            assert!(!prompt.contains("answers and") && prompt.contains("write something else"));
        }
    }
}

#[test]
fn the_calls_for_a_node_begin_alike_up_to_the_tag() {
    let stable = |intent| rich(intent, ChangeForm::Blocks).split("--- changing").next().map(str::to_owned);
    assert_eq!(stable(Intent::Generate), stable(Intent::Correction));
    assert_eq!(stable(Intent::Generate), stable(Intent::Retarget));
}
