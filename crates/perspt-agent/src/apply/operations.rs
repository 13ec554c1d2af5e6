//! The five operations.

use std::collections::BTreeMap;

use flickzeug::{ApplyConfig, Diff, FuzzyConfig, HunkRangeStrategy, LineEndHandling, ParserConfig, Patch};
use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};
use perspt_lang::plugin::Files;
use perspt_policy::path_rules::PathRules;

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
    match places(text, &find) {
        1 => Ok(text.replacen(&find, &replace, 1)),
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

/// Applies a unified diff of one file. Only content decides; line numbers and counts are ignored.
fn patch_text(path: &RelPath, text: &str, patch: &str) -> Result<String, String> {
    let patch = recounted(&with_headers(path, patch));
    let config = ParserConfig { hunk_strategy: HunkRangeStrategy::Recount, ..ParserConfig::default() };
    let parsed = Patch::from_str_with_config(&patch, config)
        .map_err(|error| format!("the patch of `{path}` cannot be read: {error}"))?;
    let hunks: usize = parsed.diffs().iter().map(|diff| diff.hunks().len()).sum();
    let [diff] = parsed.diffs() else {
        return Err(format!(
            "the patch of `{path}` must be of that one file; it has {} parts",
            parsed.diffs().len()
        ));
    };
    if hunks == 0 || hunks != hunk_headers(&patch) {
        return Err(format!(
            "the patch of `{path}` has no hunk that can be read (`@@ -line,count +line,count @@`)"
        ));
    }
    apply_hunks(path, text, diff)
}

/// The patch with the line counts of each hunk corrected. Models miscount, and the parser would drop surplus lines.
fn recounted(patch: &str) -> String {
    let lines: Vec<&str> = patch.split_inclusive('\n').collect();
    let mut out = String::with_capacity(patch.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some((old, new)) = hunk_starts(line) else {
            out.push_str(line);
            continue;
        };
        let taken = lines[at..].iter().take_while(|line| in_hunk(line)).count();
        let body = without_end(&lines[at..at + taken]);
        let count = |sign: char| body.iter().filter(|line| line.starts_with(sign)).count();
        let both = body.len() - count('+') - count('-') - count('\\');
        let (removed, added) = (both + count('-'), both + count('+'));
        out.push_str(&format!("@@ -{old},{removed} +{new},{added} @@\n"));
        out.extend(body.iter().copied());
        at += taken;
    }
    out
}

/// A hunk without the empty lines at its end. They separate it from the next one, or are context that it can do without.
fn without_end<'a>(body: &'a [&'a str]) -> &'a [&'a str] {
    let blank = body.iter().rev().take_while(|line| line.trim_end_matches(['\r', '\n']).is_empty()).count();
    &body[..body.len() - blank]
}

/// Whether a line belongs to the hunk above it. An empty one is a line of context whose space was lost.
fn in_hunk(line: &str) -> bool {
    matches!(line.chars().next(), Some(' ' | '+' | '-' | '\\' | '\n' | '\r'))
}

/// Where a hunk begins in the old and the new file, if the line is its header.
fn hunk_starts(line: &str) -> Option<(u64, u64)> {
    let ranges = line.strip_prefix("@@ -")?;
    let (ranges, _) = ranges.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let start = |range: &str| range.split(',').next()?.trim().parse().ok();
    Some((start(old)?, start(new)?))
}

fn hunk_headers(patch: &str) -> usize {
    patch.lines().filter(|line| line.starts_with("@@")).count()
}

fn apply_hunks(path: &RelPath, text: &str, diff: &Diff<'_, str>) -> Result<String, String> {
    let config = ApplyConfig {
        line_end_strategy: LineEndHandling::KeepOriginal,
        fuzzy_config: FuzzyConfig {
            max_fuzz: 0,
            ignore_whitespace: false,
            ignore_case: false,
            similarity_threshold: 1.0,
        },
    };
    flickzeug::apply_with_config(text, diff, &config).map(|(patched, _)| patched).map_err(|error| {
        let hunk = error.hunk_index();
        let wanted: String = error.hunk_content().chars().take(600).collect();
        format!(
            "hunk {hunk} of the patch of `{path}` does not apply: its context is not in the file:\n{wanted}"
        )
    })
}

/// The patch with `---` and `+++` lines, which models leave out.
fn with_headers(path: &RelPath, patch: &str) -> String {
    let body_at = patch.find("@@").unwrap_or(0);
    let body = if patch[..body_at].contains("--- ") || body_at == 0 && !patch.starts_with("@@") {
        patch.to_owned()
    } else {
        format!("--- a/{path}\n+++ b/{path}\n{}", &patch[body_at..])
    };
    if body.ends_with('\n') { body } else { format!("{body}\n") }
}
