//! What a node did to existing tests and to what decides about evidence.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};
use perspt_lang::plugin::{Files, Touch};

const SENSOR: &str = "toy structure";

/// The tests of a text: each line by its test's name.
pub(super) fn tests(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .map(str::trim)
        .filter_map(|line| {
            let rest = line.strip_prefix("test ").or_else(|| line.strip_prefix("skip "))?;
            Some((rest.split_once(':')?.0.trim(), line))
        })
        .collect()
}

pub(super) fn structure(touch: &Touch<'_>) -> Vec<Residual> {
    let mut residuals = Vec::new();
    for change in touch.base.tree().changes_to(touch.candidate.tree()) {
        let path = &change.path;
        if super::is_source(path) && change.before.is_some() {
            residuals.extend(compared(touch, path));
        }
        if path.name() == "toy.run" && !touch.task.contains("toy.run") {
            let message = "toy.run decides how evidence is gathered, and the task does not name it";
            residuals.push(error(Class::EvidenceRulesChanged, path, message.to_owned()));
        }
    }
    let own = touch.node.output_files.iter();
    for (path, text) in own.filter_map(|path| Some((path, touch.candidate.text(path)?))) {
        let patterns = touch.node.contract.forbidden_patterns.iter();
        for pattern in patterns.filter(|pattern| text.contains(pattern.as_str())) {
            let message = format!("the contract forbids `{pattern}`");
            residuals.push(error(Class::ForbiddenPattern, path, message));
        }
    }
    residuals
}

fn compared(touch: &Touch<'_>, path: &RelPath) -> Vec<Residual> {
    let text = |files: &dyn Files| files.text(path).unwrap_or_default();
    let (before, after) = (text(touch.base), text(touch.candidate));
    let (before, after) = (tests(&before), tests(&after));
    let own = touch.authored.contains(path) && touch.node.output_files.contains(path);
    let may = touch.node.task_type.is_test() || own;
    let mut residuals = Vec::new();
    for (name, old) in before {
        let (class, what) = match after.get(name) {
            Some(new) if *new == old => continue,
            Some(_) => (Class::TestChanged, "changed"),
            None => (Class::TestDeleted, "deleted"),
        };
        let message = format!("the existing test `{name}` is {what}");
        residuals.push(if may {
            Residual::warning(Component::Str, class, SENSOR, message).in_file(Some(path.clone()))
        } else {
            error(class, path, message)
        });
    }
    residuals
}

fn error(class: Class, path: &RelPath, message: String) -> Residual {
    Residual::error(Component::Str, class, SENSOR, message).in_file(Some(path.clone()))
}
