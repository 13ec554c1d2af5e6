//! What the compiler, the linker and the loader print, as findings.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::StepOutput;

use super::list::{ListError, Package, Packages};
use super::roots;
use crate::plugin::ReadContext;
use crate::shared::report::{self, first_line, in_tree, place};

/// Words by which the loader says that a module is not on this machine.
const NOT_HERE: [&str; 6] = [
    "no required module provides package",
    "cannot find module providing package",
    "missing go.sum entry",
    "module lookup disabled",
    "is not in your go.mod file",
    "unknown revision",
];

/// What is wrong with the packages of a listing, each thing once.
pub(crate) fn of_packages(packages: &Packages, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let mut found = Vec::new();
    for (package, error) in packages.faulty() {
        if error.err.starts_with("# ") {
            found.extend(compiled(&error.err, tool, context));
        } else {
            found.push(loaded(package, error, tool, context));
        }
    }
    once(found)
}

/// The same finding is told for a package and for what it becomes with its tests.
fn once(found: Vec<Residual>) -> Vec<Residual> {
    let mut kept: Vec<Residual> = Vec::new();
    for residual in found {
        let same = |known: &Residual| {
            known.file == residual.file && known.place == residual.place && known.message == residual.message
        };
        if !kept.iter().any(same) {
            kept.push(residual);
        }
    }
    kept
}

/// What a compiler or linker printed: `# package`, then lines with places; what is indented goes on.
pub(crate) fn compiled(text: &str, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let mut found: Vec<Residual> = Vec::new();
    let mut package = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            package = name.split(' ').next().unwrap_or(name);
        } else if line.starts_with(['\t', ' ']) {
            if let Some(last) = found.last_mut() {
                last.evidence = format!("{}{}\n", last.evidence, line.trim_end());
            }
        } else if let Some((file, at, message)) = placed(line, context) {
            let class =
                if message.starts_with("syntax error") { Class::SyntaxError } else { Class::CompileError };
            let mut residual = Residual::error(Component::Syn, class, tool, message);
            residual.place = place(at.0, at.1);
            found.push(residual.in_file(Some(file)));
        } else if !package.is_empty() && !line.trim().is_empty() && !is_summary(line) {
            let message = format!("`{package}` cannot be linked: {}", line.trim());
            let mut residual = Residual::error(Component::Syn, Class::LinkError, tool, message);
            residual.symbol = Some(package.to_owned());
            found.push(residual.in_file(any_file(package, context)));
        }
    }
    once(found)
}

/// Lines by which go sums up or stops.
fn is_summary(line: &str) -> bool {
    line == "FAIL"
        || line.starts_with("FAIL\t")
        || line.starts_with("ok  \t")
        || line.starts_with("?   \t")
        || line.contains("too many errors")
}

/// `file:line:column: message`.
fn placed<'l>(line: &'l str, context: &ReadContext<'_>) -> Option<(RelPath, (u64, u64), &'l str)> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (spot, message) = line.split_once(": ")?;
    let (file, at) = spot_of(spot)?;
    Some((in_tree(context, file)?, at, message))
}

/// `file:line:column` or `file:line`.
pub(crate) fn spot_of(spot: &str) -> Option<(&str, (u64, u64))> {
    let (rest, last) = spot.rsplit_once(':')?;
    let last = last.parse().ok()?;
    match rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Some((file, (line, last))),
        None => Some((rest, (last, 0))),
    }
}

/// Some file of a package, so that what has no place is found by its folder.
fn any_file(package: &str, context: &ReadContext<'_>) -> Option<RelPath> {
    let sources = roots::own_sources(context.files, context.root);
    let paths = roots::module_paths(context.files, context.root);
    let below = paths.iter().filter_map(|module| package.strip_prefix(module.as_str()));
    let folder = below.min_by_key(|rest| rest.len())?.trim_matches('/').to_owned();
    let in_folder = |path: &&&RelPath| {
        path.parent()
            .is_some_and(|dir| dir.as_str() == folder || dir.as_str().ends_with(&format!("/{folder}")))
    };
    sources.iter().find(in_folder).map(|path| (*path).clone())
}

/// What the loader says of a package: it is not there, or its files do not fit together.
fn loaded(package: &Package, error: &ListError, tool: &str, context: &ReadContext<'_>) -> Residual {
    let name = package.import_path.split(' ').next().unwrap_or_default();
    let spot = spot_of(&error.pos);
    let file = spot.and_then(|(file, _)| in_tree(context, file));
    let at = spot.and_then(|(_, (line, column))| place(line, column));
    let own = roots::module_paths(context.files, context.root);
    let is_own = own.iter().any(|path| name == path || name.starts_with(&format!("{path}/")));
    let first = first_line(&error.err);
    let not_here = NOT_HERE.iter().any(|words| error.err.contains(words));
    let of_no_module = error.err.contains("is not in std") || error.err.contains("is not in GOROOT");
    let no_package = not_here || of_no_module || error.err.contains("cannot find package");
    let mut residual = if no_package && (is_own || of_no_module) {
        let message = format!("there is no package `{name}`");
        let mut residual = Residual::error(Component::Syn, Class::ImportError, tool, message);
        residual.hint = Some(if is_own {
            "Import a package of this module by the module's path and its folder, or write that package."
                .to_owned()
        } else {
            "This is neither a package of the standard library nor one of a module.".to_owned()
        });
        residual
    } else if not_here {
        missing(name, first, tool)
    } else if error.err.contains("expected '") || error.err.contains("expected ;") {
        Residual::error(Component::Syn, Class::SyntaxError, tool, first)
    } else {
        Residual::error(Component::Syn, Class::CompileError, tool, first)
    };
    residual.symbol.get_or_insert_with(|| name.to_owned());
    residual.place = at;
    let file = file.or_else(|| any_file(name, context));
    residual.in_file(file).with_evidence(&error.err)
}

fn missing(name: &str, why: &str, tool: &str) -> Residual {
    let message = format!("the package `{name}` is not on this machine: {why}");
    let mut residual = Residual::error(Component::Boot, Class::DependencyMissing, tool, message);
    residual.symbol = Some(name.to_owned());
    residual.hint =
        Some(format!("Use the standard library, or give the command `go get {name}` with the answer."));
    residual
}

/// Why go did not begin: a manifest, a toolchain, a module that all others need.
pub(crate) fn refused(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Option<Residual> {
    let printed = report::text(&output.stderr);
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines.iter().map(|line| line.strip_prefix("go: ").unwrap_or(line));
    let said: Vec<&str> = said.collect();
    let has = |words: &[&str]| said.iter().copied().find(|line| words.iter().any(|word| line.contains(word)));
    let make = |class: Class, line: &str| Residual::error(Component::Boot, class, tool, line);
    let residual = if let Some(line) =
        has(&["requires go >=", "toolchain not available", "invalid toolchain"])
    {
        make(Class::ToolchainMissing, line)
    } else if let Some(line) = has(&NOT_HERE) {
        make(Class::DependencyMissing, line)
    } else if let Some(line) = has(&[
        "errors parsing",
        "go.mod:",
        "go.work:",
        "updates to go.mod",
        "inconsistent vendoring",
        "malformed go.sum",
    ]) {
        make(Class::ManifestError, said.iter().copied().find(|line| spot_in(line).is_some()).unwrap_or(line))
    } else {
        return None;
    };
    let spot = said.iter().find_map(|line| spot_in(line));
    let file = spot.and_then(|(file, _)| in_tree(context, file));
    let mut residual = residual.in_file(file.or_else(|| context.root.dir.join("go.mod").ok()));
    residual.place = spot.and_then(|(_, (line, column))| place(line, column));
    Some(residual.with_evidence(report::evidence_tail(output)))
}

fn spot_in(line: &str) -> Option<(&str, (u64, u64))> {
    let spot = line.split(": ").next()?;
    spot_of(spot)
        .filter(|(file, _)| file.ends_with("go.mod") || file.ends_with("go.work") || file.ends_with("go.sum"))
}
