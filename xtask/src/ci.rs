//! Everything CI does, in order; the first thing that fails ends it.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{Failed, cargo, run};
use crate::tools::Tools;
use crate::{accept, deny, heavy, place, requirements, testrun};

/// The seed of the samples, fixed so that a red run can be repeated.
const SEED: u64 = 20_260_311;

/// `cargo xtask ci`.
pub fn run_all() -> Result<(), Failed> {
    let mut steps = Steps::default();
    let root = place::root()?;
    let cargo_with = |words: &[&str]| -> Command {
        let mut command = cargo();
        command.current_dir(&root).args(words);
        command
    };
    steps.step("fmt", || run(cargo_with(&["fmt", "--all", "--check"])))?;
    steps.step("clippy", || {
        run(cargo_with(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    let tools = steps.step("tools", Tools::ready)?;
    let kept = steps.step("tests", || {
        let kept = testrun::run(&tools, &testrun::Which::All, &place::kept_tests()?)?;
        if let Err(failed) = testrun::verdict(&kept) {
            testrun::total(&kept);
            return Err(failed);
        }
        Ok(kept)
    })?;
    steps.step("docs", || {
        let mut doc = cargo_with(&["doc", "--locked", "--workspace", "--no-deps"]);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        run(doc)
    })?;
    steps.step("deny", deny::check)?;
    steps.step("requirements", || requirements::check(&kept))?;
    steps.step("accept", || accept::check(&kept))?;
    for suite in heavy::Suite::ALL {
        steps.step(&format!("heavy {}", suite.name()), || {
            heavy::run(&tools, suite, heavy::Extent::Sample, SEED, Duration::ZERO)
        })?;
    }
    steps.done();
    testrun::total(&kept);
    Ok(())
}

#[derive(Default)]
struct Steps {
    took: Vec<(String, Duration)>,
}

impl Steps {
    fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
        println!("== {name}");
        let begun = Instant::now();
        let result = work().map_err(|failed| Failed(format!("{name}: {failed}")))?;
        self.took.push((name.to_owned(), begun.elapsed()));
        Ok(result)
    }

    fn done(&self) {
        let took: Vec<String> =
            self.took.iter().map(|(name, took)| format!("{name} {}s", took.as_secs())).collect();
        println!("== all steps passed: {}", took.join(", "));
    }
}
