//! The plan, as a person sees it before being asked about it.

use perspt_core::effect::{Effect, Question};
use perspt_core::event::{Event, RepoMode};
use perspt_core::ids::NodeId;
use perspt_core::plan::Contract;
use perspt_core::state::SessionState;
use perspt_lang::signature::promised;

use super::text::{languages_field, slug};
use crate::out::value;

/// Whether this process has shown the plan. One that takes a session up was not there when the plan was adopted, and
/// owes it to whoever is asked about it.
#[derive(Default)]
pub struct PlanShown(bool);

impl PlanShown {
    /// Whether the plan must be shown before this event is.
    pub fn is_owed(&mut self, event: &Event) -> bool {
        match event {
            Event::PlanAdopted { .. } => {
                self.0 = true;
                false
            }
            Event::EffectStarted { effect: Effect::Question { question: Question::Plan { .. } }, .. } => {
                !std::mem::replace(&mut self.0, true)
            }
            _ => false,
        }
    }
}

/// Shows the adopted plan: what it is, then a line a node.
pub fn plan_lines(state: &SessionState, print: fn(&str)) {
    let repo_mode = state.found.as_ref().map_or(RepoMode::Existing, |found| found.repo_mode);
    let source = state.planning.adopted.as_ref().map(|(_, _, source)| format!("{source:?}").to_lowercase());
    print(&format!(
        "PLAN plugins={} nodes={} repo_mode={} source={}",
        languages_field(state),
        state.order.len(),
        mode(repo_mode),
        source.unwrap_or_default()
    ));
    for (index, id) in state.order.iter().enumerate() {
        let Some(node) = state.nodes.get(id) else { continue };
        let listed: Vec<&str> =
            node.spec.output_files.iter().chain(&node.spec.modifies).map(|path| path.as_str()).collect();
        let open = if node.spec.scope.is_open() { "open," } else { "" };
        let files = format!("{open}{}", listed.join(","));
        let after: Vec<&str> = node.spec.dependencies.iter().map(NodeId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!(" after={}", after.join(",")) };
        let number = index + 1;
        print(&format!(
            "PLAN node[{number}]={id} type={} files={}{after} goal={}",
            slug(&node.spec.task_type),
            value(files.trim_end_matches(',')),
            value(&node.spec.goal)
        ));
        for declared in &node.spec.changes_tests {
            print(&format!(
                "PLAN node[{number}]={id} changes_tests={} change={} why={}",
                value(&declared.subject()),
                slug(&declared.change),
                value(&declared.why)
            ));
        }
        for promise in unmeasured(&node.spec.contract) {
            print(&format!("PLAN node[{number}]={id} unmeasured={}", value(&promise)));
        }
        if !node.spec.leaves_red.is_empty() {
            print(&format!("PLAN node[{number}]={id} leaves_red={}", value(&node.spec.leaves_red.join(","))));
        }
    }
}

/// What a contract promises in no form that can be checked.
fn unmeasured(contract: &Contract) -> Vec<String> {
    let signatures = contract.interface_signature.iter().flat_map(|text| promised(text));
    let prose = signatures.filter(|promise| !promise.is_signature()).map(|promise| promise.text);
    prose.chain(contract.invariants.iter().cloned()).collect()
}

/// Empty or not, in a word.
pub fn mode(repo_mode: RepoMode) -> &'static str {
    match repo_mode {
        RepoMode::Existing => "existing",
        RepoMode::Greenfield => "greenfield",
    }
}
