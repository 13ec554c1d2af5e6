//! The architect's JSON. Variants with only one meaning are accepted, and everything that is ignored gets a note.

use perspt_core::event::ParseState;
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, OpenScope, Plan, PlanNode, WeightedTest};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::checks;
use super::declared::{changes_tests, leaves_red};
use super::words::{cut, field, text, texts};
use crate::parse::{Payload, Reading, Shape, Wanted, is_task, read};

/// A plan as it was read, not settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRead {
    /// The plan.
    pub plan: Plan,
    /// How the answer was read.
    pub state: ParseState,
    /// What was corrected or ignored, a line each.
    pub notes: Vec<String>,
}

/// Reads an answer as a plan. Paths that lead out of the workspace are faults; everything else that is odd has a note.
pub fn read_plan(answer: &str) -> Result<PlanRead, (ParseState, Vec<String>)> {
    let not_a_plan = || vec!["the JSON is not a plan: it must be {\"tasks\": [...]}".to_owned()];
    match read(answer, &Wanted::one_of(&[Shape::Plan])) {
        Ok(Reading { payload: Payload::Plan(json), state, recovered, .. }) => {
            let mut read = plan_of(json, state)?;
            read.notes.splice(0..0, recovered);
            Ok(read)
        }
        Ok(_) => Err((ParseState::SchemaInvalid, not_a_plan())),
        Err(rejection) => Err((rejection.state, rejection.lines)),
    }
}

/// Reads a plan's JSON.
pub fn plan_of(json: Value, state: ParseState) -> Result<PlanRead, (ParseState, Vec<String>)> {
    let Some(tasks) = tasks_of(json) else {
        let why = "the JSON is not a plan: it must be {\"tasks\": [...]}".to_owned();
        return Err((ParseState::SchemaInvalid, vec![why]));
    };
    let mut reader = Reader { notes: Vec::new(), faults: Vec::new() };
    let nodes = tasks.iter().enumerate().filter_map(|(at, task)| reader.task(at + 1, task)).collect();
    let Reader { notes, faults } = reader;
    if faults.is_empty() {
        Ok(PlanRead { plan: Plan { nodes }, state, notes })
    } else {
        Err((ParseState::SemanticallyRejected, faults))
    }
}

/// The tasks of a plan, whatever object they are in.
fn tasks_of(json: Value) -> Option<Vec<Value>> {
    match json {
        Value::Array(tasks) => Some(tasks),
        Value::Object(mut object) => {
            let inner = ["tasks", "nodes", "plan"].iter().find_map(|name| object.remove(*name));
            match inner {
                Some(inner) => tasks_of(inner),
                None => Some(Value::Object(object)).filter(is_task).map(|task| vec![task]),
            }
        }
        _ => None,
    }
}

struct Reader {
    notes: Vec<String>,
    faults: Vec<String>,
}

impl Reader {
    fn task(&mut self, number: usize, task: &Value) -> Option<PlanNode> {
        let Some(fields) = task.as_object() else {
            self.faults.push(format!("task {number} is not an object with an id, a goal and output_files"));
            return None;
        };
        let id = text(field(fields, &["id", "name"])).unwrap_or_else(|| {
            self.notes.push(format!("task {number} has no id; it is called `task-{number}`"));
            format!("task-{number}")
        });
        let goal = text(field(fields, &["goal", "description"])).unwrap_or_else(|| {
            self.notes.push(format!("task `{id}` has no goal; its id stands for it"));
            id.clone()
        });
        Some(PlanNode {
            context_files: self.context(&id, field(fields, &["context_files"])),
            output_files: self.paths(&id, field(fields, &["output_files", "files"])),
            modifies: self.paths(&id, field(fields, &["modifies"])),
            dependencies: texts(field(fields, &["dependencies", "depends_on"]), &["id"])
                .into_iter()
                .map(NodeId)
                .collect(),
            task_type: self.word(&id, fields, "task_type"),
            node_class: self.word(&id, fields, "node_class"),
            changes_tests: changes_tests(&id, field(fields, &["changes_tests"]), &mut self.notes),
            leaves_red: leaves_red(field(fields, &["leaves_red"])),
            contract: self.contract(&id, field(fields, &["contract"])),
            scope: OpenScope::Listed,
            id: NodeId(id),
            goal,
        })
    }

    /// One of a few known words; any other gives the default.
    fn word<T: Default + DeserializeOwned>(
        &mut self,
        task: &str,
        fields: &Map<String, Value>,
        name: &str,
    ) -> T {
        let Some(value) = field(fields, &[name]) else { return T::default() };
        let word = text(Some(value)).unwrap_or_default();
        let plain = word.to_lowercase().replace(['-', ' '], "_");
        serde_json::from_value(Value::String(plain)).unwrap_or_else(|_| {
            let word = cut(&word, 60);
            self.notes.push(format!("task `{task}`: `{word}` is no {name}; the default is taken"));
            T::default()
        })
    }

    /// Files a task writes.
    fn paths(&mut self, task: &str, value: Option<&Value>) -> Vec<RelPath> {
        let mut out = Vec::new();
        for word in texts(value, &["path"]) {
            if is_folder(&word) {
                self.notes.push(format!("task `{task}`: `{word}` is a folder and is left out"));
                continue;
            }
            match RelPath::parse(&word) {
                Ok(path) if !out.contains(&path) => out.push(path),
                Ok(_) => {}
                Err(error) => self.faults.push(format!("task `{task}`: {error}")),
            }
        }
        out
    }

    /// Files a task reads. Entries that are no paths are left out.
    fn context(&mut self, task: &str, value: Option<&Value>) -> Vec<RelPath> {
        let mut out = Vec::new();
        for word in texts(value, &["path"]) {
            match RelPath::parse(&word) {
                Ok(path) if !is_folder(&word) => out.extend(Some(path).filter(|path| !out.contains(path))),
                Ok(_) | Err(_) => {
                    let word = cut(&word, 100);
                    self.notes.push(format!("task `{task}`: the context file `{word}` names no file here"));
                }
            }
        }
        out
    }

    fn contract(&mut self, task: &str, value: Option<&Value>) -> Contract {
        let Some(fields) = value.and_then(Value::as_object) else { return Contract::default() };
        let mut weighted_tests: Vec<WeightedTest> = Vec::new();
        let tests = field(fields, &["weighted_tests"]).and_then(Value::as_array);
        for test in tests.into_iter().flatten() {
            match serde_json::from_value(test.clone()) {
                Ok(test) => weighted_tests.push(test),
                Err(_) => self
                    .notes
                    .push(format!("task `{task}`: a weighted test without name or weight is left out")),
            }
        }
        let signatures =
            texts(field(fields, &["interface_signature", "interface_signatures"]), &["signature"]);
        let (checks, invariants) = checks::read(field(fields, &["invariants", "checks"]));
        Contract {
            interface_signature: Some(signatures.join("\n")).filter(|text| !text.is_empty()),
            invariants,
            checks,
            forbidden_patterns: texts(field(fields, &["forbidden_patterns"]), &["pattern"]),
            weighted_tests,
        }
    }
}

fn is_folder(word: &str) -> bool {
    word.ends_with('/') || matches!(word.rsplit('/').next(), Some("." | ".."))
}
