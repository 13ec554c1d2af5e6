//! Reading answers: bundles. Plans are read in `plan`.

use std::collections::BTreeSet;

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::consent::Need;
use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::{Ended, ParseState, RetryClass};
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::path::RelPath;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::Change;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::bounds::Bounds;

use super::{ReadBundle, capture, read_bundle};
use crate::actor::Actor;
use crate::apply::{Applied, Commands, WriteScope, apply, removed_secrets, restore_secrets};
use crate::error::EffectError;
use crate::tree::{IGNORE_FILE, TreeFiles, ignore_files};
use crate::verify::masked_lines;

/// Lines of a rejection that an event carries; the evidence holds all of them.
const LINES: usize = 12;
const LINE_CHARS: usize = 600;

impl Actor {
    /// Reads an answer as a bundle for a node, over the branch it is to be laid on.
    pub(crate) fn parse_bundle(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        answer: BlobId,
        branch: &Branch,
    ) -> Result<Ended, EffectError> {
        let Some(node) = node.and_then(|id| state.nodes.get(id)) else { return Err(EffectError::Cancelled) };
        let text = self.load_answer(answer)?;
        let capture = capture(&text);
        let rejected = |state, retry, violations: Vec<String>| {
            Ok(Ended::BundleParsed {
                state,
                capture: capture.clone(),
                changes: None,
                retry: Some(retry),
                violations: bounded(&masked_lines(&self.parts.masks, &violations)),
                evidence: Some(answer),
                widened: vec![],
                changes_tests: vec![],
                leaves_red: vec![],
                skipped: vec![],
                refused: vec![],
                commands: vec![],
                needs: vec![],
            })
        };
        let (bundle, parsed) = match read_bundle(&text) {
            ReadBundle::Bundle(bundle, parsed) => (bundle, parsed),
            ReadBundle::Replan(reason) => {
                return rejected(ParseState::RequiresReplan, RetryClass::Replan, vec![reason]);
            }
            ReadBundle::Rejected { state, retry, violations } => return rejected(state, retry, violations),
        };
        let files = self.branch_files(branch)?;
        let restore_secrets = restore_secrets(&bundle, &files, &self.parts.masks);
        files.check_complete()?;
        let bundle = match restore_secrets {
            Ok(bundle) => bundle,
            Err(faults) => return rejected(ParseState::SemanticallyRejected, RetryClass::Retarget, faults),
        };
        let base = TreeFiles::new(self.load_tree(branch.base)?, self.sources());
        let applied = self.apply_bundle(state, node, &bundle, (&files, &base));
        let commands = self.sort_commands(state, node, &bundle.commands, &files);
        files.check_complete()?;
        base.check_complete()?;
        let Commands { skipped, refused, run, mut needs } = commands;
        let (applied, widened) = match applied {
            Ok(applied) => applied,
            Err(faults) => return rejected(ParseState::SemanticallyRejected, RetryClass::Retarget, faults),
        };
        needs.extend(self.new_packages(state, node, &applied, &files));
        let changes = self.changes_with(branch, applied)?;
        Ok(Ended::BundleParsed {
            state: parsed,
            capture,
            changes: Some(self.store_blob(&changes)?),
            retry: None,
            violations: vec![],
            evidence: None,
            widened,
            changes_tests: bundle.changes_tests,
            leaves_red: bundle.leaves_red,
            skipped,
            refused,
            commands: run,
            needs,
        })
    }

    /// Packages that an answer writes into a manifest and that nothing named before.
    fn new_packages(
        &self,
        state: &SessionState,
        node: &Node,
        applied: &Applied,
        files: &TreeFiles,
    ) -> Vec<Need> {
        let is_manifest = |path: &RelPath| self.parts.plugins.iter().any(|plugin| plugin.is_manifest(path));
        if !applied.files.keys().any(is_manifest) {
            return Vec::new();
        }
        let text = |now: &Option<(_, String)>| now.as_ref().map(|(_, text)| text.clone());
        let after = files.with_replaced(applied.files.iter().map(|(path, now)| (path.clone(), text(now))));
        let plugins = node.roots.iter().filter_map(|root| self.plugin(&root.plugin));
        let named: BTreeSet<String> = plugins.flat_map(|plugin| plugin.dependencies(&after)).collect();
        self.unknown_packages(state, node, named, files)
    }

    fn apply_bundle(
        &self,
        state: &SessionState,
        node: &Node,
        bundle: &Bundle,
        (files, base): (&TreeFiles, &TreeFiles),
    ) -> Result<(Applied, Vec<RelPath>), Vec<String>> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let ignores = ignore_files(files);
        let bounds = Bounds::new(files.tree(), &ignores, task);
        let plugins: Vec<&dyn Plugin> = node
            .roots
            .iter()
            .filter_map(|root| self.plugin(&root.plugin))
            .map(|plugin| plugin as &dyn Plugin)
            .collect();
        let scope = WriteScope::new(state, node, files.tree(), plugins).declaring(&bundle.changes_tests);
        let applied = apply(bundle, files, &bounds, &scope)?;
        let mut faults = hidden(&applied, files, &bounds);
        faults.extend(self.undone(state, bundle, &applied));
        faults.extend(removed_secrets(bundle, &applied, files, base, &self.parts.masks));
        if faults.is_empty() { Ok((applied, scope.widened())) } else { Err(faults) }
    }

    /// What an answer would undo of what the user did to the same files while the session went on.
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
            // A file that the user took away as a whole may be written again: the plan has it.
            if !self.load_tree(head).ok()?.entries.contains_key(path) {
                return None;
            }
            // What is gone from here may have been moved.
            let is_gone = now.is_none();
            let now = match now {
                Some((_, text)) => text.clone(),
                None => applied.files.values().flatten().map(|(_, text)| text.as_str()).collect(),
            };
            let what = match before {
                Some(before) => undone_lines(&before, &theirs, &now)?,
                // Of edits that found their place it is known that the user's text was seen.
                None if is_gone || is_written_whole(path) => undone_lines("", &theirs, &now)?,
                None => return None,
            };
            Some(format!(
                "`{path}`: while you worked the user {what}: leave what is theirs as it is, or change the file by `edit`"
            ))
        });
        undone.collect()
    }

    /// The branch's changes with what was applied on top, against the same base. Contents before and
    /// after are kept, so that the change can be laid out, published and taken back.
    fn changes_with(&self, branch: &Branch, applied: Applied) -> Result<Vec<Change>, EffectError> {
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

/// What the user did to a text, told by its first line, that a newer text does not have: lines that are theirs, and none
/// of those that they took out.
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
fn hidden(applied: &Applied, files: &TreeFiles, before: &Bounds<'_>) -> Vec<String> {
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
    let after = Bounds::new(&tree, &rules, "");
    let newly = |path: &&RelPath| after.is_ignored(path) && !before.is_ignored(path);
    let told = |path: &RelPath| {
        format!("`{path}` would be ignored by the `{IGNORE_FILE}` of this answer; leave it out of the rules")
    };
    tree.entries.keys().filter(newly).map(told).collect()
}

/// As many lines of a rejection as an event carries.
pub(crate) fn bounded(lines: &[String]) -> Vec<String> {
    let mut out: Vec<String> =
        lines.iter().take(LINES).map(|line| line.chars().take(LINE_CHARS).collect()).collect();
    if lines.len() > LINES {
        out.push(format!("(and {} more)", lines.len() - LINES));
    }
    out
}
