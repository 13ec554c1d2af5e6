//! Benchmarks: times and ratios, printed for a person. Clocks on shared machines mean little, so things are
//! measured in interleaved pairs, ratios matter more than times, and nothing here decides anything.

mod demo;
mod store;

use std::path::PathBuf;
use std::time::Duration;

use crate::place;
use crate::process::{Failed, cargo, run as run_to_end};

/// `cargo xtask bench [--clone]`.
pub fn run(words: &[&str]) -> Result<(), Failed> {
    let clone = match words {
        [] => Clone::No,
        ["--clone"] => Clone::Yes,
        _ => return Err(Failed("`bench` takes `--clone` or nothing".to_owned())),
    };
    if cfg!(debug_assertions) {
        let mut again = cargo();
        again.current_dir(place::root()?).args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--",
            "bench",
        ]);
        again.args(words);
        return run_to_end(again);
    }
    let scratch = Scratch::new("bench")?;
    store::append(&scratch.0)?;
    store::verify(&scratch.0)?;
    let binary = demo::binary()?;
    demo::own_time(&binary, &scratch.0)?;
    if clone == Clone::Yes {
        demo::fresh_clone(&scratch.0)?;
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Clone {
    Yes,
    No,
}

/// A folder for one run, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Scratch, Failed> {
        let path = std::env::temp_dir().join(format!("perspt-{name}-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of its temp folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Times of one thing, done again and again.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn at(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share) as usize).copied().unwrap_or_default()
    }

    fn show(&self, name: &str) {
        let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1000.0);
        println!("  {name:<28} p50 {} ms, p90 {} ms", ms(self.at(0.5)), ms(self.at(0.9)));
    }

    fn ratio(&self, other: &Times) -> f64 {
        self.at(0.5).as_secs_f64() / other.at(0.5).as_secs_f64().max(f64::MIN_POSITIVE)
    }
}
