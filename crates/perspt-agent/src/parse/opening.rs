//! What begins at a line outside of blocks: a block with a path, one without, or something that says itself where it ends.

use perspt_core::bundle::Artifact;

use super::calls::{begins_call, called, ends_call};
use super::diffs::{begins_diff, diffs, is_diff_line};
use super::envelope::{begins_envelope, ends_envelope, envelope};
use super::indented::indented;
use super::label::{Form, Label, Verb, comment_path, info_path, label};
use super::lines::{Fence, Line};
use super::notes::Notes;
use super::pairs::{begins_pair, is_pair_mark, pairs};
use super::steps::count;
use super::tags::{begins_tag, ends_tag, tagged};
use super::wanted::Finder;
use super::words::{lone_word, may_be_path, named_path};

/// Something that was read to its end.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub artifacts: Vec<Artifact>,
    pub finder: Finder,
    pub notes: Notes,
    /// The line behind it.
    pub next: usize,
    /// The line that names its path, where another one does.
    pub label: Option<usize>,
}

/// What begins at a line.
#[derive(Debug, Clone)]
pub(super) enum Opening {
    /// The whole text of a file, as far as its fence goes.
    Block { label: Label, at: Option<usize> },
    /// A fence that names no file.
    Unlabelled,
    /// Read to its end.
    Made(Box<Made>),
    /// It cannot be read.
    Fault(String),
    /// Text.
    Nothing,
}

/// The lines of an answer with the labels above them.
pub(super) struct Page<'a> {
    pub lines: &'a [Line<'a>],
    /// For each line, the last line above it that is not blank.
    above: Vec<Option<usize>>,
    /// For each line, a heading above it with text between them, but no fence.
    heading: Vec<Option<usize>>,
}

impl<'a> Page<'a> {
    pub fn new(lines: &'a [Line<'a>]) -> Page<'a> {
        let (mut above, mut heading) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
        let (mut last, mut head) = (None, None);
        for (at, line) in lines.iter().enumerate() {
            above.push(last);
            heading.push(head);
            // Whatever ends a block ends the reach of headings, also of those that stood in its text.
            let is_end = line.fence.is_some()
                || is_pair_mark(line)
                || ends_envelope(line)
                || ends_tag(line)
                || ends_call(line);
            if is_end {
                head = None;
            } else if line.text.starts_with('#')
                && label(line.text).is_some_and(|label| label.verb != Verb::Unsaid)
            {
                head = Some(at);
            }
            if !line.is_blank() {
                last = Some(at);
            }
        }
        Page { lines, above, heading }
    }

    /// The label directly above a line.
    fn label_above(&self, at: usize) -> Option<(usize, Label)> {
        let above = self.above[at]?;
        let line = &self.lines[above];
        let label = label(line.text).filter(|_| line.fence.is_none())?;
        (!matches!(label.verb, Verb::Delete | Verb::Move)).then_some((above, label))
    }

    /// Whether a fence has a label above it that is no line of a listing. A listing may end with what looks like a label; then
    /// nothing stands between its fence and the next one.
    pub fn is_marked(&self, at: usize) -> bool {
        let is_empty = self.lines.get(at + 1).is_some_and(|line| line.fence.is_some());
        let form = self.label_above(at).map(|(_, label)| label.form);
        form.is_some_and(|form| form == Form::Asked || (form >= Form::Marked && !is_empty))
    }

    /// What begins at a line.
    pub fn opening(&self, at: usize) -> Opening {
        let line = &self.lines[at];
        match line.fence {
            Some(fence) if fence.indent == 0 => self.fence(at, &fence),
            Some(fence) => match self.label_above(at) {
                Some(label) => match indented(self.lines, at, &fence, label) {
                    Ok(made) => Opening::Made(Box::new(made)),
                    Err(fault) => Opening::Fault(fault),
                },
                None => Opening::Unlabelled,
            },
            None => self.raw(at),
        }
    }

    fn fence(&self, at: usize, fence: &Fence<'_>) -> Opening {
        let stated = match self.stated(at, fence) {
            Ok(stated) => stated,
            Err(fault) => return Opening::Fault(fault),
        };
        if let Some(made) = self.special(at, fence, stated.as_ref()) {
            return made;
        }
        let Some((line, label)) = stated else {
            let above = self.above[at].map_or("", |above| self.lines[above].text);
            let is_language =
                |info: &str| info.chars().all(|c| c.is_ascii_lowercase() || "+#-0123456789".contains(c));
            let other = Some(fence.info).filter(|info| !is_language(info));
            let named = named_path(above).or_else(|| lone_word(above)).or(other);
            let first = self.lines.get(at + 1).and_then(|line| comment_path(line.text));
            let first = first.filter(|label| named.is_none_or(|named| named == label.path));
            // The line stays in the text: it is the model's text, and a comment is harmless.
            return first.map_or(Opening::Unlabelled, |label| Opening::Block { label, at: None });
        };
        let path = &label.path;
        match label.verb {
            Verb::Write | Verb::Unsaid => Opening::Block { label, at: line },
            Verb::Edit => Opening::Fault(format!(
                "`### edit {path}` needs the lines <<<<<<< SEARCH, =======, >>>>>>> REPLACE in its block; for the whole \
                 text write `### write {path}`"
            )),
            Verb::Diff => Opening::Fault(format!(
                "the diff of `{path}` has no hunk: a line `@@` and the changed lines below it"
            )),
            Verb::Delete | Verb::Move => Opening::Unlabelled,
        }
    }

    /// The path that is stated for a fence: above it, behind its marks, or by a heading further up.
    fn stated(&self, at: usize, fence: &Fence<'_>) -> Result<Option<(Option<usize>, Label)>, String> {
        let (above, info) = (self.label_above(at), info_path(fence.info));
        match (above, info) {
            (Some((_, label)), Some(info)) if label.path != info.path => {
                Err(format!("a block is said to be `{}` and also `{}`", label.path, info.path))
            }
            (Some((line, label)), info) => {
                let mut label = label;
                info.into_iter().for_each(|info| label.notes.extend(info.notes));
                Ok(Some((Some(line), label)))
            }
            (None, Some(info)) => Ok(Some((None, info))),
            (None, None) => Ok(self.heading[at].and_then(|line| {
                let mut label = label(self.lines[line].text)?;
                label.notes.add("text between a heading and its block left out");
                let is_block = !matches!(label.verb, Verb::Delete | Verb::Move);
                is_block.then_some((Some(line), label))
            })),
        }
    }

    /// A fence whose content says itself where it ends.
    fn special(
        &self,
        at: usize,
        fence: &Fence<'_>,
        stated: Option<&(Option<usize>, Label)>,
    ) -> Option<Opening> {
        let lines = self.lines;
        let first = (at + 1..lines.len()).find(|line| !lines[*line].is_blank())?;
        count(first - at);
        let own = |line: usize| may_be_path(lines[line].text) && lines.get(line + 1).is_some_and(begins_pair);
        let label = stated.map(|(_, label)| label);
        let is_write = label.is_some_and(|label| label.verb == Verb::Write);
        let is_diff = fence
            .info
            .split([' ', ':'])
            .next()
            .is_some_and(|word| matches!(word, "diff" | "patch" | "udiff"));
        let made = if begins_pair(&lines[first]) || own(first) {
            let inside = own(first).then(|| lines[first].text);
            let begin = first + usize::from(inside.is_some());
            self.fenced_pairs(begin, inside, label, is_write)
        } else if begins_envelope(&lines[first]) && label.is_none() {
            self.made(envelope(lines, first), Finder::PatchEnvelope, "read from *** Begin Patch")
        } else if (is_diff || begins_diff(lines, first)) && !is_write {
            let end = (at + 1..lines.len())
                .find(|line| lines[*line].fence.is_some_and(|other| other.closes(fence)));
            let Some(end) = end else { return Some(Opening::Fault("a diff is not closed".to_owned())) };
            let mut notes = Notes::default();
            let read = diffs(&lines[at + 1..end], label.map(|label| label.path.as_str()), &mut notes);
            self.made(read.map(|artifacts| (artifacts, end)), Finder::UnifiedDiff, "read from a unified diff")
                .map(|mut made| {
                    made.notes.extend(notes);
                    made
                })
        } else {
            return None;
        };
        Some(match made {
            Ok(mut made) => {
                let close = (made.next..lines.len()).find(|line| !lines[*line].is_blank());
                let Some(close) =
                    close.filter(|line| lines[*line].fence.is_some_and(|other| other.closes(fence)))
                else {
                    return Some(Opening::Fault("a block of changes is not closed by its fence".to_owned()));
                };
                made.next = close + 1;
                made.label = stated.and_then(|(line, _)| *line);
                stated.into_iter().for_each(|(_, label)| made.notes.extend(label.notes.clone()));
                Opening::Made(Box::new(made))
            }
            Err(fault) => Opening::Fault(fault),
        })
    }

    fn fenced_pairs(
        &self,
        begin: usize,
        inside: Option<&str>,
        label: Option<&Label>,
        is_write: bool,
    ) -> Result<Made, String> {
        let path = match (inside, label) {
            (Some(inside), Some(label)) if inside != label.path => {
                return Err(format!("a block is said to be `{}` and also `{inside}`", label.path));
            }
            (_, Some(label)) => label.path.as_str(),
            (Some(inside), None) => inside,
            (None, None) => {
                return Err(
                    "SEARCH/REPLACE lines name no file: put `### edit path` above their fence".to_owned()
                );
            }
        };
        if is_write {
            return Err(format!(
                "`{path}` is to be written, and its block has SEARCH/REPLACE lines; write `### edit {path}`"
            ));
        }
        let read = pairs(self.lines, begin, path);
        let is_asked = label.is_some_and(|label| label.form == Form::Asked);
        self.made(read, Finder::Blocks, if is_asked { "" } else { "read from SEARCH/REPLACE" })
    }

    fn made(
        &self,
        read: Result<(Vec<Artifact>, usize), String>,
        finder: Finder,
        note: &str,
    ) -> Result<Made, String> {
        let (artifacts, next) = read?;
        let mut notes = Notes::default();
        if !note.is_empty() {
            notes.add(note);
        }
        Ok(Made { artifacts, finder, notes, next, label: None })
    }

    /// Changes that stand outside of a fence.
    fn raw(&self, at: usize) -> Opening {
        let (lines, line) = (self.lines, &self.lines[at]);
        let mut label = None;
        let made = if begins_pair(line) {
            label = self.label_above(at);
            match &label {
                Some((_, label)) => self.made(
                    pairs(lines, at, &label.path),
                    Finder::Blocks,
                    "SEARCH/REPLACE stood outside a fence",
                ),
                None => Err("SEARCH/REPLACE lines name no file: put `### edit path` above them".to_owned()),
            }
        } else if begins_envelope(line) {
            self.made(envelope(lines, at), Finder::PatchEnvelope, "read from *** Begin Patch")
        } else if begins_tag(line) {
            self.made(tagged(lines, at), Finder::Tags, "read from tags")
        } else if begins_call(line) {
            self.made(called(lines, at), Finder::Tags, "read from the tags of a call")
        } else if begins_diff(lines, at) {
            let length = lines[at..].iter().take_while(|line| is_diff_line(line)).count();
            let mut notes = Notes::default();
            let read =
                diffs(&lines[at..at + length], None, &mut notes).map(|artifacts| (artifacts, at + length));
            self.made(read, Finder::UnifiedDiff, "read from a unified diff outside a fence")
        } else {
            return Opening::Nothing;
        };
        match made {
            Ok(mut made) => {
                if let Some((line, label)) = label {
                    made.label = Some(line);
                    made.notes.extend(label.notes);
                }
                Opening::Made(Box::new(made))
            }
            Err(fault) => Opening::Fault(fault),
        }
    }
}
