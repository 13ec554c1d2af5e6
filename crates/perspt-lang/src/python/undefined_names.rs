//! Undefined names in changed files, where a checker is installed that knows them.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Profile, Root, Step, StepEnd, StepOutput};

use super::stages::interpreter;
use crate::plugin::{FurtherFindings, Machine, Pair, ReadContext};
use crate::shared::report::{self, in_tree, place};
use crate::shared::step::{in_tree as named, step};

/// One run of each checker over the changed files; what is not installed does not start.
pub(crate) fn checks(root: &Root, pair: &Pair<'_>, machine: &Machine) -> Vec<Step> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let is_own = |path: &RelPath| path.extension() == Some("py") && path.is_within(&root.dir);
    let changed = changes.into_iter().filter(|change| change.after.is_some()).map(|change| change.path);
    let files: Vec<String> = changed.filter(is_own).map(|path| named(&path)).collect();
    if files.is_empty() {
        return Vec::new();
    }
    let python = interpreter(machine);
    let checkers: [&[&str]; 2] = [
        &[python, "-I", "-m", "pyflakes"],
        &["ruff", "check", "--isolated", "--no-cache", "--select", "F821", "--output-format", "concise"],
    ];
    let made = |checker: &[&str]| {
        let argv: Vec<&str> = checker.iter().copied().chain(files.iter().map(String::as_str)).collect();
        Step { profile: Profile::Test, ..step("names", &argv, &root.dir) }
    };
    checkers.into_iter().map(made).collect()
}

/// What a checker says of names; `None` where it is not there.
pub(crate) fn read(output: &StepOutput, context: &ReadContext<'_>) -> Option<FurtherFindings> {
    let ran = matches!(output.end, StepEnd::Exited(0 | 1));
    let missing = report::text(&output.stderr).contains("No module named");
    if !ran || missing {
        return None;
    }
    let printed = report::text(&output.stdout);
    let residuals = printed.lines().filter_map(|line| undefined(line, context)).collect();
    Some(FurtherFindings { residuals, looked: Default::default() })
}

/// One line of either checker: `path:3:5: undefined name 'x'`, or with a code and another quote in between.
fn undefined(line: &str, context: &ReadContext<'_>) -> Option<Residual> {
    let lower = line.to_lowercase();
    let name = line.get(lower.find("undefined name")? + "undefined name".len()..)?;
    let name = name.trim().trim_matches(['`', '\'', '"']);
    let mut fields = line.split(':');
    let file = in_tree(context, fields.next()?)?;
    let at = place(fields.next()?.trim().parse().ok()?, fields.next()?.trim().parse().unwrap_or(0));
    let message = format!("undefined name `{name}`");
    let mut residual = Residual::error(Component::Syn, Class::CompileError, "python names", message);
    (residual.place, residual.symbol) = (at, Some(name.to_owned()));
    Some(residual.in_file(Some(file)).with_evidence(line))
}
