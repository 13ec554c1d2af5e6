//! Cargo's JSON lines: diagnostics, what was built, and how it ended.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Position, Residual};
use perspt_core::stage::StepOutput;
use serde::Deserialize;

use super::TARGET_DIR;
use crate::plugin::ReadContext;
use crate::shared::report::{in_tree, place, text};

/// One line, as far as it matters.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line {
    CompilerMessage {
        manifest_path: String,
        message: Diagnostic,
    },
    CompilerArtifact(Artifact),
    BuildFinished {
        success: bool,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    #[serde(default)]
    rendered: Option<String>,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    column_start: u64,
    is_primary: bool,
    /// Where the macro that the span lies in was called.
    #[serde(default)]
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

/// One thing that was built.
#[derive(Debug, Deserialize)]
pub(crate) struct Artifact {
    /// Where its package's manifest lies, as cargo saw it.
    pub manifest_path: String,
    /// Its target.
    pub target: Target,
    /// How it was built.
    pub profile: ArtifactProfile,
    /// What came out.
    #[serde(default)]
    pub filenames: Vec<String>,
    /// The program, for a test target.
    #[serde(default)]
    pub executable: Option<String>,
}

/// A target of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    /// `lib`, `bin`, `test` …
    pub kind: Vec<String>,
    /// Its name.
    pub name: String,
    /// The file it starts from.
    pub src_path: String,
}

/// How an artifact was built.
#[derive(Debug, Deserialize)]
pub(crate) struct ArtifactProfile {
    /// Whether as a test.
    pub test: bool,
}

/// All that one step's JSON lines say.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// One residual per finding, warnings included.
    pub residuals: Vec<Residual>,
    /// What was built.
    pub artifacts: Vec<Artifact>,
    /// Whether cargo said that it finished, and how.
    pub success: Option<bool>,
}

/// Reads the JSON lines of a step; other lines are passed over.
pub(crate) fn read(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Messages {
    let mut messages = Messages::default();
    // A library is built once for itself and once for its tests: the same finding counts once.
    let mut seen = BTreeSet::new();
    for line in text(&output.stdout).lines().filter(|line| line.starts_with('{')) {
        match serde_json::from_str::<Line>(line) {
            Ok(Line::CompilerMessage { manifest_path, message }) => {
                let origin =
                    if in_tree(context, &manifest_path).is_some() { Origin::Tree } else { Origin::Outside };
                let residual = residual(&message, origin, tool, context);
                let key = residual
                    .as_ref()
                    .map(|found| (found.file.clone(), found.place.map(spot), found.message.clone()));
                if seen.insert(key) {
                    messages.residuals.extend(residual);
                }
            }
            Ok(Line::CompilerArtifact(artifact)) => messages.artifacts.push(artifact),
            Ok(Line::BuildFinished { success }) => messages.success = Some(success),
            Ok(Line::Other) | Err(_) => {}
        }
    }
    messages
}

/// Whose package a diagnostic is about.
#[derive(Clone, Copy)]
enum Origin {
    Tree,
    Outside,
}

fn spot(place: Position) -> (u32, u32) {
    (place.line, place.column)
}

/// One diagnostic as a residual; summaries and notes are none.
fn residual(message: &Diagnostic, origin: Origin, tool: &str, context: &ReadContext<'_>) -> Option<Residual> {
    let is_error = message.level.starts_with("error");
    let summary =
        message.message.starts_with("aborting due to") || message.message.starts_with("could not compile");
    if summary || !(is_error || message.level == "warning") {
        return None;
    }
    let (span, file) = written_at(message, context).unzip();
    let (component, class) = match origin {
        Origin::Outside => (Component::Boot, Class::DependencyBroken),
        Origin::Tree if message.message.contains("linking with") => (Component::Syn, Class::LinkError),
        Origin::Tree => (Component::Syn, Class::CompileError),
    };
    let mut residual = if is_error {
        Residual::error(component, class, tool, message.message.clone())
    } else {
        Residual::warning(component, Class::CompileWarning, tool, message.message.clone())
    };
    residual.place = span.and_then(|span| place(span.line_start, span.column_start));
    residual.symbol = message.code.as_ref().map(|code| code.code.clone());
    Some(residual.in_file(file).with_evidence(message.rendered.as_deref().unwrap_or(&message.message)))
}

/// The place in the tree that a diagnostic is about. One inside a macro of another crate is where the tree calls
/// that macro; no place is better than a wrong one.
fn written_at<'m>(message: &'m Diagnostic, context: &ReadContext<'_>) -> Option<(&'m Span, RelPath)> {
    let primary = message.spans.iter().find(|span| span.is_primary).or(message.spans.first());
    std::iter::successors(primary, |span| span.expansion.as_deref().map(|expansion| &expansion.span))
        .find_map(|span| Some((span, in_tree(context, &span.file_name)?)))
}

impl Artifact {
    /// The dep-info file beside it, relative to the build directory.
    pub fn dep_info(&self) -> Option<String> {
        let file = self.filenames.first()?;
        let marker = format!("/{TARGET_DIR}/");
        let below = &file[file.rfind(&marker)? + 1..];
        let (folder, name) = below.rsplit_once('/')?;
        if self.target.kind.iter().any(|kind| kind == "custom-build") {
            let (_, hash) = folder.rsplit_once('-')?;
            return Some(format!("{folder}/{}-{hash}.d", name.replace('-', "_")));
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        // Only a library's files carry the prefix; a program may be called `lib…` in its own right.
        let stem = if name.contains('.') { stem.strip_prefix("lib").unwrap_or(stem) } else { stem };
        Some(format!("{folder}/{stem}.d"))
    }

    /// Whether others link it.
    pub fn is_library(&self) -> bool {
        let kinds = ["lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"];
        self.target.kind.iter().any(|kind| kinds.contains(&kind.as_str()))
    }

    /// Whether it was built from a package of the tree.
    pub fn package(&self, context: &ReadContext<'_>) -> Option<RelPath> {
        in_tree(context, &self.manifest_path)?.parent()
    }

    /// The dep-info files of every artifact; needs no context, so that reports can be named before reading.
    pub fn all_of(output: &StepOutput) -> Vec<Artifact> {
        let text = text(&output.stdout);
        let lines = text.lines().filter(|line| line.starts_with('{'));
        lines
            .filter_map(|line| match serde_json::from_str::<Line>(line) {
                Ok(Line::CompilerArtifact(artifact)) => Some(artifact),
                Ok(Line::CompilerMessage { .. } | Line::BuildFinished { .. } | Line::Other) | Err(_) => None,
            })
            .collect()
    }
}
