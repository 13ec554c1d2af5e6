//! What places and names say of a file, in whatever language.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;

/// Folders of nothing but what tests read or compare with.
const DATA_FOLDERS: [&str; 8] = [
    "testdata",
    "test_data",
    "test-data",
    "golden",
    "goldens",
    "__golden__",
    "__snapshots__",
    "expected_output",
];

/// Folders of the same kind whose names a module of the project may have too.
const DATA_OR_MODULE: [&str; 5] = ["fixtures", "snapshots", "expected", "expectations", "approved"];

/// Whether a folder of this name may hold nothing but what tests read or compare with.
pub(crate) fn is_data_folder(name: &str) -> bool {
    DATA_FOLDERS.contains(&name) || DATA_OR_MODULE.contains(&name)
}

/// Whether a project is data for the tests of another one: it lies in a folder of data below that one's. A project
/// of its own may well be called `snapshots`.
pub(crate) fn is_data_of(project: &RelPath, above: &RelPath) -> bool {
    let Some(below) = project.below(above).filter(|_| project != above) else { return false };
    let folders = below.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(is_data_folder) || DATA_FOLDERS.contains(&project.name())
}

/// Whether a file is data of tests by a folder it lies in. `source` is the language's extension: a source below
/// `fixtures` or `snapshots` may be an ordinary module.
pub(crate) fn is_test_data(path: &RelPath, source: &str) -> bool {
    let below = |names: &[&str]| path.ancestors().any(|folder| names.contains(&folder.name()));
    below(&DATA_FOLDERS) || (path.extension() != Some(source) && below(&DATA_OR_MODULE))
}

/// Files that say which version of a language's tools is run.
const VERSIONS: [&str; 3] = [".tool-versions", "mise.toml", ".mise.toml"];

/// Whether a file chooses the versions of tools, for whatever language.
pub(crate) fn chooses_tools(path: &RelPath) -> bool {
    VERSIONS.contains(&path.name())
}

/// Files that have more of something than before, where all together have more: what only moved is not new.
pub(crate) fn more_than_before(
    before: &BTreeMap<RelPath, usize>,
    after: &BTreeMap<RelPath, usize>,
) -> Vec<RelPath> {
    if after.values().sum::<usize>() <= before.values().sum() {
        return Vec::new();
    }
    let more = after.iter().filter(|(path, count)| **count > before.get(*path).copied().unwrap_or_default());
    more.map(|(path, _)| path.clone()).collect()
}
