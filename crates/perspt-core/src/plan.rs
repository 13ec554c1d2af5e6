//! A plan: the graph of nodes a task becomes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::consent::TestDeclaration;
use crate::contract::Check;
use crate::ids::NodeId;
use crate::path::RelPath;

/// What a node produces: a label for people and prompts. What a node may do does not follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskType {
    /// Code.
    #[default]
    Code,
    /// A command. Nothing is run on a plan's word: a task of commands alone is dropped.
    Command,
    /// Unit tests, possibly with the behaviour they pin down.
    UnitTest,
    /// Integration tests, possibly with the behaviour they pin down.
    IntegrationTest,
    /// A change of structure that keeps behaviour.
    Refactor,
    /// Prose.
    Documentation,
}

/// A node's role in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeClass {
    /// Declares exported signatures.
    Interface,
    /// Its own files, using its neighbours'.
    #[default]
    Implementation,
    /// The only class that may cross owners, by its `modifies` list.
    Integration,
}

/// How much a named test weighs when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criticality {
    /// Ten units.
    Critical,
    /// Three units.
    High,
    /// One unit.
    Low,
}

impl Criticality {
    /// The units a failing test of this criticality scores.
    pub fn units(self) -> u64 {
        match self {
            Criticality::Critical => 10,
            Criticality::High => 3,
            Criticality::Low => 1,
        }
    }
}

/// A test that the architect named, with its weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedTest {
    /// The test's name, or its last part.
    pub name: String,
    /// Its weight.
    pub criticality: Criticality,
}

/// What the architect promises of a node. Parts no tool can check are shown as unmeasured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contract {
    /// The signatures the node exports, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_signature: Option<String>,
    /// Statements that are to hold, in prose: no tool looks at them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<String>,
    /// Statements that are to hold, in forms that are checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Patterns that no line may match which the node writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forbidden_patterns: Vec<String>,
    /// Tests with weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weighted_tests: Vec<WeightedTest>,
}

/// Which files a node may write besides those it lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenScope {
    /// None: what is listed is all.
    #[default]
    Listed,
    /// Every source and manifest of its roots, existing or new, new tests, and prose; of existing tests those it
    /// declares to change.
    Open,
    /// As `Open`, but of code it writes one file, tests aside.
    OneFile,
}

impl OpenScope {
    /// Whether more than what is listed may be written.
    pub fn is_open(self) -> bool {
        self != OpenScope::Listed
    }
}

/// One node as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNode {
    /// A short name, unique in the plan.
    pub id: NodeId,
    /// What it is to achieve.
    pub goal: String,
    /// Files the model is to see.
    #[serde(default)]
    pub context_files: Vec<RelPath>,
    /// Files it owns.
    #[serde(default)]
    pub output_files: Vec<RelPath>,
    /// With an integration node: files of other owners it may change.
    #[serde(default)]
    pub modifies: Vec<RelPath>,
    /// Nodes that must be committed first.
    #[serde(default)]
    pub dependencies: Vec<NodeId>,
    /// What it produces.
    #[serde(default)]
    pub task_type: TaskType,
    /// Its role.
    #[serde(default)]
    pub node_class: NodeClass,
    /// Existing tests, and files that decide how tests run, that it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes_tests: Vec<TestDeclaration>,
    /// Tests that failed before and stay so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_red: Vec<String>,
    /// What is promised of it.
    #[serde(default)]
    pub contract: Contract,
    /// Open where no file is listed, and in the fallback graph.
    #[serde(default)]
    pub scope: OpenScope,
}

impl PlanNode {
    /// A node of which nothing is known but its name and its files.
    pub fn plain(id: &str, output_files: Vec<RelPath>) -> PlanNode {
        PlanNode {
            id: NodeId(id.to_owned()),
            goal: String::new(),
            context_files: vec![],
            output_files,
            modifies: vec![],
            dependencies: vec![],
            task_type: TaskType::default(),
            node_class: NodeClass::default(),
            changes_tests: vec![],
            leaves_red: vec![],
            contract: Contract::default(),
            scope: OpenScope::default(),
        }
    }
}

/// The nodes of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The nodes, in the order given.
    pub nodes: Vec<PlanNode>,
}

impl Plan {
    /// The owner of each file the plan produces.
    pub fn owners(&self) -> BTreeMap<&RelPath, &NodeId> {
        self.nodes
            .iter()
            .flat_map(|node| node.output_files.iter().map(move |file| (file, &node.id)))
            .collect()
    }

    /// One node.
    pub fn node(&self, id: &NodeId) -> Option<&PlanNode> {
        self.nodes.iter().find(|node| node.id == *id)
    }
}
