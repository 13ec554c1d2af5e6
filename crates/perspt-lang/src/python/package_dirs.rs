//! Folders that build settings import packages from, as setuptools, hatch, poetry, pdm, uv and maturin name them.

use perspt_core::path::RelPath;
use serde_json::Value;

use super::ini;
use crate::plugin::Files;
use crate::shared::toml::{at, parse, texts};

/// Keys that name one folder.
const ONE: [&[&str]; 4] = [
    &["tool", "setuptools", "package-dir", ""],
    &["tool", "pdm", "build", "package-dir"],
    &["tool", "uv", "build-backend", "module-root"],
    &["tool", "maturin", "python-source"],
];

/// Keys that list folders.
const SEVERAL: [&[&str]; 4] = [
    &["tool", "setuptools", "packages", "find", "where"],
    &["tool", "hatch", "build", "sources"],
    &["tool", "hatch", "build", "targets", "wheel", "sources"],
    &["tool", "hatch", "build", "dev-mode-dirs"],
];

/// Keys that list packages: each is imported from the folder it lies in.
const PACKAGES: [&[&str]; 2] =
    [&["tool", "hatch", "build", "packages"], &["tool", "hatch", "build", "targets", "wheel", "packages"]];

/// Those that a folder's own `pyproject.toml` and `setup.cfg` name.
pub(crate) fn named(files: &dyn Files, dir: &RelPath) -> Vec<RelPath> {
    let text = |name: &str| files.text(&dir.join(name).ok()?);
    let document = text("pyproject.toml").and_then(|text| parse(&text)).unwrap_or_default();
    let mut names = of_document(&document);
    names.extend(text("setup.cfg").map(|text| of_setup_cfg(&text)).unwrap_or_default());
    let is_plain = |name: &&String| !name.is_empty() && *name != ".";
    names.iter().filter(is_plain).filter_map(|name| dir.join(name.trim_end_matches('/')).ok()).collect()
}

fn of_document(document: &Value) -> Vec<String> {
    let one = ONE.iter().filter_map(|key| at(document, key)?.as_str()).map(str::to_owned);
    let several = SEVERAL.iter().flat_map(|key| texts(document, key)).map(str::to_owned);
    let above = |package: &str| package.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let packages = PACKAGES.iter().flat_map(|key| texts(document, key)).filter_map(above);
    let of_poetry = at(document, &["tool", "poetry", "packages"]).and_then(Value::as_array);
    let from = of_poetry.into_iter().flatten().filter_map(|package| package.get("from")?.as_str());
    one.chain(several).chain(packages).chain(from.map(str::to_owned)).collect()
}

fn of_setup_cfg(text: &str) -> Vec<String> {
    let mut sections = ini::sections(text);
    let mut value =
        |section: &str, key: &str| sections.get_mut(section).and_then(|section| section.remove(key));
    let find = value("options.packages.find", "where").unwrap_or_default();
    // `=lib`: the package without a name is the folder of all.
    let mapped = value("options", "package_dir").unwrap_or_default();
    let all = mapped.lines().filter_map(|line| {
        let (package, folder) = line.split_once('=')?;
        package.trim().is_empty().then(|| folder.trim().to_owned())
    });
    find.split_whitespace().map(str::to_owned).chain(all).collect()
}
