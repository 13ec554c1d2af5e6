//! Looks beyond a language's own stages: lines behind a `cfg`, data files, shell scripts.

use perspt_core::grade::Grade;
use perspt_core::reading::StageKind;
use perspt_core::stage::{Stage, StepEnd, StepOutput};
use perspt_lang::plugin::{Files, Further, Machine, Pair, ReadContext, Tools};
use perspt_lang::{data, plugin, shell};

use crate::rust_read::manifest;
use crate::support::{Map, path};

const FEATURES: &str = "\n[features]\ndefault = [\"basic\"]\nbasic = []\nextra = []\n";

/// What is said of the changed lines of `src/lib.rs`, and whether one more check is made.
fn gated(before: &str, after: &str, further: Further) -> (Vec<(u32, u32, Grade, String)>, bool) {
    let base = Map::of(&[("Cargo.toml", &format!("{}{FEATURES}", manifest("demo"))), ("src/lib.rs", before)]);
    let candidate = base.with("src/lib.rs", after);
    let pair = Pair { base: &base, candidate: &candidate };
    let rust = plugin("rust").unwrap();
    let root = rust.roots(&candidate).remove(0);
    let more = rust.further_checks(StageKind::Build, &root, &pair, &Machine::default());
    let features = |argv: &[String]| argv.windows(2).any(|two| two == ["--features", "extra"]);
    assert!(more.iter().all(|step| features(&step.argv)), "{more:?}");
    let parts = rust.less_proved(StageKind::Build, &pair, further).into_iter();
    let parts = parts.map(|part| (part.lines.0, part.lines.1, part.grade, part.why)).collect();
    (parts, !more.is_empty())
}

#[test]
fn changed_lines_behind_a_cfg_are_said_and_a_feature_that_is_off_is_checked() {
    let plain = "pub fn a() {}\n";
    let behind = |condition: &str| format!("{plain}\n#[cfg({condition})]\npub fn b() {{\n    a()\n}}\n");
    for (condition, built, grade, more) in [
        ("windows", false, Some(Grade::Syntax), false),
        ("not(test)", false, Some(Grade::Build), false),
        ("feature = \"extra\"", false, Some(Grade::Syntax), true),
        ("feature = \"extra\"", true, Some(Grade::Build), true),
        ("all(windows, feature = \"extra\")", true, Some(Grade::Syntax), true),
        ("any(unix, feature = \"extra\")", false, None, true),
        ("feature = \"basic\"", false, None, false),
        ("not(windows)", false, None, false),
        ("test", false, None, false),
        ("unix", false, None, false),
        ("unknown_to_all", false, Some(Grade::Syntax), false),
    ] {
        let after = behind(condition);
        let further = if built { Further::Looked } else { Further::DidNotLook };
        let (parts, asked) = gated(plain, &after, further);
        let expected: Vec<_> =
            grade.into_iter().map(|grade| (3, 6, grade, format!("cfg({condition})"))).collect();
        assert_eq!((parts, asked), (expected, more), "{condition}");
        // What stood there before is nobody's change.
        let other = format!("{after}\npub fn c() {{}}\n");
        assert_eq!(gated(&after, &other, Further::DidNotLook), (vec![], false), "{condition}");
    }
    let whole = "#![cfg(windows)]\npub fn a() {}\n";
    assert_eq!(gated("", whole, Further::DidNotLook).0, [(1, 3, Grade::Syntax, "cfg(windows)".to_owned())]);
}

/// Whole files: a module behind a feature, and a program that wants one.
#[test]
fn files_behind_a_feature_are_checked_with_it() {
    let bin = "\n[[bin]]\nname = \"tool\"\nrequired-features = [\"extra\"]\n";
    let base = Map::of(&[
        ("Cargo.toml", &format!("{}{FEATURES}{bin}", manifest("demo"))),
        ("src/lib.rs", "#[cfg(feature = \"extra\")]\npub(crate) mod ex;\n"),
        ("src/ex.rs", "mod deep;\n"),
    ]);
    let rust = plugin("rust").unwrap();
    for (path, asks) in
        [("src/ex.rs", true), ("src/ex/deep.rs", true), ("src/bin/tool.rs", true), ("src/lib.rs", false)]
    {
        let candidate = base.with(
            path,
            &format!(
                "{}// more\n",
                base.texts().get(&crate::support::path(path)).cloned().unwrap_or_default()
            ),
        );
        let pair = Pair { base: &base, candidate: &candidate };
        let root = rust.roots(&candidate).remove(0);
        let more = rust.further_checks(StageKind::Build, &root, &pair, &Machine::default());
        assert_eq!(more.len(), usize::from(asks), "{path}");
    }
}

#[test]
fn data_is_parsed_where_its_name_says_what_it_is() {
    for (name, right, wrong) in [
        ("package.json", "{\"a\": [1]}", "{\"a\": [1,]}"),
        ("pyproject.toml", "[a]\nb = 1\n", "[a\nb = 1\n"),
        (".github/workflows/ci.yml", "on: push\njobs:\n  a: {}\n---\nb: 1\n", "on: [push\njobs: }\n"),
    ] {
        assert_eq!(data::check(&path(name), right), Some(Ok(())), "{name}");
        assert!(data::check(&path(name), wrong).unwrap().is_err(), "{name}");
    }
    // Files that allow comments, templates, and what nothing here parses.
    for (name, text) in [
        ("tsconfig.json", "{ // why\n}"),
        (".vscode/settings.json", "{,}"),
        ("chart/templates/a.yaml", "a: {{ .Values.b }}\n"),
        ("page.html", "<p>"),
        ("Makefile", "all:"),
    ] {
        assert_eq!(data::check(&path(name), text), None, "{name}");
    }
}

#[test]
fn scripts_are_checked_by_the_shell_they_are_for() {
    let candidate = Map::of(&[
        ("a.sh", "echo\n"),
        ("b.sh", "#!/bin/bash -e\necho\n"),
        ("tools/run", "#!/usr/bin/env bash\necho\n"),
        ("tools/py", "#!/usr/bin/env python3\n"),
        ("c.sh", "#!/bin/zsh\n"),
        ("notes.txt", "#!/bin/sh\n"),
    ]);
    let pair = Pair { base: &Map::default(), candidate: &candidate };
    let asked: Vec<String> = shell::checks(&pair).iter().map(|step| step.argv.join(" ")).collect();
    assert_eq!(asked, ["bash -n {tree}/a.sh", "bash -n {tree}/b.sh", "bash -n {tree}/tools/run"]);
    let output = |end: StepEnd, stderr: &str| StepOutput {
        step: "a.sh".to_owned(),
        end,
        stdout: vec![],
        stderr: stderr.as_bytes().to_vec(),
        cut: false,
        reports: Default::default(),
    };
    assert!(shell::read(&output(StepEnd::Exited(0), "")).unwrap().is_empty());
    assert!(shell::read(&output(StepEnd::NotStarted("no sh".to_owned()), "")).is_none());
    let found =
        shell::read(&output(StepEnd::Exited(2), "/w/a.sh: 2: Syntax error: \"then\" unexpected\n")).unwrap();
    assert_eq!(found[0].message, "\"then\" unexpected");
    assert_eq!((found[0].file.clone(), found[0].place.unwrap().line), (Some(path("a.sh")), 2));
}

#[test]
fn undefined_names_are_read_from_either_checker_and_a_missing_one_says_nothing() {
    let python = plugin("python").unwrap();
    let files = Map::of(&[("pyproject.toml", ""), ("app/geo.py", "x = missing\n")]);
    let root = python.roots(&files).remove(0);
    let stage = Stage::required(StageKind::Syntax, "python", vec![]);
    let seen = |code: i32, stdout: &str, stderr: &str| {
        let output = StepOutput {
            step: "names".to_owned(),
            end: StepEnd::Exited(code),
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.as_bytes().to_vec(),
            cut: false,
            reports: Default::default(),
        };
        let context = ReadContext {
            tree: files.tree().id(),
            root: &root,
            seen_as: "/w",
            files: &files,
            tools: &Tools::new(),
        };
        let seen = python.read_further(&stage, &output, &context)?;
        Some(
            seen.residuals
                .into_iter()
                .map(|one| (one.file.unwrap(), one.place.unwrap().line, one.message))
                .collect::<Vec<_>>(),
        )
    };
    let found = Some(vec![(path("app/geo.py"), 1, "undefined name `missing`".to_owned())]);
    assert_eq!(seen(1, "/w/app/geo.py:1:5: undefined name 'missing'\n", ""), found);
    assert_eq!(seen(1, "/w/app/geo.py:1:5: F821 Undefined name `missing`\nFound 1 error.\n", ""), found);
    assert_eq!(seen(1, "/w/app/geo.py:1:1: 'os' imported but unused\n", ""), Some(vec![]));
    assert_eq!(seen(1, "", "python3: No module named pyflakes\n"), None);
}
