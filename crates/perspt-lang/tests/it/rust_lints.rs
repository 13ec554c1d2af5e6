//! Real clippy and rustfmt: what the strict preset measures besides.

use perspt_core::reading::{Reading, StageKind};
use perspt_core::residual::{Residual, Severity};
use perspt_core::stage::Preset;
use perspt_lang::plugin::{Files, Machine, Selection, Terms, ToolState};
use perspt_lang::{Plugin, plugin};

use crate::rust_read::manifest;
use crate::support::{Map, Slot, path, terms, working};

fn rust() -> &'static dyn Plugin {
    plugin("rust").unwrap()
}

fn strict() -> Slot {
    let mut slot = Slot::new();
    slot.preset = Preset::Strict;
    slot
}

const NEAT: &str = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n";

fn package(lib: &str) -> Map {
    Map::of(&[("Cargo.toml", &manifest("demo")), ("src/lib.rs", lib)])
}

/// Who found what, where.
fn found(reading: &Reading) -> Vec<(String, String, u32)> {
    let line = |residual: &Residual| residual.place.map_or(0, |place| place.line);
    let one = |residual: &Residual| {
        let code = residual.symbol.clone().unwrap_or_else(|| residual.sensor.clone());
        (code, residual.file.as_ref().map(ToString::to_string).unwrap_or_default(), line(residual))
    };
    reading.residuals.iter().map(one).collect()
}

#[test]
fn clippy_and_rustfmt_look_in_the_strict_preset_alone() {
    let files = package(NEAT);
    let root = rust().roots(&files).remove(0);
    let (machine, tools, selection) = (Machine::default(), working(), Selection::default());
    for preset in Preset::ALL {
        let terms = Terms { preset, ..terms(&machine, &tools, &selection) };
        let kinds: Vec<StageKind> =
            rust().stages(&root, &files, &terms).into_iter().flatten().map(|stage| stage.kind).collect();
        let lints = kinds.contains(&StageKind::Lint);
        assert_eq!(lints, preset == Preset::Strict, "{preset:?}");
        let probed = rust().probes_for(&files, &machine, preset);
        assert_eq!(probed.len(), if lints { 3 } else { 1 }, "{preset:?}");
    }
    for tool in ["clippy", "rustfmt"] {
        let mut tools = tools.clone();
        let (why, install) = ("not there".to_owned(), "get it".to_owned());
        tools.insert(tool.to_owned(), ToolState::Missing { why, install });
        let terms = Terms { preset: Preset::Strict, tools: &tools, ..terms(&machine, &tools, &selection) };
        let lack = rust().stages(&root, &files, &terms).into_iter().find_map(Result::err).unwrap();
        assert_eq!((lack.stage, lack.tool.as_str()), (StageKind::Lint, tool));
    }
}

#[test]
fn lints_and_files_that_are_not_formatted_are_warnings_with_their_place() {
    let messy = format!(
        "{NEAT}\npub fn same(x: &Vec<u32>) -> bool {{\n    return  x.len() == 0;\n}}\n\nfn unused() {{}}\n"
    );
    let slot = strict();
    let reading = slot.read(rust(), &package(&messy), StageKind::Lint);
    let found = found(&reading);
    let lib = || "src/lib.rs".to_owned();
    for (code, line) in [("clippy::ptr_arg", 5), ("clippy::needless_return", 6), ("rustfmt", 6)] {
        assert!(found.contains(&(code.to_owned(), lib(), line)), "{code}: {found:?}");
    }
    // That a function is unused is the build's finding.
    assert!(found.iter().all(|(code, ..)| code.starts_with("clippy::") || code == "rustfmt"), "{found:?}");
    assert!(reading.residuals.iter().all(|residual| residual.severity == Severity::Warning));
    assert!(reading.looked.contains(&path("src/lib.rs")));
    assert_eq!(slot.read(rust(), &package(NEAT), StageKind::Lint).residuals, []);
}

#[test]
fn what_clippy_refuses_is_an_error_and_rustfmt_looks_all_the_same() {
    let refused = "pub fn same(x: u32) -> bool {\n    x ==  x\n}\n";
    let reading = strict().read(rust(), &package(refused), StageKind::Lint);
    let errors: Vec<_> = reading.residuals.iter().filter(|one| one.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].symbol.as_deref(), Some("clippy::eq_op"));
    assert!(found(&reading).iter().any(|(code, ..)| code == "rustfmt"));
}

#[test]
fn both_see_what_is_planted_also_where_the_project_allows_every_lint_and_is_not_formatted() {
    let old = "#![allow(clippy::all)]\npub fn same(x: u32) -> bool {\n    x ==  x\n}\n";
    for files in [
        package(NEAT),
        package(old),
        package(NEAT).with("Cargo.toml", &format!("{}autotests = false\n", manifest("demo"))),
    ] {
        let slot = strict();
        let without = slot.read(rust(), &files, StageKind::Lint);
        let root = rust().roots(&files).remove(0);
        let plants = rust().plants(StageKind::Lint, &root, &files, "planted123");
        assert_eq!(plants.len(), 2);
        for plant in plants {
            let (machine, tools) = (Machine::default(), working());
            let with = slot.read_planted(rust(), &files, &plant, StageKind::Lint, (&machine, &tools));
            assert!(plant.expect.is_met(&without, &with), "{}: {:?}", plant.what, with.residuals);
            assert!(!plant.expect.is_met(&with, &with), "{}", plant.what);
        }
    }
}

#[test]
fn a_project_that_rustfmt_leaves_alone_is_not_looked_at_by_it() {
    let files = package("pub fn  f( ) { }\n").with("rustfmt.toml", "disable_all_formatting = true\n");
    assert_eq!(strict().read(rust(), &files, StageKind::Lint).residuals, []);
    let root = rust().roots(&files).remove(0);
    assert_eq!(rust().plants(StageKind::Lint, &root, &files, "planted123").len(), 1);
    assert!(files.text(&path("rustfmt.toml")).is_some());
}

#[test]
fn the_probes_of_clippy_and_rustfmt_tell_working_and_missing_apart() {
    let machine = Machine::default();
    for probe in rust().probes_for(&package(NEAT), &machine, Preset::Strict) {
        let state = rust().read_probe(&probe, &Slot::probe(&probe, None));
        assert!(matches!(state, ToolState::Works { .. }), "{}: {state:?}", probe.tool);
        let mut outputs = Slot::probe(&probe, None);
        outputs[1].stdout.clear();
        let state = rust().read_probe(&probe, &outputs);
        assert!(matches!(state, ToolState::Broken { .. }), "{}: {state:?}", probe.tool);
    }
    let pinned = package(NEAT).with("rust-toolchain.toml", "[toolchain]\nchannel = \"1.0.0\"\n");
    for probe in rust().probes_for(&pinned, &machine, Preset::Strict).into_iter().skip(1) {
        let state = rust().read_probe(&probe, &Slot::probe(&probe, None));
        assert!(matches!(state, ToolState::Missing { .. }), "{}: {state:?}", probe.tool);
    }
}
