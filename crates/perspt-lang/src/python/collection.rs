//! Test files that could not be collected: whose fault it is, and where.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Milli, Residual};

use super::modules;
use crate::plugin::ReadContext;
use crate::shared::failed_test::UNNAMED_TEST;
use crate::shared::report::{first_line, in_tree, place};

/// What is known of one such file.
pub(crate) struct Uncollected<'a> {
    /// The file, where it is known.
    pub file: Option<RelPath>,
    /// The error's type.
    pub kind: &'a str,
    /// Its message.
    pub message: &'a str,
    /// The line, where it is known.
    pub line: Option<u64>,
    /// What was printed.
    pub evidence: &'a str,
}

/// The residual of a file that could not be collected. It weighs what a failing test does: at least one
/// test in it does not pass.
pub(crate) fn residual(found: &Uncollected<'_>, tool: &str, context: &ReadContext<'_>) -> Residual {
    let module = missing_module(found.kind, found.message);
    let outside = module.is_some_and(|module| modules::is_outside(module, context));
    let (component, class) = match (found.kind, outside) {
        (_, true) => (Component::Boot, Class::ModuleMissing),
        ("SyntaxError" | "IndentationError" | "TabError", _) => (Component::Syn, Class::SyntaxError),
        ("ImportError" | "ModuleNotFoundError", _) => (Component::Syn, Class::ImportError),
        _ => (Component::Syn, Class::CollectionError),
    };
    let message = match &found.file {
        Some(file) => format!("{file} cannot be collected: {}: {}", found.kind, first_line(found.message)),
        None => format!("the tests cannot be collected: {}: {}", found.kind, first_line(found.message)),
    };
    let mut residual = Residual::error(component, class, tool, message).with_evidence(found.evidence);
    residual.score = Milli::units(UNNAMED_TEST.units());
    residual.symbol = module.map(str::to_owned);
    residual.place = found.line.and_then(|line| place(line, 0));
    residual.in_file(found.file.clone())
}

/// The module an import error names.
fn missing_module<'a>(kind: &str, message: &'a str) -> Option<&'a str> {
    if kind != "ModuleNotFoundError" {
        return None;
    }
    message.split_once("No module named ")?.1.split(['\'', '"']).nth(1)
}

/// The error a printed traceback ends with: type, message, and the last place in the tree.
pub(crate) fn of_traceback<'a>(
    text: &'a str,
    context: &ReadContext<'_>,
) -> (&'a str, &'a str, Option<(RelPath, u64)>) {
    let marked = |line: &'a str| line.strip_prefix("E ").map(str::trim);
    let last = text.lines().rev().filter_map(marked).find(|line| error_type(line).is_some());
    let last = last.or_else(|| text.lines().rev().map(str::trim).find(|line| error_type(line).is_some()));
    let (kind, message) = last.and_then(error_type).unwrap_or(("error", first_line(text)));
    let place = text.lines().rev().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (path, number) = (parts.next()?, parts.next()?.parse().ok()?);
        Some((in_tree(context, path).filter(|path| path.extension() == Some("py"))?, number))
    });
    (kind, message, place)
}

/// `SomeError: message` or `SomeError` alone.
fn error_type(line: &str) -> Option<(&str, &str)> {
    let (kind, message) = line.split_once(": ").unwrap_or((line, ""));
    let plain = kind.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let last = kind.rsplit('.').next().unwrap_or(kind);
    let is_error = last.ends_with("Error") || last.ends_with("Exception") || last.ends_with("Exit");
    (plain && is_error).then_some((last, message))
}
