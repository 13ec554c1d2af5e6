//! What cargo says on standard error where it has no JSON for it: manifests, dependencies, build scripts.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::StepOutput;

use crate::plugin::ReadContext;
use crate::shared::report::{in_tree, place, text};

const DEPENDENCY_HINT: &str = "This crate is not on the machine in a version that fits, and nothing is downloaded \
    now. Do without it, or ask for one that the lock file already names.";

/// Signs that something from outside is missing, and not the manifest wrong.
const MISSING: [&str; 9] = [
    "failed to unpack package",
    "no matching package",
    "failed to select a version for the requirement",
    "you are in the offline mode",
    "--offline was specified",
    "failed to download",
    "unable to update registry",
    "spurious network error",
    "couldn't resolve host",
];

/// How rustup says that it has no toolchain to run.
const TOOLCHAIN: [&str; 5] = [
    "error: toolchain '",
    "error: custom toolchain '",
    "error: override toolchain '",
    "error: invalid toolchain",
    "error: invalid path toolchain",
];

/// Signs that a manifest is wrong.
const MANIFEST: [&str; 7] = [
    "failed to parse manifest",
    "failed to load manifest",
    "failed to read `",
    "Cargo.toml",
    "could not find `",
    "failed to select a version for",
    "believes it's in a workspace",
];

/// One residual per `error:` block; those that only repeat what JSON lines said are left out.
pub(crate) fn read(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let text = text(&output.stderr);
    let mut residuals: Vec<Residual> = Vec::new();
    for block in blocks(&text) {
        let residual = residual(&block, tool, context);
        let again = residuals.iter().any(|found| found.message == residual.message);
        if !block.starts_with("error: could not compile") && !again {
            residuals.push(residual);
        }
    }
    residuals
}

/// The texts from each line that starts with `error` to the next such or a status line.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if line.starts_with("error:") || line.starts_with("error[") {
            blocks.push(String::new());
            open = true;
        } else if line.starts_with("warning:") || is_status(line) {
            open = false;
        }
        if let Some(block) = blocks.last_mut().filter(|_| open) {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks
}

/// Whether a line is one of cargo's right-aligned status lines, such as `   Compiling x v0.1.0`.
fn is_status(line: &str) -> bool {
    let word = line.trim_start().split(' ').next().unwrap_or("");
    line.starts_with("   ")
        && ["Compiling", "Checking", "Finished", "Blocking", "Updating", "Locking"].contains(&word)
}

fn residual(block: &str, tool: &str, context: &ReadContext<'_>) -> Residual {
    let has = |signs: &[&str]| signs.iter().any(|sign| block.contains(sign));
    let first = block.lines().next().unwrap_or("").trim_start_matches("error:").trim();
    // Cargo tells the reason last, so the message carries it.
    let cause =
        block.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("either "));
    let cause = cause.filter(|_| block.contains("Caused by:"));
    let message = cause.map_or_else(|| first.to_owned(), |cause| format!("{first}: {cause}"));
    let class = if block.contains("failed to run custom build command") {
        Class::BuildScriptFailed
    } else if TOOLCHAIN.iter().any(|sign| block.starts_with(sign)) {
        Class::ToolchainMissing
    } else if has(&MISSING) {
        Class::DependencyMissing
    } else if has(&MANIFEST) {
        Class::ManifestError
    } else {
        Class::ToolFailed
    };
    let mut residual = Residual::error(Component::Boot, class, tool, message).with_evidence(block);
    if class == Class::DependencyMissing {
        residual.symbol = quoted(block).map(str::to_owned);
        residual.hint = Some(DEPENDENCY_HINT.to_owned());
    }
    if class == Class::ManifestError {
        let (file, spot) = manifest_place(block, context);
        residual = residual.in_file(file);
        residual.place = spot.and_then(|(line, column)| place(line, column));
    }
    residual
}

/// The first text in backquotes.
fn quoted(block: &str) -> Option<&str> {
    block.split('`').nth(1)
}

/// The manifest a block talks about, and where in it.
fn manifest_place(block: &str, context: &ReadContext<'_>) -> (Option<RelPath>, Option<(u64, u64)>) {
    for line in block.lines() {
        let Some(spot) = line.trim().strip_prefix("--> ") else { continue };
        let mut parts = spot.splitn(3, ':');
        let path = parts.next().unwrap_or("");
        let numbers: Vec<u64> = parts.filter_map(|part| part.trim().parse().ok()).collect();
        let at = numbers.first().map(|&line| (line, numbers.get(1).copied().unwrap_or(0)));
        return (in_tree(context, path), at);
    }
    let named = block.split('`').find(|part| part.ends_with("Cargo.toml"));
    let file = named.and_then(|path| in_tree(context, path));
    (file.or_else(|| context.root.dir.join("Cargo.toml").ok()), None)
}
