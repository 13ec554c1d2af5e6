//! Long runs of suites that CI only samples: the same tests, other seeds, more cases.

use std::fs::File;
use std::io::BufWriter;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::kept::{End, Kept, PACKAGE};
use crate::place;
use crate::process::{Failed, at, cargo, tee};
use crate::testrun;
use crate::tools::Tools;

/// A suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Sessions killed at every point and resumed.
    Crash,
    /// The fold over random sequences of events.
    Fold,
    /// Log, blobs and publication over a disk that loses what was not synced.
    Disk,
}

impl Suite {
    /// All of them.
    pub const ALL: [Suite; 3] = [Suite::Crash, Suite::Fold, Suite::Disk];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Crash => "crash",
            Suite::Fold => "fold",
            Suite::Disk => "disk",
        }
    }

    /// The package and the words that pick its tests; none picks all. A sample takes those that depend on
    /// the seed: the others have run before it, in the one test run.
    fn tests(self, extent: Extent) -> (&'static str, &'static [&'static str]) {
        match (self, extent) {
            (Suite::Crash, Extent::Whole) => ("perspt-testkit", &["crash::"]),
            (Suite::Crash, Extent::Sample) => ("perspt-testkit", &["crash::killed_again"]),
            (Suite::Fold, Extent::Whole) => ("perspt-core", &[]),
            (Suite::Fold, Extent::Sample) => ("perspt-core", &["plausible::", "babble::", "nonsense::"]),
            (Suite::Disk, Extent::Whole) => {
                ("perspt-store", &["crash::", "syncs::", "faults::", "edits::", "log::"])
            }
            (Suite::Disk, Extent::Sample) => ("perspt-store", &["crash::", "log::"]),
        }
    }
}

/// How much of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// What CI has time for.
    Sample,
}

impl Extent {
    /// Cases a property is tried with in one round.
    fn cases(self) -> &'static str {
        match self {
            Extent::Whole => "4096",
            Extent::Sample => "512",
        }
    }
}

/// `cargo xtask heavy <suite> [--seed N] [--minutes M]`.
pub fn by_hand(words: &[&str]) -> Result<(), Failed> {
    let [name, options @ ..] = words else {
        return Err(Failed("which suite? `crash`, `fold` or `disk`".to_owned()));
    };
    let suite = Suite::ALL.into_iter().find(|suite| suite.name() == *name);
    let suite = suite.ok_or_else(|| Failed(format!("there is no suite `{name}`")))?;
    let (mut seed, mut minutes) = (std::process::id().into(), 10);
    for pair in options.chunks(2) {
        let bad = || Failed(format!("{pair:?}: `--seed N` and `--minutes M` take whole numbers"));
        match pair {
            ["--seed", text] => seed = text.parse().map_err(|_| bad())?,
            ["--minutes", text] => minutes = text.parse().map_err(|_| bad())?,
            _ => return Err(bad()),
        }
    }
    run(&Tools::ready()?, suite, Extent::Whole, seed, Duration::from_secs(60 * minutes))
}

/// Runs a suite with one seed after the other until the time is up, at least once.
pub fn run(tools: &Tools, suite: Suite, extent: Extent, seed: u64, time: Duration) -> Result<(), Failed> {
    let begun = Instant::now();
    for seed in seed.. {
        println!("heavy {}: seed {seed}", suite.name());
        let kept = round(tools, suite, extent, seed)?;
        let repeat = format!("repeat with `cargo xtask heavy {} --seed {seed} --minutes 0`", suite.name());
        testrun::verdict(&kept).map_err(|failed| Failed(format!("{failed}; {repeat}")))?;
        println!("heavy {}: seed {seed}: {} tests passed", suite.name(), kept.count(End::Passed));
        if begun.elapsed() >= time {
            return Ok(());
        }
    }
    Ok(())
}

fn round(tools: &Tools, suite: Suite, extent: Extent, seed: u64) -> Result<Kept, Failed> {
    let (package, words) = suite.tests(extent);
    let mut command: Command = cargo();
    command.args(["test", "--locked", "--package", package, "--test", "it", "--", "--include-ignored"]);
    // This one writes files.
    command.args(["--skip", "the_golden_files_are_written"]);
    command.args(words);
    command.env("PROPTEST_CASES", extent.cases()).env("PROPTEST_RNG_SEED", seed.to_string());
    command.env("PERSPT_HEAVY_SEED", seed.to_string());
    if extent == Extent::Whole {
        command.env("PERSPT_HEAVY_WHOLE", "1");
    }
    tools.put_on_path(&mut command);
    let path = place::kept_tests()?.with_file_name(format!("heavy-{}.txt", suite.name()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let mut keep = BufWriter::new(File::create(&path).map_err(at(&path))?);
    let mut each = |line: &str| line.starts_with("     Running ").then(|| format!("{PACKAGE}{package}"));
    let ended_well = tee(command, &mut keep, &mut each)?;
    drop(keep);
    let mut kept = Kept::read(&path)?;
    if !ended_well && kept.count(End::Failed) == 0 && kept.faults.is_empty() {
        kept.faults.push("cargo test failed though no test did".to_owned());
    }
    Ok(kept)
}
