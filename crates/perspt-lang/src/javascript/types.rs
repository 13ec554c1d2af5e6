//! What the TypeScript compiler finds, where the project is configured for it and brings it.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Preset, Root, Stage, StageRole, Step, StepOutput};

use super::manifest::Package;
use super::stages::{by_node, find, not_installed};
use super::{is_source, modules};
use crate::plugin::{Files, NoTool, ReadContext, Terms};
use crate::shared::report::{self, abnormal_end, did_not_look, in_tree, measured, place, unexplained};
use crate::shared::works::works;

/// The compiler's package.
pub(crate) const TYPESCRIPT: &str = "typescript";
const TOOL: &str = "tsc";
const SETTINGS: &str = "tsconfig.json";

/// Folders of a root that configure the compiler: those of its packages.
fn configured(root: &Root, files: &dyn Files) -> Vec<(RelPath, String)> {
    let mut dirs: BTreeSet<&RelPath> = root.packages.iter().collect();
    dirs.insert(&root.dir);
    let text = |dir: &RelPath| files.text(&dir.join(SETTINGS).ok()?);
    dirs.into_iter().filter_map(|dir| Some((dir.clone(), text(dir)?))).collect()
}

/// The stage of a root that is configured for the compiler and asks for it.
pub(crate) fn stage(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Option<Result<Stage, NoTool>> {
    let configured = configured(root, files);
    let asks = root
        .packages
        .iter()
        .any(|dir| Package::of(files, dir).is_some_and(|package| package.depends_on(TYPESCRIPT)));
    let is_there = configured.iter().any(|(dir, _)| find(terms.machine, TYPESCRIPT, dir).is_some());
    if configured.is_empty() || !(asks || is_there) {
        return None;
    }
    Some(steps(&configured, files, terms).and_then(|steps| {
        works(StageKind::Type, TYPESCRIPT, terms.tools)?;
        let role = if terms.preset == Preset::Minimal { StageRole::Shown } else { StageRole::Required };
        Ok(Stage { role, ..Stage::required(StageKind::Type, TOOL, steps) })
    }))
}

fn steps(
    configured: &[(RelPath, String)],
    files: &dyn Files,
    terms: &Terms<'_>,
) -> Result<Vec<Step>, NoTool> {
    let one = |(dir, text): &(RelPath, String)| {
        let lack = || not_installed(StageKind::Type, TYPESCRIPT, dir, files);
        let program = find(terms.machine, TYPESCRIPT, dir).ok_or_else(lack)?;
        let name = if dir.is_root() { "check".to_owned() } else { format!("check {dir}") };
        let refers = text.contains("\"references\"");
        // Projects that refer to each other are built: only so are they checked. What is written is taken away again.
        let arguments: &[&str] = match refers {
            true => &["-b", "--force", "--pretty", "false", "--listFiles"],
            false => &["--noEmit", "--pretty", "false", "--listFiles", "-p", "."],
        };
        Ok(by_node(&name, program, arguments, dir))
    };
    configured.iter().map(one).collect()
}

/// The reading of the type stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let (mut residuals, mut looked) = (Vec::new(), BTreeSet::new());
    for (step, output) in stage.steps.iter().zip(outputs) {
        let text = report::text(&output.stdout);
        let found: Vec<Residual> =
            text.lines().filter_map(|line| finding(line, &step.cwd, context)).collect();
        residuals.extend(abnormal_end(output, TOOL));
        if !output.end.is_success() && found.is_empty() {
            residuals.push(unexplained(output, TOOL));
        }
        for residual in found {
            // Two projects may look at the same file.
            if !residuals.contains(&residual) {
                residuals.push(residual);
            }
        }
        let listed = text.lines().filter(|line| line.starts_with('/'));
        looked.extend(
            listed.filter_map(|path| in_tree(context, path)).filter(|path| is_checked(path, context)),
        );
    }
    Reading { looked, ..measured(stage, context, residuals, None) }
}

/// Whether the compiler checks a file that it reads: not where the file says no, and of plain JavaScript only what asks for
/// it.
fn is_checked(path: &RelPath, context: &ReadContext<'_>) -> bool {
    let Some(text) = context.files.text(path) else { return false };
    let head: Vec<&str> = text.lines().take(10).collect();
    let says =
        |word: &str| head.iter().any(|line| line.trim_start().starts_with("//") && line.contains(word));
    let is_typed = path.extension().is_some_and(|extension| extension.contains("ts"));
    let all_checked = || {
        let settings = path.ancestors().find_map(|dir| context.files.text(&dir.join(SETTINGS).ok()?));
        settings.is_some_and(|text| {
            let tight: String = text.split_whitespace().collect();
            tight.contains("\"checkJs\":true")
        })
    };
    is_source(path) && !says("@ts-nocheck") && (is_typed || says("@ts-check") || all_checked())
}

/// `src/a.ts(3,5): error TS2322: message`, or `error TS18003: message` without a place.
fn finding(line: &str, dir: &RelPath, context: &ReadContext<'_>) -> Option<Residual> {
    let (before, rest) = line.split_once("error TS")?;
    let (code, message) = rest.split_once(": ")?;
    let number: u32 = code.parse().ok()?;
    let place_of = |text: &str| -> Option<(RelPath, u64, u64)> {
        let (path, place) = text.trim_end_matches([' ', ':']).strip_suffix(')')?.rsplit_once('(')?;
        let (line, column) = place.split_once(',')?;
        let path = match path.starts_with('/') {
            true => in_tree(context, path)?,
            false => dir.join(path).ok()?,
        };
        Some((path, line.parse().ok()?, column.parse().ok()?))
    };
    let spot = place_of(before);
    if spot.is_none() && !before.is_empty() {
        return None;
    }
    let module = (number == 2307).then(|| message.split('\'').nth(1)).flatten();
    let (component, class) = match (number, module) {
        (_, Some(module)) => modules::class_of(module, context.files),
        (_, None) if spot.as_ref().is_none_or(|(path, ..)| path.extension() == Some("json")) => {
            (Component::Boot, Class::ManifestError)
        }
        (1000..2000, None) => (Component::Syn, Class::SyntaxError),
        (_, None) => (Component::Syn, Class::CompileError),
    };
    let mut residual = Residual::error(component, class, TOOL, format!("TS{code}: {message}"));
    residual.symbol = Some(module.map_or_else(|| format!("TS{code}"), str::to_owned));
    let file = spot.as_ref().map(|(path, ..)| path.clone());
    residual.place = spot.and_then(|(_, line, column)| place(line, column));
    Some(residual.in_file(file).with_evidence(line))
}
