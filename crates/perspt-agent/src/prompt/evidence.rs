//! The typed evidence that a prompt is compiled from, and the text of each piece.

use perspt_core::effect::Intent;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{RetryClass, RootRef};
use perspt_core::path::RelPath;
use perspt_core::plan::{OpenScope, PlanNode};
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
    /// Whether nobody planned the node: it is the whole task.
    pub solo: bool,
    /// Files and listing.
    pub package: &'a Package,
    /// The files that the node will write: they are shown last, with what was found in them.
    pub own: &'a [RelPath],
    /// What the model asked to see: what it is, and its text.
    pub served: Vec<(String, String)>,
    /// What the verifier's model made of the findings, a line each.
    pub analysis: Vec<String>,
    /// After a failure.
    pub retry: Option<RetryEvidence>,
    /// The form that changes are asked for in.
    pub form: ChangeForm,
    /// Whether a plan of one task may be answered together with its changes.
    pub together: bool,
}

/// The form that changes are asked for in. All of them are always understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeForm {
    /// A block for each file, large ones by edits.
    Blocks,
    /// A block for each file, every one whole: the simplest form, for small models and small files. They copy what they
    /// are shown, so it names the files at hand instead of an example.
    Whole {
        /// The files that are to be written.
        paths: Vec<RelPath>,
        /// A new file with tests, to be written before them.
        test: Option<RelPath>,
    },
    /// One JSON object.
    Json,
}

impl ChangeForm {
    fn text(&self) -> String {
        let text = match self {
            ChangeForm::Blocks => include_str!("templates/form.blocks.md").to_owned(),
            ChangeForm::Whole { paths, test } => whole(paths, test.as_ref()),
            ChangeForm::Json => include_str!("templates/form.json.md").to_owned(),
        };
        text.trim_end().to_owned()
    }
}

fn whole(paths: &[RelPath], test: Option<&RelPath>) -> String {
    const FILE: &str = include_str!("templates/form.whole.file.md");
    let block =
        |path: &RelPath, what: &str| FILE.replace("{{path}}", path.as_str()).replace("{{what}}", what);
    let tests = test.map(|path| block(path, "import what is tested, then two short tests"));
    let files = paths.iter().map(|path| block(path, &format!("the whole new text of {path}")));
    let blocks: Vec<String> = tests.into_iter().chain(files).collect();
    let first = match test {
        Some(_) => {
            ".\nFirst a new test file that checks the task with two examples of input and output, then the code"
        }
        None => "",
    };
    let which = match (paths, test) {
        ([only], None) => format!("{only}, and of no other file"),
        _ => "each file that changes".to_owned(),
    };
    let form = include_str!("templates/form.whole.md")
        .replace("{{tests_first}}", first)
        .replace("{{which}}", &which);
    form.replace("{{file_forms}}", &blocks.join("\n"))
}

const ANSWER_EXCERPT: usize = 6000;
const FINDINGS: usize = 40;

impl Evidence<'_> {
    /// Leaves one finding: a small model mends one thing at a time. One that speaks of what the task names comes first.
    pub fn one_finding(&mut self) {
        let Some(retry) = &mut self.retry else { return };
        let words: Vec<&str> = self.task.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let about = |finding: &Residual| {
            let symbol = finding.symbol.as_deref().unwrap_or("");
            words.iter().filter(|word| word.len() > 3 && symbol.contains(**word)).count()
        };
        retry.findings.sort_by_key(|finding| std::cmp::Reverse(about(finding)));
        retry.findings.truncate(1);
    }

    /// The text of every hole of a head.
    pub(super) fn head_holes(&self, intent: Intent) -> Vec<(&'static str, String)> {
        let form = self.form.text();
        let may = |allowed: bool, text: &str| if allowed { text.to_owned() } else { String::new() };
        let plans = matches!(intent, Intent::ArchitectExisting | Intent::ArchitectGreenfield);
        let together = include_str!("templates/together.md").replace("{{form}}", &form);
        vec![
            ("together", may(plans && self.together, &together)),
            ("other_answers", include_str!("templates/other_answers.md").trim_end().to_owned()),
            ("form", form),
        ]
    }

    /// The text of every hole of a body.
    pub(super) fn holes(&self) -> Vec<(&'static str, String)> {
        let retry = self.retry.as_ref();
        let answer = retry.and_then(|retry| retry.answer.as_deref());
        vec![
            ("task", fence("the task", self.task)),
            ("roots", self.roots()),
            ("baseline", self.baseline()),
            ("layout", self.project.layout.join("\n")),
            ("fragment", self.project.fragments.join("\n")),
            ("listing", self.listing()),
            ("files", self.files(|_| true)),
            ("own_files", self.own_files()),
            ("read_files", self.read_files()),
            ("served", served(&self.served)),
            ("analysis", analysis(&self.analysis)),
            ("form", self.form.text()),
            ("scope", self.scope()),
            ("node", self.node.map(node_text).unwrap_or_default()),
            ("retry", retry.map(|retry| self.retry_text(retry)).unwrap_or_default()),
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

    fn files(&self, which: impl Fn(&RelPath) -> bool) -> String {
        let shown = self.package.files.iter().filter(|file| which(&file.path));
        let fenced = shown.map(|file| fence(&format!("{} ({})", file.path, file.why), &file.text));
        fenced.collect::<Vec<_>>().join("\n\n")
    }

    /// The files to be changed. Small models write again what they saw last, so what is asked for comes last.
    fn own_files(&self) -> String {
        let asked = |path: &RelPath| match &self.form {
            ChangeForm::Whole { paths, .. } => paths.contains(path),
            ChangeForm::Blocks | ChangeForm::Json => true,
        };
        let first = self.files(|path| self.own.contains(path) && !asked(path));
        let last = self.files(|path| self.own.contains(path) && asked(path));
        [first, last].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// What is said of the last attempt. A small model gets no counts.
    fn retry_text(&self, retry: &RetryEvidence) -> String {
        match self.form {
            ChangeForm::Whole { .. } if retry.discarded || retry.repeated => {
                "Your last answer did not help, so it was dropped: write something else.".to_owned()
            }
            ChangeForm::Whole { .. } => String::new(),
            ChangeForm::Blocks | ChangeForm::Json => retry_text(retry),
        }
    }

    /// The files that are only to be read, and what is not shown of any.
    fn read_files(&self) -> String {
        let files = self.files(|path| !self.own.contains(path));
        let hidden = self.package.degraded.iter().map(|line| format!("(not shown: {line})"));
        std::iter::once(files)
            .filter(|files| !files.is_empty())
            .chain(hidden)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    fn listing(&self) -> String {
        if self.package.listing.is_empty() {
            return String::new();
        }
        fence("file list", &self.package.listing)
    }

    /// What a node that nobody planned may write, where there is more to say than "what the task asks".
    fn scope(&self) -> String {
        match self.node.map(|node| node.scope) {
            Some(OpenScope::OneFile) => "Write everything into one file, beside its tests.".to_owned(),
            Some(OpenScope::Open | OpenScope::Listed) | None => String::new(),
        }
    }
}

/// What the model asked to see.
fn served(served: &[(String, String)]) -> String {
    if served.is_empty() {
        return String::new();
    }
    let fenced = served.iter().map(|(label, text)| fence(label, text));
    let fenced = fenced.collect::<Vec<_>>().join("\n\n");
    format!("What you asked to see:\n\n{fenced}")
}

fn analysis(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines = lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
    format!("What a reviewer makes of it (advice; the findings decide):\n{}", fence("review", &lines))
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
            "It may write: any source, manifest or test file of the project, existing or new, and prose; tests that exist \
             stay as they are"
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
        lines.extend(signature.lines().map(|one| format!("It must export: {one}")));
    }
    lines.extend(contract.checks.iter().map(|check| match &check.file {
        Some(_) => check.to_string(),
        None => format!("It {check}"),
    }));
    lines.extend(contract.invariants.iter().map(|invariant| format!("It must hold that: {invariant}")));
    lines.extend(
        contract
            .forbidden_patterns
            .iter()
            .map(|pattern| format!("No line that it writes may match: {pattern}")),
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
