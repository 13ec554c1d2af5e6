//! What eslint finds, where the project configures it and the preset asks for it.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Root, Stage, StepOutput};
use serde::Deserialize;

use super::stages::{by_node, find, not_installed};
use crate::plugin::{Files, NoTool, ReadContext, Terms};
use crate::shared::report::{self, abnormal_end, did_not_look, in_tree, measured, place, unexplained};
use crate::shared::works::works;

const TOOL: &str = "eslint";
const REPORT: &str = "{tmp}/perspt-eslint.json";

/// Whether a file configures eslint.
pub(crate) fn is_configuration(path: &RelPath) -> bool {
    path.name().starts_with("eslint.config.") || path.name().starts_with(".eslintrc")
}

/// The stage of a root that configures eslint in its own folder.
pub(crate) fn stage(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Option<Result<Stage, NoTool>> {
    let entries = files.tree().entries.keys();
    let configured =
        entries.into_iter().any(|path| is_configuration(path) && path.parent().as_ref() == Some(&root.dir));
    if !configured {
        return None;
    }
    let Some(program) = find(terms.machine, TOOL, &root.dir) else {
        return Some(Err(not_installed(StageKind::Lint, TOOL, &root.dir, files)));
    };
    let mut step = by_node("lint", program, &[".", "-f", "json", "-o", REPORT], &root.dir);
    step.reports = vec![REPORT.to_owned()];
    let stage = Stage::required(StageKind::Lint, TOOL, vec![step]);
    Some(works(StageKind::Lint, TOOL, terms.tools).map(|()| stage))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linted {
    file_path: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    rule_id: Option<String>,
    message: String,
    line: Option<u64>,
    column: Option<u64>,
}

/// The reading of the lint stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let (mut residuals, mut looked) = (Vec::new(), BTreeSet::new());
    for output in outputs {
        let text = output.reports.get(REPORT).map(|bytes| report::text(bytes)).unwrap_or_default();
        let Ok(linted) = serde_json::from_str::<Vec<Linted>>(&text) else {
            residuals.push(abnormal_end(output, TOOL).unwrap_or_else(|| unexplained(output, TOOL)));
            continue;
        };
        for one in linted {
            let Some(file) = in_tree(context, &one.file_path) else { continue };
            residuals.extend(one.messages.iter().map(|message| finding(message, &file)));
            looked.insert(file);
        }
    }
    Reading { looked, ..measured(stage, context, residuals, None) }
}

fn finding(found: &Message, file: &RelPath) -> Residual {
    let rule = found.rule_id.as_deref().unwrap_or("syntax");
    let message = format!("{} ({rule})", found.message);
    let mut residual = Residual::error(Component::Str, Class::LintFinding, TOOL, message);
    residual.symbol = found.rule_id.clone();
    residual.place = found.line.and_then(|line| place(line, found.column.unwrap_or(0)));
    residual.in_file(Some(file.clone()))
}
