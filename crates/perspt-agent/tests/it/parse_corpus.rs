//! Answers as models write them, a file each in `tests/corpus`. Above the line `----` a file says why it is there, what is
//! wanted, the result (the state and the finder, or `refused` and the state), a part of a line that is said, and the payload.

use std::collections::BTreeMap;
use std::path::Path;

use perspt_agent::parse::{Payload, Reading, Shape, Wanted, read};
use perspt_core::bundle::Bundle;
use serde_json::{Value, json};

struct Case {
    name: String,
    fields: BTreeMap<String, String>,
    answer: String,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let case = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let (head, answer) = text.split_once("----\n").unwrap();
        let field =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        Case {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            fields: head.lines().map(|line| field(line).unwrap()).collect(),
            answer: answer.to_owned(),
        }
    };
    paths.iter().map(case).collect()
}

fn wanted(word: &str) -> Wanted<'static> {
    Wanted::one_of(match word {
        "bundle" => &[Shape::Bundle],
        "plan" => &[Shape::Plan],
        "plan+bundle" => &[Shape::PlanWithBundle],
        "analysis" => &[Shape::Analysis],
        "any" => &[Shape::Bundle, Shape::ContextRequests, Shape::Replan],
        other => panic!("{other} is no shape"),
    })
}

fn as_json(payload: Payload) -> Value {
    match payload {
        Payload::Plan(plan) => plan,
        Payload::Bundle(bundle) => json!(bundle),
        Payload::PlanWithBundle { plan, bundle } => json!({"plan": plan, "bundle": bundle}),
        Payload::Analysis(analysis) => json!(analysis),
        Payload::ContextRequests(requests) => json!(requests),
        Payload::Replan(replan) => json!(replan),
    }
}

/// The expected payload, with every field of its bundle.
fn expected(text: &str, want: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let whole = |bundle: &Value| json!(serde_json::from_value::<Bundle>(bundle.clone()).unwrap());
    match want {
        "plan+bundle" if value.get("bundle").is_some() => {
            json!({"plan": value["plan"], "bundle": whole(&value["bundle"])})
        }
        "bundle" => whole(&value),
        _ => value,
    }
}

#[test]
fn every_answer_of_the_corpus_is_read_or_refused_as_its_head_says() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut wrong = Vec::new();
    for Case { name, fields, answer } in &cases {
        let (result, lines, payload) = match read(answer, &wanted(&fields["want"])) {
            Ok(Reading { payload, state, finder, recovered }) => {
                (format!("{state:?} {}", finder.as_str()), recovered, Some(as_json(payload)))
            }
            Err(rejection) => (format!("refused {:?}", rejection.state), rejection.lines, None),
        };
        let said = fields.get("says").is_none_or(|part| lines.iter().any(|line| line.contains(part)));
        let is_payload = payload == fields.get("payload").map(|text| expected(text, &fields["want"]));
        if result != fields["result"] || !said || !is_payload {
            wrong.push(format!("{name}: {result}\n  {lines:?}\n  {payload:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
