//! The list of a tree's paths, bounded: every path where they fit, else names near the files that matter and folders with
//! counts for the rest.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::tree::Tree;

/// Folders are counted down to this depth at most.
const DEEPEST: usize = 4;

/// A list of paths.
pub(super) struct Listing {
    pub text: String,
    /// Paths that it does not name.
    pub unnamed: usize,
}

/// Every path, or as much as `most` tokens hold: first the names in the folders of `near`, the nearest first, then
/// folders with how many other files they hold.
pub(super) fn listing(tree: &Tree, near: &[RelPath], most: u64) -> Listing {
    let bytes = usize::try_from(most.saturating_mul(3)).unwrap_or(usize::MAX);
    let all: usize = tree.entries.keys().map(|path| path.as_str().len() + 1).sum();
    if all <= bytes {
        let names: Vec<&str> = tree.entries.keys().map(RelPath::as_str).collect();
        return Listing { text: names.join("\n"), unnamed: 0 };
    }
    // Half is for names, the rest for folders.
    let named = names_near(tree, near, bytes / 2);
    let used: usize = named.iter().map(|path| path.as_str().len() + 1).sum();
    let rest: Vec<&RelPath> = tree.entries.keys().filter(|path| !named.contains(path)).collect();
    let mut lines: Vec<String> = named.iter().map(|path| path.as_str().to_owned()).collect();
    lines.extend(folders(&rest, bytes.saturating_sub(used)));
    Listing { text: lines.join("\n"), unnamed: rest.len() }
}

/// The names in the folders nearest to some files, whole folders at a time.
fn names_near<'t>(tree: &'t Tree, near: &[RelPath], bytes: usize) -> BTreeSet<&'t RelPath> {
    let mut named = BTreeSet::new();
    let mut left = bytes;
    let mut looked: BTreeSet<RelPath> = BTreeSet::new();
    let deepest = near.iter().map(|path| path.parts().count()).max().unwrap_or(0);
    for up in 0..deepest {
        for folder in near.iter().filter_map(|path| path.ancestors().nth(up)) {
            if !looked.insert(folder.clone()) {
                continue;
            }
            let inside: Vec<&RelPath> = files_in(tree, &folder);
            let length: usize = inside.iter().map(|path| path.as_str().len() + 1).sum();
            if length <= left {
                left -= length;
                named.extend(inside);
            }
        }
    }
    named
}

/// The files directly in a folder.
fn files_in<'t>(tree: &'t Tree, folder: &RelPath) -> Vec<&'t RelPath> {
    let is_inside = |path: &&RelPath| path.parent().as_ref() == Some(folder);
    tree.entries.keys().filter(is_inside).collect()
}

/// Folders with counts, as deep as fits.
fn folders(paths: &[&RelPath], bytes: usize) -> Vec<String> {
    let at_depth = |depth: usize| -> Vec<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for path in paths {
            let parts: Vec<&str> = path.parts().collect();
            let folder = parts[..parts.len().saturating_sub(1).min(depth)].join("/");
            *counts.entry(folder).or_default() += 1;
        }
        let shown = |folder: &str| if folder.is_empty() { "./".to_owned() } else { format!("{folder}/") };
        counts.iter().map(|(folder, count)| format!("{} ({count} more files)", shown(folder))).collect()
    };
    let length = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut lines =
        (1..=DEEPEST).rev().map(at_depth).find(|lines| length(lines) <= bytes).unwrap_or_else(|| at_depth(1));
    let mut cut = 0;
    while length(&lines) + 40 > bytes && lines.pop().is_some() {
        cut += 1;
    }
    if cut > 0 {
        lines.push(format!("(and {cut} more folders)"));
    }
    lines
}
