//! The architect's JSON.

use perspt_core::event::ParseState;
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, NodeClass, OpenScope, Plan, PlanNode, TaskType};
use serde::{Deserialize, Deserializer};

use crate::parse::{Payload, Read, read};

#[derive(Deserialize)]
struct PlanAnswer {
    tasks: Vec<TaskAnswer>,
}

/// What the architect may say of a task; words it adds of its own are passed over, and `null` says
/// nothing.
#[derive(Deserialize)]
struct TaskAnswer {
    id: String,
    goal: String,
    #[serde(default, deserialize_with = "or_default")]
    context_files: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    output_files: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    modifies: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    dependencies: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    task_type: TaskType,
    #[serde(default, deserialize_with = "or_default")]
    node_class: NodeClass,
    #[serde(default)]
    contract: Option<Contract>,
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads an answer as a plan. The plan is not validated yet; paths that name no file are diagnostics.
pub fn read_plan(text: &str) -> Result<(Plan, ParseState), (ParseState, Vec<String>)> {
    let Payload { json, state } = match read(text) {
        Read::Object(payload) => payload,
        Read::Nothing(state, why) => return Err((state, vec![why])),
    };
    let answer: PlanAnswer = serde_json::from_str(&json)
        .map_err(|error| (ParseState::SchemaInvalid, vec![format!("the JSON is not a plan: {error}")]))?;
    let mut faults = Vec::new();
    let nodes = answer.tasks.into_iter().map(|task| node(task, &mut faults)).collect();
    if faults.is_empty() {
        Ok((Plan { nodes }, state))
    } else {
        Err((ParseState::SemanticallyRejected, faults))
    }
}

fn node(task: TaskAnswer, faults: &mut Vec<String>) -> PlanNode {
    let mut paths = |words: &[String]| -> Vec<RelPath> {
        let mut out = Vec::new();
        for word in words {
            if word.ends_with('/') {
                faults.push(format!("task `{}`: `{word}` is a folder; name its files", task.id));
                continue;
            }
            match RelPath::parse(word) {
                Ok(path) if !out.contains(&path) => out.push(path),
                Ok(_) => {}
                Err(error) => faults.push(format!("task `{}`: {error}", task.id)),
            }
        }
        out
    };
    PlanNode {
        context_files: paths(&task.context_files),
        output_files: paths(&task.output_files),
        modifies: paths(&task.modifies),
        dependencies: task.dependencies.iter().map(|id| NodeId(id.trim().to_owned())).collect(),
        id: NodeId(task.id.trim().to_owned()),
        goal: task.goal.trim().to_owned(),
        task_type: task.task_type,
        node_class: task.node_class,
        changes_tests: vec![],
        leaves_red: vec![],
        contract: task.contract.unwrap_or_default(),
        scope: OpenScope::Listed,
    }
}
