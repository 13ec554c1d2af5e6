//! Examples in documentation that a runner tries out: tests that stand in ordinary sources.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Place, Residual};

use super::touch::{Deleted, Test, TestItems, compared, error, is_own, left_over, not_its_test};
use crate::plugin::Touch;

/// One example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    /// The file it stands in.
    pub file: RelPath,
    /// What it documents, with a number where that has several.
    pub key: String,
    /// What it does.
    pub test: Test,
    /// Whether the runner tries it out.
    pub runs: bool,
}

/// What happened to the examples of the changed files. One that moved as it was is not changed.
pub(crate) fn compare(touch: &Touch<'_>, before: &[Example], after: &[Example]) -> Vec<Residual> {
    let same = |example: &Example| example.test.tokens.clone();
    let lost = left_over(before, after, same).into_iter();
    let lost = lost.filter(|old| old.runs && !is_own(touch, &old.file));
    let mut new = left_over(after, before, same);
    let mut gone = Vec::new();
    let mut residuals = Vec::new();
    for old in lost {
        match new.iter().position(|new| new.file == old.file && new.key == old.key) {
            Some(at) => residuals.extend(changed(touch, old, new.remove(at))),
            None => gone.push(old),
        }
    }
    for old in gone {
        // A test node may give an example another place and text; a new one answers for one that is gone.
        let answer = new.iter().position(|new| new.runs).filter(|_| touch.node.task_type.is_test());
        match answer {
            Some(at) => residuals.extend(changed(touch, old, new.remove(at))),
            None => residuals.push(missing(touch, old)),
        }
    }
    residuals
}

fn changed(touch: &Touch<'_>, old: &Example, new: &Example) -> Vec<Residual> {
    let item = |test: &Test| TestItems::from([(old.key.clone(), test.clone())]);
    let mut residuals = compared(touch, &old.file, &item(&old.test), &item(&new.test));
    if !touch.node.task_type.is_test() {
        residuals.push(placed(not_its_test(&old.file, &called(old), Deleted::No), old, new.test.line));
    }
    residuals
}

fn missing(touch: &Touch<'_>, old: &Example) -> Residual {
    let residual = if touch.node.task_type.is_test() {
        error(Class::TestWeakened, &old.file, format!("{} is gone", called(old)))
    } else {
        not_its_test(&old.file, &called(old), Deleted::Yes)
    };
    placed(residual, old, old.test.line)
}

fn called(example: &Example) -> String {
    format!("the existing documentation test `{}`", example.key)
}

fn placed(residual: Residual, example: &Example, line: u32) -> Residual {
    let place = Some(Place { line, column: 0 });
    Residual { symbol: Some(example.key.clone()), place, ..residual }
}
