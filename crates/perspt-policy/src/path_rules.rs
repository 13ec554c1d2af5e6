//! Which paths a model may name. Decided from the tree alone, so that no link is followed.

use std::collections::BTreeMap;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use perspt_core::path::{PathError, RelPath};
use perspt_core::tree::{EntryKind, Tree};

/// The most bytes of a path, and of one of its parts. Linux takes 255 in a part; the whole has to fit below the
/// workspace and below a slot.
const PATH_MAX: usize = 1000;
const PART_MAX: usize = 255;

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRefusal {
    /// It does not name a file below the workspace.
    #[error("{0}")]
    Unbounded(#[from] PathError),
    /// It is written with backslashes.
    #[error("`{0}` holds a backslash; parts of a path are separated by `/`")]
    Backslash(String),
    /// It means the user's home; taken by its letters it would be a folder that a shell takes for it.
    #[error("`{0}` begins with `~`; paths begin at the workspace")]
    Home(RelPath),
    /// No file system takes it, or none that others use.
    #[error("`{0}…` is too long for a file: {PART_MAX} bytes in a part and {PATH_MAX} in all are the most")]
    TooLong(String),
    /// It holds characters that nobody can see.
    #[error("`{0}` holds characters that are invisible or move the text around them")]
    Unseen(String),
    /// It lies in version control's own folder.
    #[error("`{0}` belongs to version control and is never written")]
    VersionControl(RelPath),
    /// A folder on its way is a symbolic link, or it is one itself.
    #[error("`{path}` passes through the symbolic link `{link}`")]
    Symlink {
        /// The path.
        path: RelPath,
        /// The link.
        link: RelPath,
    },
    /// A file on its way is not a folder, or it names a folder.
    #[error("`{path}` cannot be a file: `{other}` is in the way")]
    InTheWay {
        /// The path.
        path: RelPath,
        /// What is there.
        other: RelPath,
    },
    /// Another file has the same name but for its case.
    #[error("`{path}` differs from the existing `{other}` only in case")]
    Case {
        /// The path.
        path: RelPath,
        /// What is there.
        other: RelPath,
    },
    /// The project's ignore rules leave it out, so it could never be verified or committed.
    #[error("`{0}` is ignored by the project's ignore rules")]
    Ignored(RelPath),
    /// It steers perspt itself.
    #[error("`{0}` steers perspt itself and is written only when the task names it")]
    Steering(RelPath),
}

/// The rules for paths in one tree.
pub struct PathRules<'a> {
    tree: &'a Tree,
    folded: BTreeMap<String, &'a RelPath>,
    ignores: Vec<(RelPath, Gitignore)>,
    task: &'a str,
}

impl<'a> PathRules<'a> {
    /// The rules for `tree`. `ignore_files` are the texts of its ignore files by the folder they lie in;
    /// `task` is what the user asked for, which may name a steering file.
    pub fn new(tree: &'a Tree, ignore_files: &[(RelPath, String)], task: &'a str) -> PathRules<'a> {
        let mut ignores: Vec<(RelPath, Gitignore)> = ignore_files
            .iter()
            .filter_map(|(folder, text)| {
                let mut builder = GitignoreBuilder::new("");
                for line in text.lines() {
                    // A line that is no pattern ignores nothing, as git has it.
                    let _ = builder.add_line(None, line);
                }
                builder.build().ok().map(|rules| (folder.clone(), rules))
            })
            .collect();
        ignores.sort_by_key(|(folder, _)| folder.as_str().len());
        let folded = tree.entries.keys().map(|path| (path.as_str().to_lowercase(), path)).collect();
        PathRules { tree, folded, ignores, task }
    }

    /// The path a model's words name, if it may be written.
    pub fn check(&self, words: &str) -> Result<RelPath, PathRefusal> {
        if words.contains('\\') {
            return Err(PathRefusal::Backslash(words.to_owned()));
        }
        if words.len() > PATH_MAX || words.split('/').any(|part| part.len() > PART_MAX) {
            return Err(PathRefusal::TooLong(words.chars().take(40).collect()));
        }
        if words.chars().any(is_unseen) {
            return Err(PathRefusal::Unseen(words.escape_default().to_string()));
        }
        let path = RelPath::parse(words)?;
        if path.parts().next().is_some_and(|part| part == "~") {
            return Err(PathRefusal::Home(path));
        }
        if path.parts().any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(PathRefusal::VersionControl(path));
        }
        self.check_way(&path)?;
        if self.is_steering(&path) {
            return Err(PathRefusal::Steering(path));
        }
        if !self.tree.entries.contains_key(&path) && self.is_ignored(&path) {
            return Err(PathRefusal::Ignored(path));
        }
        Ok(path)
    }

    fn check_way(&self, path: &RelPath) -> Result<(), PathRefusal> {
        let entry = |at: &RelPath| self.tree.entries.get(at).map(|entry| entry.kind);
        let way = std::iter::once(path.clone()).chain(path.ancestors()).collect::<Vec<_>>();
        for at in &way {
            match entry(at) {
                Some(EntryKind::Symlink) => {
                    return Err(PathRefusal::Symlink { path: path.clone(), link: at.clone() });
                }
                Some(EntryKind::File | EntryKind::Exec) if at != path => {
                    return Err(PathRefusal::InTheWay { path: path.clone(), other: at.clone() });
                }
                Some(EntryKind::File | EntryKind::Exec) | None => {}
            }
        }
        let below = format!("{path}/");
        let mut from_here = self
            .tree
            .entries
            .range(path.clone()..)
            .map(|(other, _)| other)
            .take_while(|other| other.as_str().starts_with(path.as_str()));
        if let Some(other) = from_here.find(|other| other.as_str().starts_with(&below)) {
            return Err(PathRefusal::InTheWay { path: path.clone(), other: other.clone() });
        }
        self.check_case(path)
    }

    fn check_case(&self, path: &RelPath) -> Result<(), PathRefusal> {
        let lower = path.as_str().to_lowercase();
        if let Some(other) = self.folded.get(&lower)
            && *other != path
            && !self.tree.entries.contains_key(path)
        {
            return Err(PathRefusal::Case { path: path.clone(), other: (*other).clone() });
        }
        // A folder that differs only in case would be another folder here and the same one elsewhere.
        for folder in path.ancestors().filter(|folder| !folder.is_root()) {
            let prefix = format!("{}/", folder.as_str().to_lowercase());
            let same = format!("{}/", folder.as_str());
            let mut there = self
                .folded
                .range(prefix.clone()..)
                .take_while(|(lower, _)| lower.starts_with(&prefix))
                .map(|(_, other)| *other)
                .peekable();
            if let Some(first) = there.peek().copied()
                && there.all(|other| !other.as_str().starts_with(&same))
            {
                return Err(PathRefusal::Case { path: path.clone(), other: first.clone() });
            }
        }
        Ok(())
    }

    fn is_steering(&self, path: &RelPath) -> bool {
        let name = path.as_str();
        let steers = name.starts_with(".perspt/") || matches!(path.name(), "PERSPT.md" | "AGENTS.md");
        let asked = if name.starts_with(".perspt/") { ".perspt" } else { path.name() };
        steers && !self.task.contains(asked)
    }

    /// Whether the ignore rules leave the path out. The deepest ignore file that says anything of it decides, as in
    /// git.
    pub fn is_ignored(&self, path: &RelPath) -> bool {
        let mut ignored = false;
        for (folder, rules) in &self.ignores {
            let Some(below) = path.below(folder) else { continue };
            match rules.matched_path_or_any_parents(below, false) {
                ignore::Match::None => {}
                ignore::Match::Ignore(_) => ignored = true,
                ignore::Match::Whitelist(_) => ignored = false,
            }
        }
        ignored
    }
}

/// Characters that take no room or turn the direction of what follows, by Unicode's list of format characters.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
