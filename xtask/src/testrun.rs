//! The one test run: built, run once, its output shown and kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kept::{End, Kept, PACKAGE};
use crate::place;
use crate::process::{Failed, at, cargo, output, tee};
use crate::tools::Tools;

/// How long each test took is an unstable option of the test programs. This unlocks it for them alone.
const RUNNER: &str = r#"target."cfg(all())".runner=["env", "RUSTC_BOOTSTRAP=1"]"#;

/// How many of the slowest tests are named after a run.
const SLOWEST: usize = 10;

/// Which tests.
pub enum Which<'a> {
    /// All of the workspace, documentation tests included.
    All,
    /// Those of some packages.
    Of(&'a [&'a str]),
}

impl Which<'_> {
    fn name(&self, command: &mut Command) {
        match self {
            Which::All => {
                command.arg("--workspace");
            }
            Which::Of(packages) => packages.iter().for_each(|package| {
                command.args(["--package", package]);
            }),
        }
    }
}

/// `cargo xtask test`.
pub fn by_hand() -> Result<(), Failed> {
    let tools = Tools::ready()?;
    let kept = run(&tools, &Which::All, &place::kept_tests()?)?;
    total(&kept);
    verdict(&kept)
}

/// Runs tests once and keeps the output in `path`.
pub fn run(tools: &Tools, which: &Which<'_>, path: &Path) -> Result<Kept, Failed> {
    let owners = owners(which)?;
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    // Under another name until it is whole: a run that was stopped must not pass for one.
    let unfinished = path.with_extension("unfinished");
    let mut keep = BufWriter::new(File::create(&unfinished).map_err(at(&unfinished))?);
    let mut command = cargo();
    command.args(["test", "--locked", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    which.name(&mut command);
    tools.put_on_path(&mut command);
    command.args(["--config", RUNNER, "--", "-Zunstable-options", "--report-time"]);
    let mut examples = cargo();
    examples.args(["test", "--locked", "--no-fail-fast", "--doc"]);
    which.name(&mut examples);
    tools.put_on_path(&mut examples);
    let mut each = |line: &str| {
        let program = line.strip_prefix("     Running ")?.strip_suffix(')')?.rsplit_once('(')?.1;
        let package = owners.get(Path::new(program).file_name()?.to_str()?)?;
        Some(format!("{PACKAGE}{package}"))
    };
    let ended_well = tee(command, &mut keep, &mut each)? & tee(examples, &mut keep, &mut each)?;
    drop(keep);
    let mut kept = Kept::read(&unfinished)?;
    if !ended_well && kept.count(End::Failed) == 0 && kept.faults.is_empty() {
        kept.faults.push("cargo test failed though no test did".to_owned());
    }
    std::fs::rename(&unfinished, path).map_err(at(path))?;
    Ok(kept)
}

/// Builds the test programs and says whose they are: cargo's own output names only their files.
fn owners(which: &Which<'_>) -> Result<BTreeMap<String, String>, Failed> {
    let mut command = cargo();
    command.args(["test", "--locked", "--no-run", "--message-format", "json-render-diagnostics"]);
    which.name(&mut command);
    let mut owners = BTreeMap::new();
    for line in output(command)?.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        if message["reason"] == "compiler-artifact"
            && message["profile"]["test"] == true
            && let (Some(program), Some(id)) =
                (message["executable"].as_str(), message["package_id"].as_str())
            && let Some(file) = Path::new(program).file_name().and_then(|name| name.to_str())
        {
            owners.insert(file.to_owned(), package_name(id).to_owned());
        }
    }
    Ok(owners)
}

/// The name in a package id, such as `path+file:///a/perspt-core#0.1.0` or `…#perspt-core@0.1.0`.
fn package_name(id: &str) -> &str {
    let (place, fragment) = id.split_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

/// Prints the slowest tests and the line that sums a run up.
pub fn total(kept: &Kept) {
    println!("the slowest tests:");
    kept.slowest(SLOWEST).iter().for_each(|(name, took)| println!("{took:>9.1} s  {name}"));
    println!("{} passed, {} failed", kept.count(End::Passed), kept.count(End::Failed));
}

/// Whether the run was clean; every failed test and every fault of the output is named.
pub fn verdict(kept: &Kept) -> Result<(), Failed> {
    kept.names(End::Failed).for_each(|name| println!("failed: {name}"));
    kept.names(End::Ignored).for_each(|name| println!("ignored: {name}"));
    kept.faults.iter().for_each(|fault| println!("fault: {fault}"));
    match (kept.count(End::Failed), kept.faults.len(), kept.count(End::Passed)) {
        (0, 0, 0) => Err(Failed("no test ran".to_owned())),
        (0, 0, _) => Ok(()),
        (failed, faults, _) => {
            Err(Failed(format!("{failed} tests failed, and {faults} faults in the output of the test run")))
        }
    }
}

/// The kept output that a page is checked against: a given file, the whole run if it is newer than every
/// source, else a run of the packages that the page names.
pub fn kept_or_run(given: Option<&str>, packages: &[&str]) -> Result<Kept, Failed> {
    if let Some(path) = given {
        return Kept::read(Path::new(path));
    }
    let whole = place::kept_tests()?;
    if is_newer_than_sources(&whole)? {
        return Kept::read(&whole);
    }
    println!("no kept output of this state of the sources: running the tests of {}", packages.join(", "));
    let kept = run(&Tools::ready()?, &Which::Of(packages), &whole.with_file_name("some-tests.txt"))?;
    total(&kept);
    Ok(kept)
}

fn is_newer_than_sources(path: &Path) -> Result<bool, Failed> {
    let Ok(kept_at) = std::fs::metadata(path).and_then(|kept| kept.modified()) else { return Ok(false) };
    let root = place::root()?;
    let mut files = Command::new("git");
    files.current_dir(&root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    files.args(["--", "crates", "Cargo.toml", "Cargo.lock"]);
    let changed_at = |name: &str| root.join(name).metadata().and_then(|file| file.modified()).ok();
    let files = output(files)?;
    let newest: Option<PathBuf> = files
        .split('\0')
        .filter(|name| !name.is_empty())
        .find(|name| changed_at(name).is_none_or(|changed| changed > kept_at))
        .map(PathBuf::from);
    if let Some(newest) = &newest {
        println!("{} is newer than the kept output", newest.display());
    }
    Ok(newest.is_none())
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn a_package_id_names_its_package_in_both_forms() {
        assert_eq!(package_name("path+file:///a/perspt-core#0.1.0"), "perspt-core");
        assert_eq!(package_name("path+file:///a/core#perspt-core@0.1.0"), "perspt-core");
    }
}
