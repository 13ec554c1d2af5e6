//! The five operations.

use std::collections::BTreeMap;

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};
use perspt_lang::plugin::Files;
use perspt_policy::path_rules::PathRules;

use super::patch::patch_text;
use super::scope::{FileAction, WriteScope};

/// The largest file a tree may get by an answer.
const FILE_CAP: usize = 5 * 1024 * 1024;

/// The result of a bundle: the new text of each path it changed, `None` where the path is gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// By path.
    pub files: BTreeMap<RelPath, Option<(EntryKind, String)>>,
    /// Renames, for people.
    pub moved: Vec<(RelPath, RelPath)>,
}

impl Applied {
    /// The entry a written file has in the new tree.
    pub fn entry(kind: EntryKind, text: &str) -> Entry {
        Entry { kind, hash: Sha::of(text.as_bytes()), size: text.len() as u64 }
    }
}

/// Applies a bundle over `files`, all of it or nothing. The error lists every fault.
pub fn apply(
    bundle: &Bundle,
    files: &dyn Files,
    path_rules: &PathRules<'_>,
    scope: &WriteScope<'_>,
) -> Result<Applied, Vec<String>> {
    let mut work = Working { files, path_rules, scope, applied: Applied::default() };
    let mut faults = Vec::new();
    for (index, artifact) in bundle.artifacts.iter().enumerate() {
        if let Err(fault) = work.one(artifact) {
            faults.push(format!("artifact {}: {fault}", index + 1));
        }
    }
    if faults.is_empty() { Ok(work.applied) } else { Err(faults) }
}

struct Working<'a> {
    files: &'a dyn Files,
    path_rules: &'a PathRules<'a>,
    scope: &'a WriteScope<'a>,
    applied: Applied,
}

impl Working<'_> {
    fn one(&mut self, artifact: &Artifact) -> Result<(), String> {
        match artifact {
            Artifact::Write { path, content } => {
                let path = self.allowed(path, FileAction::Write)?;
                if self.kind(&path).is_some() {
                    // A file that could not be shown must not be overwritten.
                    self.current(&path)?;
                }
                let kind = self.kind(&path).unwrap_or(EntryKind::File);
                let content = self.in_the_files_way(&path, content);
                self.put(path, kind, content)
            }
            Artifact::Edit { path, find, replace } => {
                let path = self.allowed(path, FileAction::Write)?;
                // Where there is no file, an edit that replaces nothing writes it.
                if find.is_empty() && self.kind(&path).is_none() {
                    return self.put(path, EntryKind::File, replace.clone());
                }
                let (kind, text) = self.current(&path)?;
                let edited = edit(&path, &text, find, replace)?;
                self.put(path, kind, edited)
            }
            Artifact::Diff { path, patch } => {
                let path = self.allowed(path, FileAction::Write)?;
                let (kind, text) = self.current(&path)?;
                let patched = patch_text(&path, &text, patch)?;
                self.put(path, kind, patched)
            }
            Artifact::Delete { path } => {
                let path = self.allowed(path, FileAction::Remove)?;
                self.kind(&path).ok_or_else(|| format!("`{path}` does not exist"))?;
                self.applied.files.insert(path, None);
                Ok(())
            }
            Artifact::Move { from, to } => {
                let from = self.allowed(from, FileAction::Remove)?;
                let to = self.allowed(to, FileAction::Write)?;
                let (kind, text) = self.current(&from)?;
                if self.kind(&to).is_some() {
                    return Err(format!("`{to}` is already there"));
                }
                self.applied.files.insert(from.clone(), None);
                self.applied.moved.push((from, to.clone()));
                self.put(to, kind, text)
            }
        }
    }

    fn allowed(&self, words: &str, action: FileAction) -> Result<RelPath, String> {
        let path = self.path_rules.check(words).map_err(|refusal| refusal.to_string())?;
        self.scope.check(&path, action)?;
        Ok(path)
    }

    fn kind(&self, path: &RelPath) -> Option<EntryKind> {
        match self.applied.files.get(path) {
            Some(now) => now.as_ref().map(|(kind, _)| *kind),
            None => self.files.tree().entries.get(path).map(|entry| entry.kind),
        }
    }

    fn current(&self, path: &RelPath) -> Result<(EntryKind, String), String> {
        if let Some(now) = self.applied.files.get(path) {
            return now.clone().ok_or_else(|| format!("`{path}` was removed by an artifact before this one"));
        }
        let kind = self.kind(path).ok_or_else(|| format!("`{path}` does not exist"))?;
        let text = self.files.text(path).ok_or_else(|| {
            format!(
                "`{path}` is not a text file (UTF-8) of a size that can be shown; \
                 it can be deleted, not changed"
            )
        })?;
        Ok((kind, text))
    }

    /// A file whose lines all end in CRLF keeps that when it is written anew.
    fn in_the_files_way(&self, path: &RelPath, content: &str) -> String {
        let all_crlf =
            |text: &str| text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
        match self.files.text(path) {
            Some(old) if all_crlf(&old) && !content.contains('\r') => content.replace('\n', "\r\n"),
            Some(_) | None => content.to_owned(),
        }
    }

    fn put(&mut self, path: RelPath, kind: EntryKind, text: String) -> Result<(), String> {
        if text.len() > FILE_CAP {
            return Err(format!("`{path}` would have {} bytes; {FILE_CAP} is the most", text.len()));
        }
        self.applied.files.insert(path, Some((kind, text)));
        Ok(())
    }
}

fn edit(path: &RelPath, text: &str, find: &str, replace: &str) -> Result<String, String> {
    if find.is_empty() {
        return Err(format!("`find` is empty in the edit of `{path}`"));
    }
    let crlf = text.contains("\r\n") && !find.contains('\r') && !replace.contains('\r');
    let (find, replace) = if crlf {
        (find.replace('\n', "\r\n"), replace.replace('\n', "\r\n"))
    } else {
        (find.to_owned(), replace.to_owned())
    };
    // A block's lines all end; the last line of the file may not.
    let ended = format!("{text}\n");
    let is_open = !text.ends_with('\n') && find.ends_with('\n');
    match places(text, &find) {
        1 => Ok(text.replacen(&find, &replace, 1)),
        0 if is_open && places(&ended, &find) == 1 => {
            let edited = ended.replacen(&find, &replace, 1);
            Ok(edited.strip_suffix('\n').map_or_else(|| edited.clone(), str::to_owned))
        }
        0 => Err(format!("`find` does not occur in `{path}`; it begins with `{}`", excerpt(&find))),
        many => Err(format!("`find` occurs {many} times in `{path}`; it must occur exactly once")),
    }
}

/// How often a text contains another one, overlaps included: `}}` is twice in `}}}`.
fn places(text: &str, find: &str) -> usize {
    let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(find));
    starts.count()
}

fn excerpt(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, find: &str, replace: &str) -> Result<String, String> {
        edit(&RelPath::parse("a.py").unwrap(), text, find, replace)
    }

    #[test]
    fn the_last_line_of_a_file_is_found_with_or_without_its_end() {
        assert_eq!(edited("a\nb", "b\n", "c\n").unwrap(), "a\nc");
        assert_eq!(edited("a\nb\n", "b\n", "c\n").unwrap(), "a\nc\n");
        assert_eq!(edited("a\nb", "b\n", "").unwrap(), "a");
        assert!(edited("a\nbc", "b\n", "c\n").unwrap_err().contains("does not occur"));
        assert!(edited("b\na\nb", "b", "c").unwrap_err().contains("occurs 2 times"));
    }

    #[test]
    fn a_file_with_crlf_keeps_it_in_an_edit() {
        assert_eq!(edited("a\r\nb\r\n", "a\nb\n", "x\ny\n").unwrap(), "x\r\ny\r\n");
        assert!(edited("a\nb\n", "a\r\nb\n", "x").unwrap_err().contains("does not occur"));
    }
}
