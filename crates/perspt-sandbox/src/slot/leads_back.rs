//! Links through which a stage in a slot would reach the original workspace.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use perspt_core::path::RelPath;
use perspt_core::tree::{EntryKind, Tree};

use super::names::at;

/// As many links in a row as the kernel follows.
const MOST_HOPS: u32 = 40;

/// The texts of the links of `tree`, read from the folder in which it lies.
pub fn link_texts(folder: &Path, tree: &Tree) -> io::Result<BTreeMap<RelPath, Vec<u8>>> {
    let links = tree.entries.iter().filter(|(_, entry)| entry.kind == EntryKind::Symlink);
    links
        .map(|(path, _)| {
            let text = fs::read_link(at(folder, path))?;
            Ok((path.clone(), text.into_os_string().into_vec()))
        })
        .collect()
}

/// The links of `tree`, by path, that lead out of a slot in a way that may end in the original workspace:
/// absolute ones into `workspace` or to a folder above it, and relative ones that leave the tree. Other
/// links of the tree on their way are followed by their `texts`; one whose text is not given counts as
/// leading back.
///
/// Absolute links elsewhere are not looked into: this reads no disk, so one that leads back through a link
/// outside the tree is not found.
pub fn leads_back(tree: &Tree, texts: &BTreeMap<RelPath, Vec<u8>>, workspace: &Path) -> Vec<RelPath> {
    let links = tree.entries.iter().filter(|(_, entry)| entry.kind == EntryKind::Symlink);
    let texts = Texts { tree, texts, workspace };
    links.filter(|(path, _)| texts.end_of(path) == LinkEnd::Back).map(|(path, _)| path.clone()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkEnd {
    /// Inside the tree, or nowhere.
    Inside,
    /// Outside both the tree and the workspace.
    Elsewhere,
    /// Into the original workspace, or where it may be reached from.
    Back,
}

struct Texts<'a> {
    tree: &'a Tree,
    texts: &'a BTreeMap<RelPath, Vec<u8>>,
    workspace: &'a Path,
}

impl Texts<'_> {
    /// Where following the link at `path` ends.
    fn end_of(&self, path: &RelPath) -> LinkEnd {
        // Parts still to go, the next one last; and the place reached so far, inside the tree.
        let mut ahead: Vec<OsString> = path.as_str().rsplit('/').map(OsString::from).collect();
        let mut reached: Vec<OsString> = Vec::new();
        let mut hops = 0;
        while let Some(part) = ahead.pop() {
            if part == ".." {
                if reached.pop().is_none() {
                    return LinkEnd::Back;
                }
                continue;
            }
            reached.push(part);
            let Some(link) = self.link_at(&reached) else { continue };
            hops += 1;
            if hops > MOST_HOPS {
                return LinkEnd::Inside;
            }
            let Some(text) = self.texts.get(&link) else { return LinkEnd::Back };
            let text = Path::new(OsStr::from_bytes(text));
            if text.is_absolute() {
                let rest: Vec<&OsString> = ahead.iter().rev().collect();
                return self.end_of_absolute(text, &rest);
            }
            reached.pop();
            ahead.extend(text.components().rev().filter_map(part_of));
        }
        LinkEnd::Inside
    }

    fn end_of_absolute(&self, text: &Path, rest: &[&OsString]) -> LinkEnd {
        let mut place = Vec::new();
        for part in text.components().filter_map(part_of).chain(rest.iter().map(|part| (*part).clone())) {
            if part == ".." {
                place.pop();
            } else {
                place.push(part);
            }
        }
        let workspace: Vec<OsString> = self.workspace.components().filter_map(part_of).collect();
        if place.starts_with(&workspace) || workspace.starts_with(&place) {
            LinkEnd::Back
        } else {
            LinkEnd::Elsewhere
        }
    }

    fn link_at(&self, parts: &[OsString]) -> Option<RelPath> {
        let parts: Option<Vec<&str>> = parts.iter().map(|part| part.to_str()).collect();
        let path = RelPath::parse(&parts?.join("/")).ok()?;
        let entry = self.tree.entries.get(&path)?;
        (entry.kind == EntryKind::Symlink).then_some(path)
    }
}

fn part_of(component: Component<'_>) -> Option<OsString> {
    match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    }
}
