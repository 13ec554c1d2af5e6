//! The typed evidence that a prompt is compiled from, and the text of each piece.

use perspt_core::energy::ReadingSummary;
use perspt_core::event::{RetryClass, RootRef};
use perspt_core::path::RelPath;
use perspt_core::plan::PlanNode;
use perspt_core::reading::{PluginName, Status};
use perspt_core::residual::{Component, Residual};

use super::fence;
use crate::context::Package;

/// What is known of the project.
pub struct ProjectEvidence<'a> {
    /// Its language roots.
    pub roots: &'a [RootRef],
    /// How it measures now.
    pub baseline: Vec<&'a ReadingSummary>,
    /// How projects of its languages are laid out.
    pub layout: Vec<&'static str>,
    /// What usually goes wrong in them.
    pub fragments: Vec<&'static str>,
    /// The languages whose words these are.
    pub plugins: Vec<PluginName>,
}

/// Why the last answer was not good enough.
#[derive(Default)]
pub struct RetryEvidence {
    /// The kind of failure, of a node's answer.
    pub class: Option<RetryClass>,
    /// The reason in one line.
    pub reason: String,
    /// All faults.
    pub violations: Vec<String>,
    /// What the model said, where that helps.
    pub answer: Option<String>,
    /// The findings that count.
    pub findings: Vec<Residual>,
    /// Answers left.
    pub answers_left: u32,
    /// Corrections left.
    pub corrections_left: u32,
    /// Whether the same answer or findings came twice in a row.
    pub repeated: bool,
    /// Whether the last answer made it worse and was dropped.
    pub discarded: bool,
}

/// Everything a template may use.
pub struct Evidence<'a> {
    /// The task.
    pub task: &'a str,
    /// The project.
    pub project: ProjectEvidence<'a>,
    /// The node, for actuator prompts.
    pub node: Option<&'a PlanNode>,
    /// Files and listing.
    pub package: &'a Package,
    /// After a failure.
    pub retry: Option<RetryEvidence>,
}

const ANSWER_EXCERPT: usize = 6000;
const FINDINGS: usize = 40;

impl Evidence<'_> {
    /// The text of every hole.
    pub(super) fn holes(&self) -> Vec<(&'static str, String)> {
        let retry = self.retry.as_ref();
        let answer = retry.and_then(|retry| retry.answer.as_deref());
        vec![
            ("task", fence("the task", self.task)),
            ("roots", self.roots()),
            ("baseline", self.baseline()),
            ("layout", self.project.layout.join("\n")),
            ("fragment", self.project.fragments.join("\n")),
            ("listing", fence("file list", &self.package.listing)),
            ("files", self.files()),
            ("node", self.node.map(node_text).unwrap_or_default()),
            ("retry", retry.map(retry_text).unwrap_or_default()),
            ("findings", retry.map(found).unwrap_or_default()),
            ("violations", retry.map(|retry| bullets(&retry.violations)).unwrap_or_default()),
            ("answer", answer.map(|answer| fence("your answer", excerpt(answer))).unwrap_or_default()),
            ("diagnostics", retry.map(diagnostics).unwrap_or_default()),
        ]
    }

    fn roots(&self) -> String {
        let lines: Vec<String> =
            self.project.roots.iter().map(|root| format!("- {} in `{}`", root.plugin, root.dir)).collect();
        lines.join("\n")
    }

    fn baseline(&self) -> String {
        if self.project.baseline.is_empty() {
            return "- not measured: there is nothing to run yet".to_owned();
        }
        let mut lines = Vec::new();
        for reading in &self.project.baseline {
            let what = match (&reading.status, &reading.tests) {
                (Status::Measured, Some(tests)) => {
                    format!("{} passed, {} failed, {} skipped", tests.passed, tests.failed, tests.skipped)
                }
                (Status::Measured, None) if reading.errors == 0 => "clean".to_owned(),
                (Status::Measured, None) => format!("{} errors", reading.errors),
                (Status::NotRun(why) | Status::Unavailable(why), _) => format!("not measured ({why})"),
            };
            lines.push(format!("- {} in `{}`: {what}", reading.tool, reading.stage.root));
            lines.extend(reading.headlines.iter().map(|line| format!("    {line}")));
        }
        fence("measurements", &lines.join("\n"))
    }

    fn files(&self) -> String {
        let mut out: Vec<String> = self
            .package
            .files
            .iter()
            .map(|file| fence(&format!("{} ({})", file.path, file.why), &file.text))
            .collect();
        out.extend(self.package.degraded.iter().map(|line| format!("(not shown: {line})")));
        out.join("\n\n")
    }
}

fn node_text(node: &PlanNode) -> String {
    let list = |paths: &[RelPath]| paths.iter().map(RelPath::as_str).collect::<Vec<_>>().join(", ");
    let mut lines = vec![
        format!("Node: {}", node.id),
        format!("Goal: {}", node.goal),
        format!("Type: {:?}, class: {:?}", node.task_type, node.node_class),
    ];
    if node.scope.is_open() {
        lines.push(
            "It may write: any source or manifest of the project, existing or new, new test files, and prose; \
             no existing test"
                .to_owned(),
        );
    }
    if !node.output_files.is_empty() {
        lines.push(format!("Its own files: {}", list(&node.output_files)));
    }
    if !node.modifies.is_empty() {
        lines.push(format!("Files of others it may change: {}", list(&node.modifies)));
    }
    for declared in &node.changes_tests {
        let why = if declared.why.is_empty() { String::new() } else { format!(": {}", declared.why) };
        lines.push(format!("The plan says that it changes this test: {}{why}", declared.subject()));
    }
    if !node.leaves_red.is_empty() {
        lines.push(format!("Tests that failed before and stay so: {}", node.leaves_red.join(", ")));
    }
    let contract = &node.contract;
    if let Some(signature) = &contract.interface_signature {
        lines.push(format!("It must export: {signature}"));
    }
    lines.extend(contract.invariants.iter().map(|invariant| format!("It must hold that: {invariant}")));
    lines.extend(
        contract
            .forbidden_patterns
            .iter()
            .map(|pattern| format!("Its files must not hold the text: {pattern}")),
    );
    lines.extend(
        contract.weighted_tests.iter().map(|test| format!("A test of this name must pass: {}", test.name)),
    );
    lines.join("\n")
}

fn retry_text(retry: &RetryEvidence) -> String {
    let mut lines = vec![format!(
        "{} answers and {} corrections are left for this node.",
        retry.answers_left, retry.corrections_left
    )];
    if retry.discarded {
        lines.push(format!(
            "Your last answer was no better than the one before ({}), so it was dropped; the files below are the best state so far.",
            retry.reason
        ));
    }
    if retry.repeated {
        lines.push(
            "The same answer or the same findings have now come twice in a row. A third time ends this node: \
             do something different."
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn diagnostics(retry: &RetryEvidence) -> String {
    if retry.violations.is_empty() {
        return String::new();
    }
    let answer =
        retry.answer.as_deref().map(|answer| fence("your answer", excerpt(answer))).unwrap_or_default();
    format!(
        "Your last answer was not a usable plan. Mend this and answer with the whole plan again:\n{}\n\n{answer}",
        bullets(&retry.violations)
    )
}

fn bullets(lines: &[String]) -> String {
    fence("findings", &lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"))
}

fn excerpt(text: &str) -> &str {
    let mut end = text.len().min(ANSWER_EXCERPT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Why the last answer was refused: findings, or the user's words.
fn found(retry: &RetryEvidence) -> String {
    if retry.findings.is_empty() { bullets(&retry.violations) } else { findings(&retry.findings) }
}

/// Counted residuals by component, each with place, message, evidence and hint.
fn findings(counted: &[Residual]) -> String {
    let mut out = Vec::new();
    for (component, title) in [
        (Component::Boot, "Could not be started or ended early (V_boot)"),
        (Component::Syn, "Compiler and parser errors (V_syn)"),
        (Component::Str, "Structure: ownership, tests, evidence rules (V_str)"),
        (Component::Log, "Failing tests (V_log)"),
        (Component::Sheaf, "Between nodes (V_sheaf)"),
    ] {
        let of_component: Vec<&Residual> =
            counted.iter().filter(|residual| residual.component == component).collect();
        if of_component.is_empty() {
            continue;
        }
        out.push(format!("{title}: {}", of_component.len()));
        out.extend(of_component.iter().take(FINDINGS).map(|residual| finding(residual)));
        if of_component.len() > FINDINGS {
            out.push(format!("(and {} more)", of_component.len() - FINDINGS));
        }
    }
    out.join("\n\n")
}

fn finding(residual: &Residual) -> String {
    let place = match (&residual.file, &residual.place) {
        (Some(file), Some(place)) => format!("{file}:{}:{} ", place.line, place.column),
        (Some(file), None) => format!("{file} "),
        (None, _) => String::new(),
    };
    let symbol = residual.symbol.as_ref().map(|symbol| format!(" [{symbol}]")).unwrap_or_default();
    let hint = residual.hint.as_ref().map(|hint| format!("\nDirection: {hint}")).unwrap_or_default();
    let text = if residual.evidence.is_empty() { &residual.message } else { &residual.evidence };
    format!(
        "{}\n{}{hint}",
        format_args!("{} {}{symbol}:", residual.class.as_str(), place),
        fence(&residual.sensor, text)
    )
}
