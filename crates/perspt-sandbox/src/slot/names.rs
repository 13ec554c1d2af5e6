//! Names that have a meaning of their own in a tree, and where a path of a tree lies.

use std::path::{Path, PathBuf};

use perspt_core::path::RelPath;

/// The folder or file in which git keeps its own things; never part of a tree, at any depth.
pub(super) const GIT: &str = ".git";

/// Whether `name` is a temporary file of publishing: `.perspt-`, eight hexadecimal digits, `-`, a number.
/// One that a killed process left behind must not become part of the user's tree.
pub(super) fn is_publish_temp(name: &str) -> bool {
    let Some((digits, number)) = name.strip_prefix(".perspt-").and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    digits.len() == 8
        && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where `path` lies below `root`. The root itself must not get a slash at its end, with which a look at it
/// would follow a link.
pub(super) fn at(root: &Path, path: &RelPath) -> PathBuf {
    if path.is_root() { root.to_owned() } else { root.join(path.as_str()) }
}
