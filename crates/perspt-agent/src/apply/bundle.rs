//! Applying a bundle to a branch, with the checks that need more than one file.

use std::collections::BTreeSet;

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::effect::{Branch, TreeRef};
use perspt_core::grade::FileKind;
use perspt_core::path::RelPath;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::Change;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::path_rules::PathRules;

use super::{Applied, WriteScope, apply, removed_secrets};
use crate::actor::Actor;
use crate::context::names;
use crate::error::EffectError;
use crate::prompt::Compiled;
use crate::tree::{ComparedFiles, IGNORE_FILE, TreeFiles, ignore_files};

impl Actor {
    /// Applies a bundle in memory. The paths are those that widen the node's scope.
    pub(crate) fn apply_bundle(
        &self,
        state: &SessionState,
        node: &Node,
        bundle: &Bundle,
        files: &ComparedFiles,
    ) -> Result<(Applied, Vec<RelPath>), Vec<String>> {
        let ComparedFiles { base, candidate: files } = files;
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let ignores = ignore_files(files);
        let path_rules = PathRules::new(files.tree(), &ignores, task);
        let plugins: Vec<&dyn Plugin> = node
            .roots
            .iter()
            .filter_map(|root| self.plugin(&root.plugin))
            .map(|plugin| plugin as &dyn Plugin)
            .collect();
        let scope = WriteScope::new(state, node, files.tree(), plugins).declaring(&bundle.changes_tests);
        let applied = apply(bundle, files, &path_rules, &scope)?;
        let lost = lost_text(bundle, files);
        let written: Vec<RelPath> = applied.files.keys().cloned().collect();
        let mut faults = scope.check_all(&written);
        faults.extend(lost);
        faults.extend(hidden(&applied, files, &path_rules));
        faults.extend(self.undone(state, bundle, &applied));
        faults.extend(removed_secrets(bundle, &applied, files, base, &self.parts.masks));
        if faults.is_empty() { Ok((applied, scope.widened())) } else { Err(faults) }
    }

    /// A line for each file that an answer to a task without a plan would remove though the task does not name it, or
    /// would replace though it was not shown.
    pub(crate) fn unasked(
        &self,
        state: &SessionState,
        node: &Node,
        bundle: &Bundle,
        files: &TreeFiles,
    ) -> Result<Vec<String>, EffectError> {
        let Some(prompt) = node.prompt.filter(|_| node.solo) else { return Ok(Vec::new()) };
        let shown: Compiled = self.load_text("a prompt", prompt)?;
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let made = |path: &RelPath| {
            let best = node.best.as_ref();
            best.is_some_and(|best| best.diff.create.contains(path))
        };
        let exists = |path: &str| {
            let path = RelPath::parse(path).ok()?;
            (files.tree().entries.contains_key(&path) && !made(&path)).then_some(path)
        };
        let fault = |artifact: &Artifact| match artifact {
            Artifact::Delete { path } | Artifact::Move { from: path, .. } => {
                let path = exists(path).filter(|path| !names(task, path))?;
                Some(format!("`{path}`: the task does not name it, so it is neither removed nor renamed"))
            }
            Artifact::Write { path, .. } => {
                let path = exists(path).filter(|path| !names(task, path))?;
                let is_shown = shown.body.contains(&format!(" {path} ("));
                (!is_shown).then(|| {
                    format!("`{path}`: it was not shown to you, so it is not replaced: change it by `edit`, or leave it")
                })
            }
            Artifact::Edit { .. } | Artifact::Diff { .. } => None,
        };
        Ok(bundle.artifacts.iter().filter_map(fault).collect())
    }

    /// A line for each file in which the answer would undo what the user did during the session.
    fn undone(&self, state: &SessionState, bundle: &Bundle, applied: &Applied) -> Vec<String> {
        let text = |tree: TreeRef, path: &RelPath| -> Option<String> {
            let tree = self.load_tree(tree).ok()?;
            let known = tree.entries.contains_key(path);
            let files = TreeFiles::new(tree, self.sources());
            if known { files.text(path) } else { Some(String::new()) }
        };
        let is_written_whole = |path: &RelPath| {
            let writes =
                |one: &Artifact| matches!(one, Artifact::Write { path: own, .. } if own == path.as_str());
            bundle.artifacts.iter().any(writes)
        };
        let undone = applied.files.iter().filter_map(|(path, now)| {
            let head = state.head?;
            let (before, theirs) = (text(*state.edited.get(path)?, path), text(head, path)?);
            // A file that the user removed may be written again: the plan has it.
            if !self.load_tree(head).ok()?.entries.contains_key(path) {
                return None;
            }
            // The text of a removed file may have been moved to another one.
            let is_gone = now.is_none();
            let now = match now {
                Some((_, text)) => text.clone(),
                None => applied.files.values().flatten().map(|(_, text)| text.as_str()).collect(),
            };
            let what = match before {
                Some(before) => undone_lines(&before, &theirs, &now)?,
                // An edit that applied was made with the user's text in view.
                None if is_gone || is_written_whole(path) => undone_lines("", &theirs, &now)?,
                None => return None,
            };
            Some(format!(
                "`{path}`: while you worked the user {what}: leave what is theirs as it is, or change the file by `edit`"
            ))
        });
        undone.collect()
    }

    /// The branch's changes with the applied ones on top, against the same base. Contents before and
    /// after are stored, so that the change can be laid out, published and taken back.
    pub(crate) fn changes_with(&self, branch: &Branch, applied: Applied) -> Result<Vec<Change>, EffectError> {
        let base = self.load_tree(branch.base)?;
        let mut tree = self.branch_tree(branch)?;
        let sources = self.sources();
        for (path, now) in applied.files {
            match now {
                Some((kind, text)) => {
                    self.parts.blobs.put(text.as_bytes())?;
                    tree.entries.insert(path, Applied::entry(kind, &text));
                }
                None => {
                    tree.entries.remove(&path);
                }
            }
        }
        let changes = base.changes_to(&tree);
        for (path, entry) in changes.iter().filter_map(|change| Some((&change.path, change.before?))) {
            self.store_original(&sources, path, &entry)?;
        }
        Ok(changes)
    }
}

/// A line for each file in which a comment with an ellipsis stands for text that would be lost.
fn lost_text(bundle: &Bundle, files: &dyn Files) -> Vec<String> {
    let fault = |artifact: &Artifact| {
        let (path, before, now) = match artifact {
            Artifact::Write { path, content } => {
                let before = RelPath::parse(path).ok().and_then(|path| files.text(&path))?;
                (path, before, content)
            }
            Artifact::Edit { path, find, replace } => (path, find.clone(), replace),
            Artifact::Diff { .. } | Artifact::Delete { .. } | Artifact::Move { .. } => return None,
        };
        let known = |line: &&str| before.lines().any(|old| old.trim() == line.trim());
        let is_shorter = filled(now) < filled(&before);
        let stands_for_text = |line: &&str| {
            is_ellipsis(line.trim())
                || (is_shorter && (is_bare_ellipsis(line, path) || says_unchanged(line.trim())))
        };
        let left_out = now.lines().filter(stands_for_text).find(|line| !known(line))?.trim();
        let is_lost =
            |old: &str| old.contains(char::is_alphanumeric) && !now.lines().any(|new| new.trim() == old);
        before.lines().map(str::trim).any(is_lost).then(|| {
            format!(
                "`{path}`: `{left_out}` stands for text that would be lost: write all of it, or use `edit`"
            )
        })
    };
    bundle.artifacts.iter().filter_map(fault).collect()
}

/// Whether a line is a comment that begins or ends with an ellipsis.
fn is_ellipsis(line: &str) -> bool {
    let Some(text) = comment(line) else { return false };
    ["...", "…"].iter().any(|dots| text.starts_with(dots) || text.ends_with(dots))
}

/// What a comment of one line says.
fn comment(line: &str) -> Option<&str> {
    const MARKS: &[&str] = &["#", "//", "--", "/*", "<!--", ";", "%", "{/*"];
    let text = MARKS.iter().rev().find_map(|mark| line.strip_prefix(mark))?;
    Some(text.trim_end_matches(['*', '/', '}', '-', '>']).trim())
}

/// Whether a line of code is an ellipsis at the margin, where it does nothing. Within a body it is a statement of Python.
fn is_bare_ellipsis(line: &str, path: &str) -> bool {
    let is_code = RelPath::parse(path).is_ok_and(|path| FileKind::of(&path) == FileKind::Code);
    is_code && matches!(line.trim_end(), "..." | "…" | "[...]" | "(...)")
}

/// Whether a comment says that something else of the file stays. It counts only in a text that got shorter.
fn says_unchanged(line: &str) -> bool {
    const WHAT: &[&str] = &["rest", "remaining", "other", "others", "existing", "previous", "original"];
    const STAYS: &[&str] =
        &["unchanged", "same", "remain", "remains", "stay", "stays", "here", "before", "above"];
    let Some(text) = comment(line) else { return false };
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    has(WHAT) && has(STAYS)
}

/// How many lines of a text say something.
fn filled(text: &str) -> usize {
    text.lines().filter(|line| line.contains(char::is_alphanumeric)).count()
}

/// The first change of the user that a newer text undoes: a line they wrote is missing, or one they removed is back.
fn undone_lines(before: &str, theirs: &str, now: &str) -> Option<String> {
    let lines = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
        lines.map(str::to_owned).collect()
    };
    let (before, theirs, now) = (lines(before), lines(theirs), lines(now));
    let written = theirs.difference(&before).find(|line| !now.contains(*line));
    let removed = || before.difference(&theirs).find(|line| now.contains(*line));
    let wrote = written.map(|line| format!("wrote `{line}` there, and it would be lost"));
    wrote.or_else(|| removed().map(|line| format!("took `{line}` out there, and it would be back")))
}

/// Files that an answer's own ignore rules would hide: they could be neither verified nor committed.
fn hidden(applied: &Applied, files: &TreeFiles, before: &PathRules<'_>) -> Vec<String> {
    if !applied.files.keys().any(|path| path.name() == IGNORE_FILE) {
        return Vec::new();
    }
    let mut tree = files.tree().clone();
    let mut rules = ignore_files(files);
    for (path, now) in &applied.files {
        match now {
            Some((kind, text)) => tree.entries.insert(path.clone(), Applied::entry(*kind, text)),
            None => tree.entries.remove(path),
        };
        if let (IGNORE_FILE, Some(folder)) = (path.name(), path.parent()) {
            rules.retain(|(other, _)| *other != folder);
            rules.extend(now.iter().map(|(_, text)| (folder.clone(), text.clone())));
        }
    }
    let after = PathRules::new(&tree, &rules, "");
    let newly = |path: &&RelPath| after.is_ignored(path) && !before.is_ignored(path);
    let message = |path: &RelPath| {
        format!("`{path}` would be ignored by the `{IGNORE_FILE}` of this answer; leave it out of the rules")
    };
    tree.entries.keys().filter(newly).map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No files.
    struct Nothing(perspt_core::tree::Tree);

    impl Files for Nothing {
        fn tree(&self) -> &perspt_core::tree::Tree {
            &self.0
        }

        fn text(&self, _: &RelPath) -> Option<String> {
            None
        }
    }

    fn edit(find: &str, replace: &str) -> Bundle {
        let (path, find, replace) = ("src/a.py".to_owned(), find.to_owned(), replace.to_owned());
        Bundle { artifacts: vec![Artifact::Edit { path, find, replace }], ..Bundle::default() }
    }

    fn is_lost(find: &str, replace: &str) -> bool {
        !lost_text(&edit(find, replace), &Nothing(perspt_core::tree::Tree::default())).is_empty()
    }

    const OLD: &str = "def one():\n    return 1\n\n\ndef two():\n    return 2\n";

    #[test]
    fn what_stands_for_text_that_is_gone_is_found() {
        for line in [
            "# ... existing code ...",
            "...",
            "# (rest of the code remains the same)",
            "# The other functions stay as before",
        ] {
            assert!(is_lost(OLD, &format!("def one():\n    return 3\n\n\n{line}\n")), "{line}");
        }
    }

    #[test]
    fn the_same_words_are_fine_where_nothing_is_gone() {
        let more = OLD.replace("return 2", "return 4")
            + "\n\ndef three():\n    # the rest stays the same\n    return 3\n";
        assert!(!is_lost(OLD, &more));
        assert!(!is_lost(OLD, "class One:\n    def one(self):\n        ...\n"), "a body of Python");
        assert!(
            !is_lost(OLD, "def one():\n    return 1  # the rest is gone\n"),
            "a comment that says something else"
        );
    }
}
