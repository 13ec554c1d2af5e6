//! What parsing every file gave: by Node itself, by the project's own compiler for TypeScript and JSX, else by our own
//! grammar.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};
use serde::Deserialize;

use super::layout::{JAVASCRIPT, TSX, TYPESCRIPT};
use super::roots;
use crate::plugin::ReadContext;
use crate::shared::report::{
    self, abnormal_end, did_not_look, in_tree, measured, place, report_missing, unexplained,
};
use crate::syntax::{Language, first_error};

/// What the script said of one file.
#[derive(Debug, Deserialize)]
pub(crate) struct Parsed {
    /// The file, relative to the root.
    pub file: String,
    /// What parsed it: `node`, `typescript`, or `none`.
    by: String,
    /// Why it does not parse.
    #[serde(default)]
    pub problem: Option<Problem>,
}

/// One file's error.
#[derive(Debug, Deserialize)]
pub(crate) struct Problem {
    message: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    column: Option<u64>,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    File(Parsed),
    End { done: usize },
}

/// The files that the script reported; `None` where it did not reach its end.
pub(crate) fn parse(text: &str) -> Option<Vec<Parsed>> {
    let (mut files, mut whole) = (Vec::new(), None);
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::File(file)) => files.push(file),
            Ok(Line::End { done }) => whole = Some(done),
            Err(_) => {}
        }
    }
    (whole == Some(files.len())).then_some(files)
}

/// The reading of the syntax stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let (mut residuals, mut looked) = (Vec::new(), BTreeSet::new());
    for output in outputs {
        let parsed = parse(&report::text(&output.stdout)).filter(|_| !output.cut);
        residuals.extend(match (abnormal_end(output, &stage.tool), parsed) {
            (Some(residual), _) => vec![residual],
            (None, _) if !output.end.is_success() => vec![unexplained(output, &stage.tool)],
            (None, None) => {
                let message = "not every file was reported".to_owned();
                vec![report_missing(output, &stage.tool, message)]
            }
            (None, Some(files)) => {
                looked.extend(files.iter().filter_map(|one| in_tree(context, &one.file)));
                let found = files.iter().filter_map(|one| finding(one, &stage.tool, context));
                found.chain(unmeasured(&looked, stage, context)).collect()
            }
        });
    }
    Reading { looked, ..measured(stage, context, residuals, None) }
}

fn finding(parsed: &Parsed, tool: &str, context: &ReadContext<'_>) -> Option<Residual> {
    let file = in_tree(context, &parsed.file)?;
    let text = || context.files.text(&file).unwrap_or_default();
    let problem = match &parsed.problem {
        // What bundlers take and Node does not: JSX in a file that is called .js.
        Some(_) if parsed.by == "node" && is_jsx(&text()) => None,
        Some(problem) => {
            let shown = problem.text.as_deref().unwrap_or_default().trim_end().to_owned();
            Some((problem.message.clone(), problem.line, problem.column, shown))
        }
        None if parsed.by == "none" => first_error(grammar(&file), &text()).map(|(line, column)| {
            let shown = text().lines().nth(line as usize - 1).unwrap_or_default().trim_end().to_owned();
            ("this does not parse".to_owned(), Some(line.into()), Some(column.into()), shown)
        }),
        None => None,
    };
    let (message, line, column, shown) = problem?;
    let evidence = format!("{shown}\n{message}");
    let mut residual =
        Residual::error(Component::Syn, Class::SyntaxError, tool, format!("SyntaxError: {message}"));
    residual.place = line.and_then(|line| place(line, column.unwrap_or(0)));
    residual.symbol = Some("SyntaxError".to_owned());
    Some(residual.in_file(Some(file)).with_evidence(evidence.trim_start()))
}

/// Whether a text parses and has elements in it.
fn is_jsx(text: &str) -> bool {
    (text.contains("</") || text.contains("/>")) && first_error(&JAVASCRIPT, text).is_none()
}

fn grammar(path: &RelPath) -> &'static Language {
    match path.extension() {
        Some("tsx") => &TSX,
        Some("ts" | "mts" | "cts") => &TYPESCRIPT,
        Some(_) | None => &JAVASCRIPT,
    }
}

/// Files of the root that the script did not look at.
fn unmeasured(looked: &BTreeSet<RelPath>, stage: &Stage, context: &ReadContext<'_>) -> Vec<Residual> {
    let own = roots::own_sources(context.files, context.root);
    let missed = own.into_iter().filter(|path| !looked.contains(path));
    missed
        .map(|path| {
            let message = "this file was not parsed".to_owned();
            Residual::error(Component::Str, Class::UnmeasuredFile, &stage.tool, message).in_file(Some(path))
        })
        .collect()
}
