//! Deliberate breaks that JavaScript's tools must see.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::Root;

use super::manifest;
use super::runner::{self, Runner, Suite, Tool};
use super::{is_test_name, roots};
use crate::plugin::{Expect, Files, Plant};
use crate::shared::file_names::is_data_folder;

const SYNTAX_ERROR: &str = "\nfunction persptPlanted( {\n";
const TYPE_ERROR: &str = "\nconst persptPlanted: number = \"planted by perspt\";\n";

/// The plants of a stage.
pub(crate) fn plants(stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
    let sources = roots::own_sources(files, root);
    let code = || sources.iter().filter(|path| !is_test_name(path) && !is_data(path) && !is_settings(path));
    match stage {
        StageKind::Syntax => {
            let file = sources.iter().find(|path| path.extension() != Some("ts")).or(sources.first());
            let plant = file.map(|path| appended("a syntax error", path, files, SYNTAX_ERROR));
            let fresh = || appended_to_none("a syntax error", &root.dir, SYNTAX_ERROR);
            plant.or_else(fresh).into_iter().collect()
        }
        StageKind::Type => {
            let is_typed = |path: &&RelPath| {
                let typed = ["ts", "tsx", "mts", "cts"].iter().any(|end| path.extension() == Some(end));
                typed && !path.name().contains(".d.")
            };
            let in_source = code().filter(is_typed).find(|path| path.parts().any(|part| part == "src"));
            let file = in_source.or_else(|| code().find(is_typed)).or_else(|| sources.iter().find(is_typed));
            file.map(|path| appended("a type error", path, files, TYPE_ERROR)).into_iter().collect()
        }
        StageKind::Lint => {
            let file = code().find(|path| path.extension() == Some("js")).or_else(|| code().next());
            file.map(|path| appended("an error", path, files, SYNTAX_ERROR)).into_iter().collect()
        }
        StageKind::Test => failing_tests(root, files, &sources, name),
        StageKind::Structure | StageKind::Build => Vec::new(),
    }
}

fn appended(what: &str, path: &RelPath, files: &dyn Files, error: &str) -> Plant {
    let before = files.text(path).unwrap_or_default();
    Plant {
        what: format!("{what} in {path}"),
        writes: BTreeMap::from([(path.clone(), format!("{before}{error}"))]),
        expect: Expect::Red,
    }
}

fn appended_to_none(what: &str, dir: &RelPath, error: &str) -> Option<Plant> {
    let path = dir.join("perspt_planted.js").ok()?;
    let what = format!("{what} in {path}");
    Some(Plant { what, writes: BTreeMap::from([(path, error.to_owned())]), expect: Expect::Red })
}

/// A file of test data may be one that no tool looks at.
fn is_data(path: &RelPath) -> bool {
    path.ancestors().any(|folder| is_data_folder(folder.name()))
}

/// Settings written as a program are loaded by tools, and not always read by the compiler.
fn is_settings(path: &RelPath) -> bool {
    path.name().contains(".config.") || path.name().starts_with('.')
}

/// A failing test for every runner that has tests, or for the first one.
fn failing_tests(root: &Root, files: &dyn Files, sources: &[RelPath], name: &str) -> Vec<Plant> {
    let suites = runner::suites(files, root);
    let has_tests: Vec<&Suite> = suites.iter().filter(|suite| !suite.files.is_empty()).collect();
    let mut tools: Vec<Tool> = Vec::new();
    let mut plants = Vec::new();
    let chosen = if has_tests.is_empty() { suites.iter().take(1).collect() } else { has_tests };
    for suite in chosen {
        let Runner::Known(tool, script) = &suite.runner else { continue };
        if !tools.contains(tool) {
            tools.push(*tool);
            plants.extend(failing(suite, *tool, &script.files, (files, sources), name));
        }
    }
    plants
}

fn failing(
    suite: &Suite,
    tool: Tool,
    named: &[String],
    (files, sources): (&dyn Files, &[RelPath]),
    name: &str,
) -> Option<Plant> {
    let real = suite.files.iter().find(|path| !is_data(path)).or(suite.files.first());
    let file = match real {
        // A script that names single files runs no other.
        Some(path) if named.iter().any(|word| suite.dir.join(word).is_ok_and(|named| named == *path)) => {
            path.clone()
        }
        Some(path) => path.parent()?.join(&named_like(path.name(), name)).ok()?,
        None => {
            let typed = tool != Tool::Node && sources.iter().any(|path| path.extension() == Some("ts"));
            let extension = if typed { "ts" } else { "js" };
            suite.dir.join(&format!("{name}.test.{extension}")).ok()?
        }
    };
    let before = files.text(&file).unwrap_or_default();
    let text = format!("{before}\n{}", test_text(tool, is_module(files, &file), name));
    Some(Plant {
        what: format!("a failing test in {file}"),
        writes: BTreeMap::from([(file, text)]),
        expect: Expect::TestFails(name.to_owned()),
    })
}

/// Another name with the same ending: `a.test.mjs` gives `planted.test.mjs`.
fn named_like(other: &str, name: &str) -> String {
    let (stem, extension) = other.rsplit_once('.').unwrap_or((other, "js"));
    let ends = [".test", ".spec", "-test", "_test"].iter().find(|end| stem.ends_with(**end));
    match ends {
        Some(end) => format!("{name}{end}.{extension}"),
        None if stem.starts_with("test-") => format!("test-{name}.{extension}"),
        None => format!("{name}.{extension}"),
    }
}

/// Whether a file is read as a module.
fn is_module(files: &dyn Files, path: &RelPath) -> bool {
    match path.extension() {
        Some("mjs" | "ts" | "mts" | "tsx") => true,
        Some("cjs" | "cts") => false,
        _ => manifest::nearest(files, path).is_some_and(|package| package.is_module()),
    }
}

fn test_text(tool: Tool, is_module: bool, name: &str) -> String {
    let body = format!("(\"{name}\", () => {{ throw new Error(\"planted by perspt\"); }});\n");
    match (tool, is_module) {
        (Tool::Node, true) => format!("import {{ test as {name} }} from \"node:test\";\n{name}{body}"),
        (Tool::Node, false) => format!("require(\"node:test\").test{body}"),
        (Tool::Vitest, _) => format!("import {{ test as {name} }} from \"vitest\";\n{name}{body}"),
        (Tool::Jest, _) => format!("test{body}"),
        (Tool::Mocha, _) => format!("it{body}"),
    }
}
