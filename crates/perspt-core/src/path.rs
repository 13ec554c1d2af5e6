//! Workspace-relative paths: the only way core names a file.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// A normalised path below the workspace: UTF-8, `/` between parts, no `.`, `..`, empty part or NUL.
/// The empty path is the workspace itself and is made by [`RelPath::root`] alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

/// Why a text does not name a file below the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing is left after normalising.
    #[error("the path is empty")]
    Empty,
    /// It starts at the root of the file system.
    #[error("`{0}` is an absolute path; paths are relative to the workspace")]
    Absolute(String),
    /// Its `..` parts lead out.
    #[error("`{0}` leads outside the workspace")]
    Outside(String),
    /// It holds a NUL or another control character.
    #[error("the path holds a control character")]
    Control,
}

impl RelPath {
    /// The workspace itself.
    pub fn root() -> RelPath {
        RelPath(String::new())
    }

    /// Reads a path, resolving `.` and `..` by text alone.
    pub fn parse(text: &str) -> Result<RelPath, PathError> {
        if text.chars().any(char::is_control) {
            return Err(PathError::Control);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute(text.to_owned()));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| PathError::Outside(text.to_owned()))?;
                }
                name => parts.push(name),
            }
        }
        if parts.is_empty() {
            return Err(PathError::Empty);
        }
        Ok(RelPath(parts.join("/")))
    }

    /// The path as text; empty for the workspace itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text for people: `.` for the workspace itself.
    pub fn shown(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The text after the last dot of the name, if the name has one that is not its first character.
    pub fn extension(&self) -> Option<&str> {
        self.name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
    }

    /// The folder that holds it; `None` for the workspace itself.
    pub fn parent(&self) -> Option<RelPath> {
        if self.0.is_empty() {
            return None;
        }
        Some(RelPath(self.0.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())))
    }

    /// Every folder above it, the nearest first, the workspace itself last.
    pub fn ancestors(&self) -> impl Iterator<Item = RelPath> {
        std::iter::successors(self.parent(), RelPath::parent)
    }

    /// Whether this path is `folder` or lies below it.
    pub fn is_within(&self, folder: &RelPath) -> bool {
        folder.0.is_empty()
            || self.0 == folder.0
            || self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// A path below this one. `below` is normalised first, so it cannot lead out.
    pub fn join(&self, below: &str) -> Result<RelPath, PathError> {
        let below = RelPath::parse(below)?;
        Ok(if self.0.is_empty() { below } else { RelPath(format!("{}/{}", self.0, below.0)) })
    }

    /// The rest of this path below `folder`.
    pub fn below(&self, folder: &RelPath) -> Option<&str> {
        if folder.0.is_empty() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&folder.0)?.strip_prefix('/')
    }

    /// The parts, first to last.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RelPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(RelPath::root());
        }
        let path = RelPath::parse(&text).map_err(serde::de::Error::custom)?;
        if path.0 != text {
            return Err(serde::de::Error::custom(format!("`{text}` is not a normalised path")));
        }
        Ok(path)
    }
}
