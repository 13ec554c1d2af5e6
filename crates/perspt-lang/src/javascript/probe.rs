//! Whether Node and the project's own tools work: each runs on a project of ours with one thing right and one wrong, and
//! works only if exactly that is reported.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::TestEnd;
use perspt_core::stage::{StageRole, Step, StepEnd, StepOutput};

use super::stages::{NODE, OWN_TOOLS, first};
use super::{LOADED_SCRIPT, MOCHA_SCRIPT, NODE_SCRIPT, SYNTAX_SCRIPT, results, syntax};
use crate::plugin::{Machine, Probe, ToolState};
use crate::shared::report::{both_streams, first_line, output_of, text};
use crate::shared::step::{step, with_env};

const REPORT: &str = "{tmp}/perspt-probe-report";

/// What to do where Node is missing or broken.
pub(crate) const INSTALL: &str = "Install Node.js 20 or later.";
const REINSTALL: &str = "Install the project's packages again.";

const TESTS: &str = "test(\"passes\", () => {});\ntest(\"fails\", () => { throw new Error(\"wrong\"); });\n";
const MOCHA_TESTS: &str =
    "it(\"passes\", () => {});\nit(\"fails\", () => { throw new Error(\"wrong\"); });\n";
const LINTED: &str = "module.exports = [{ rules: { \"no-debugger\": \"error\" } }];\n";

/// One probe for Node, and one for each tool that the project brings.
pub(crate) fn probes(machine: &Machine) -> Vec<Probe> {
    let brought = OWN_TOOLS.iter().filter_map(|(tool, _)| Some(of_project(tool, first(machine, tool)?)));
    std::iter::once(of_node()).chain(brought).collect()
}

fn probe(tool: &str, files: &[(&str, &str)], steps: Vec<Step>) -> Probe {
    let files = files.iter().map(|&(name, text)| (format!("project/{name}"), text.to_owned()));
    // eslint is asked for by one preset alone.
    let role = if tool == "eslint" { StageRole::Shown } else { StageRole::Required };
    Probe { tool: tool.to_owned(), files: files.collect(), steps, role }
}

fn in_project(name: &str, argv: &[&str]) -> Step {
    let folder = RelPath::parse("project").unwrap_or_else(|_| RelPath::root());
    Step { reports: vec![REPORT.to_owned()], ..step(name, argv, &folder) }
}

fn of_node() -> Probe {
    let tests = format!("const test = require(\"node:test\");\n{TESTS}");
    let files = [
        ("tool/syntax.mjs", SYNTAX_SCRIPT),
        ("tool/node.mjs", NODE_SCRIPT),
        ("tool/loaded.cjs", LOADED_SCRIPT),
        ("code/right.js", "let x = 1;\n"),
        ("code/wrong.js", "let x = = 1;\n"),
        ("both.test.js", &tests),
    ];
    let parse =
        [NODE, "--experimental-vm-modules", "--no-warnings", "tool/syntax.mjs", "{tree}/project/code"];
    let report = format!("--test-reporter-destination={REPORT}");
    let run = [NODE, "--test", "--test-reporter=./tool/node.mjs", &report, "both.test.js"];
    let preload = [("NODE_OPTIONS", "--require ./tool/loaded.cjs")];
    let steps = vec![
        in_project("version", &[NODE, "--version"]),
        in_project("parse", &parse),
        with_env(in_project("run", &run), &preload),
    ];
    probe(NODE, &files, steps)
}

fn of_project(tool: &str, program: &str) -> Probe {
    let output = format!("--outputFile={REPORT}");
    let (files, run): (&[(&str, &str)], Vec<&str>) = match tool {
        "typescript" => (
            &[
                ("right.ts", "export const x: number = 1;\n"),
                ("wrong.ts", "export const y: number = \"\";\n"),
            ],
            vec!["--noEmit", "--pretty", "false", "right.ts", "wrong.ts"],
        ),
        "vitest" => (
            &[("package.json", "{}\n"), ("both.test.js", TESTS)],
            vec!["run", "--globals", "--reporter=json", "--cache=false", &output],
        ),
        "jest" => (
            &[("package.json", "{}\n"), ("both.test.js", TESTS)],
            vec!["--json", "--ci", "--cacheDirectory={tmp}/perspt-jest", &output],
        ),
        "mocha" => (
            &[("mocha.cjs", MOCHA_SCRIPT), ("both.js", MOCHA_TESTS)],
            vec!["--no-config", "--no-package", "--reporter=./mocha.cjs", "both.js"],
        ),
        _ => (
            &[
                ("eslint.config.js", LINTED),
                (".eslintrc.json", "{ \"root\": true, \"rules\": { \"no-debugger\": \"error\" } }\n"),
                ("right.js", "let x = 1;\n"),
                ("wrong.js", "debugger;\n"),
            ],
            vec![".", "-f", "json", "-o", REPORT],
        ),
    };
    let run: Vec<&str> = [NODE, program].into_iter().chain(run).collect();
    let run = with_env(in_project("run", &run), &[("PERSPT_RESULTS", REPORT)]);
    let steps = vec![in_project("version", &[NODE, program, "--version"]), run];
    probe(tool, files, steps)
}

/// What a probe's outputs say.
pub(crate) fn read(probe: &Probe, outputs: &[StepOutput]) -> ToolState {
    let tool = probe.tool.as_str();
    let install = if tool == NODE { INSTALL } else { REINSTALL }.to_owned();
    let missing = |why: String| ToolState::Missing { why, install: install.clone() };
    let broken = |why: String| ToolState::Broken { why, install: install.clone() };
    let Some(version) = output_of(outputs, "version") else { return missing("it was not run".to_owned()) };
    let printed = both_streams(version);
    match &version.end {
        StepEnd::Exited(0) => {}
        StepEnd::TimedOut => return broken(format!("`{tool} --version` did not answer")),
        StepEnd::NotStarted(why) => return missing(format!("node does not start: {why}")),
        StepEnd::Exited(_) | StepEnd::Signalled(_) => {
            let said = first_line(&printed);
            return broken(format!("`{tool} --version` ended with {}: {said}", version.end.shown()));
        }
    }
    let Some(run) = output_of(outputs, "run") else { return broken("its project was not run".to_owned()) };
    if outputs.iter().any(|output| output.end == StepEnd::TimedOut) {
        return broken(format!("{tool} did not answer on a project of ours"));
    }
    if saw_both(tool, run) && (tool != NODE || parsed_both(outputs)) {
        return ToolState::works(first_line(&printed).trim());
    }
    let printed = both_streams(run);
    let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    broken(format!(
        "{tool} on a project of ours, half of it wrong on purpose, did not report that: {}, {last}",
        run.end.shown()
    ))
}

fn parsed_both(outputs: &[StepOutput]) -> bool {
    let parsed = output_of(outputs, "parse").and_then(|output| syntax::parse(&text(&output.stdout)));
    let files = parsed.unwrap_or_default();
    let wrong: Vec<&str> =
        files.iter().filter(|file| file.problem.is_some()).map(|file| file.file.as_str()).collect();
    files.len() == 2 && wrong == ["wrong.js"]
}

/// Whether exactly one thing was reported right and one wrong.
fn saw_both(tool: &str, run: &StepOutput) -> bool {
    let report = run.reports.get(REPORT).map(|bytes| text(bytes)).unwrap_or_default();
    match tool {
        "typescript" => {
            let printed = text(&run.stdout);
            let errors: BTreeSet<&str> = printed
                .lines()
                .filter(|line| line.contains("error TS"))
                .filter_map(|line| line.get(..8))
                .collect();
            !run.end.is_success() && errors == BTreeSet::from(["wrong.ts"])
        }
        "eslint" => {
            let is_wrong = |file: &serde_json::Value| {
                file["messages"].as_array().is_some_and(|messages| !messages.is_empty())
                    && file["filePath"].as_str().is_some_and(|path| path.ends_with("/wrong.js"))
            };
            let files: Vec<serde_json::Value> = serde_json::from_str(&report).unwrap_or_default();
            files.len() >= 2 && files.iter().filter(|file| is_wrong(file)).count() == 1
        }
        _ => {
            let found = results::parse(&report).unwrap_or_default();
            let results = found.test_results.iter().flat_map(|file| &file.assertion_results);
            let ends: BTreeMap<&str, TestEnd> =
                results.map(|test| (test.title.as_str(), test.end())).collect();
            ends == BTreeMap::from([("fails", TestEnd::Failed), ("passes", TestEnd::Passed)])
        }
    }
}
