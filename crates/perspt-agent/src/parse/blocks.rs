//! A bundle from blocks. What is asked for:
//!
//! ````text
//! ### write src/app.py
//! ```python
//! the whole text
//! ```
//! ### edit src/util.py
//! ```
//! <<<<<<< SEARCH
//! lines that occur exactly once
//! =======
//! the lines that stand there afterwards
//! >>>>>>> REPLACE
//! ```
//! ### delete src/old.py
//! ### move src/a.py -> src/b.py
//! TESTS tests/test_a.py::test_x update: why
//! RED test_name: why
//! RUN cargo add itoa
//! ````
//!
//! A block of code that names no file is never an artifact. It is left out where text around it shows that it only explains.

use std::ops::Range;

use perspt_core::bundle::{Artifact, Bundle};

use super::calls::ends_call;
use super::directive::{is_directive, take};
use super::envelope::ends_envelope;
use super::fences::{Piece, pieces};
use super::fit::{Fit, fit};
use super::json::read_json;
use super::label::{Form, Verb, label};
use super::lines::text_of;
use super::notes::Notes;
use super::opening::{Opening, Page};
use super::pairs::is_pair_mark;
use super::scan::{Hit, Scan, Stand, in_text};
use super::tags::ends_tag;
use super::wanted::{Finder, Payload, Wanted};
use super::words::lone_word;

/// Whether blocks begin at a line: from there on, fences are read by their labels.
pub(super) fn begins_blocks(page: &Page<'_>, at: usize) -> bool {
    match page.opening(at) {
        Opening::Block { .. } | Opening::Made(_) | Opening::Fault(_) => true,
        Opening::Unlabelled => false,
        Opening::Nothing => is_order(page.lines[at].text),
    }
}

/// Whether a line is an operation or a directive, as it is asked for.
pub(super) fn is_order(line: &str) -> bool {
    is_directive(line) || label(line).is_some_and(|label| label.form == Form::Asked)
}

/// Reads the blocks of an answer, which begin at the end of `above`. The lines of `above` were looked through for JSON.
pub(super) fn blocks(page: &Page<'_>, above: Range<usize>, wanted: &Wanted<'_>, out: &mut Scan) {
    let pieces = match pieces(page, above.end) {
        Ok(pieces) => pieces,
        Err(fault) => return out.fault(fault),
    };
    let mut reader =
        Reader { page, wanted, out, bundle: Bundle::default(), notes: Notes::default(), finders: vec![] };
    let label_of = |index: usize| match pieces.get(index) {
        Some(Piece::Block { at, .. }) => *at,
        Some(Piece::Made(made)) => made.label,
        Some(Piece::Text(_) | Piece::Unlabelled(_)) | None => None,
    };
    reader.text(above, label_of(1));
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(lines) => {
                reader.text(lines.clone(), label_of(index + 1));
                in_text(page.lines, lines.clone(), wanted, reader.out);
            }
            Piece::Block { label, body, .. } => {
                reader.notes.extend(label.notes.clone());
                reader.finders.push(if label.form == Form::Asked {
                    Finder::Blocks
                } else {
                    Finder::LooseBlocks
                });
                reader.check_text(&label.path, body.clone());
                let content = text_of(&page.lines[body.clone()]);
                reader.bundle.artifacts.push(Artifact::Write { path: label.path.clone(), content });
            }
            Piece::Made(made) => {
                reader.notes.extend(made.notes.clone());
                reader.finders.push(made.finder);
                reader.bundle.artifacts.extend(made.artifacts.clone());
            }
            Piece::Unlabelled(body) => {
                let before = index.checked_sub(1).and_then(|index| pieces.get(index));
                let text = match before {
                    Some(Piece::Text(lines)) => lines.clone(),
                    Some(Piece::Block { .. } | Piece::Made(_) | Piece::Unlabelled(_)) | None => 0..0,
                };
                reader.unlabelled(body.clone(), text);
            }
        }
    }
    reader.finish();
}

struct Reader<'a> {
    page: &'a Page<'a>,
    wanted: &'a Wanted<'a>,
    out: &'a mut Scan,
    bundle: Bundle,
    notes: Notes,
    finders: Vec<Finder>,
}

impl Reader<'_> {
    /// A text with fences as long as its own and with headings as they are asked for may be several blocks.
    fn check_text(&mut self, path: &str, body: Range<usize>) {
        let run = self.page.lines[body.start - 1].fence.map_or(0, |fence| fence.run);
        let lines = &self.page.lines[body];
        let has_fence = run == 3 && lines.iter().any(|line| line.fence.is_some_and(|fence| fence.run == run));
        if has_fence
            && lines.iter().any(|line| label(line.text).is_some_and(|label| label.form == Form::Asked))
        {
            self.out.fault(format!(
                "`{path}` could be one text or several blocks: put ```` before and after a text that holds lines of ```"
            ));
        }
    }

    /// Lines outside of blocks. `named` is the one that names the block below them.
    fn text(&mut self, lines: Range<usize>, named: Option<usize>) {
        for at in lines {
            let line = &self.page.lines[at];
            if line.is_blank() || Some(at) == named {
                continue;
            }
            if is_pair_mark(line) || ends_tag(line) || ends_call(line) || ends_envelope(line) {
                self.out.fault(format!("`{}` ends what nothing begins", line.text));
            }
            if is_directive(line.text) {
                if let Err(fault) = take(line.text, &mut self.bundle, &mut self.notes) {
                    self.out.fault(fault);
                }
                continue;
            }
            match label(line.text) {
                Some(label) if label.form >= Form::Heading || label.verb != Verb::Unsaid => {
                    self.heading(line.text, label)
                }
                Some(_) | None => self.notes.add("text around the blocks left out"),
            }
        }
    }

    /// A label that no block follows.
    fn heading(&mut self, line: &str, label: super::label::Label) {
        let path = label.path;
        match (label.verb, label.to) {
            (Verb::Delete, _) if label.form >= Form::Heading => {
                self.notes.extend(label.notes);
                self.finders.push(Finder::Blocks);
                self.bundle.artifacts.push(Artifact::Delete { path });
            }
            (Verb::Move, Some(to)) if label.form >= Form::Heading => {
                self.notes.extend(label.notes);
                self.finders.push(Finder::Blocks);
                self.bundle.artifacts.push(Artifact::Move { from: path, to });
            }
            (Verb::Delete | Verb::Move, _) => {
                self.out.fault(format!(
                    "`{}` could be an order or text; write it as a heading: `### delete {path}`",
                    line.trim()
                ));
            }
            (Verb::Write | Verb::Edit | Verb::Diff, _) => {
                self.out.fault(format!("`{}` has no block of its own below it", line.trim()));
            }
            (Verb::Unsaid, _) => self.notes.add("text around the blocks left out"),
        }
    }

    fn unlabelled(&mut self, body: Range<usize>, before: Range<usize>) {
        let open = body.start - 1;
        let lines = &self.page.lines[body];
        let text = text_of(lines);
        let trimmed = text.trim();
        if trimmed.starts_with(['{', '['])
            && let Ok(found) = read_json(trimmed, 0)
            && trimmed[found.end..].trim().is_empty()
            && let Fit::Is(payload, mut notes) = fit(&found.value, self.wanted)
        {
            notes.extend(found.notes);
            let (finder, stand) = (Finder::FencedJson, Stand::Within);
            return self.out.hits.push(Hit { payload, finder, stand, notes });
        }
        let is_bare = self.page.lines[open].fence.is_some_and(|fence| fence.info.is_empty());
        let above = self.page.lines[before.clone()].iter().rev().find(|line| !line.is_blank());
        let is_named = above.is_some_and(|line| lone_word(line.text).is_some());
        let mut filled = lines.iter().filter(|line| !line.is_blank()).peekable();
        if is_bare && !is_named && filled.peek().is_some() && filled.all(|line| is_directive(line.text)) {
            self.notes.add("a fence around TESTS, RED or RUN removed");
            for line in lines.iter().filter(|line| !line.is_blank()) {
                if let Err(fault) = take(line.text, &mut self.bundle, &mut self.notes) {
                    self.out.fault(fault);
                }
            }
            return;
        }
        if is_bare && !self.bundle.artifacts.is_empty() {
            let fault = "a block with nothing behind its marks follows the blocks of files, and could be a part of one: leave \
                         it out, or name it by `### write path`";
            return self.out.fault(fault);
        }
        self.out.left_out(&self.page.lines[before], &self.page.lines[open], lines);
    }

    fn finish(self) {
        let Reader { wanted, out, bundle, mut notes, mut finders, .. } = self;
        if bundle == Bundle::default() {
            return;
        }
        if let [Artifact::Write { path, content }] = bundle.artifacts.as_slice()
            && content.trim_start().starts_with('{')
            && read_json(content.trim(), 0)
                .is_ok_and(|found| matches!(fit(&found.value, wanted), Fit::Is(..)))
        {
            return out.fault(format!(
                "`{path}` holds what could be the answer itself; answer with that alone, or without it"
            ));
        }
        finders.dedup();
        let finder = match finders.as_slice() {
            [] => Finder::Blocks,
            [Finder::Blocks] if notes == Notes::default() => Finder::Blocks,
            [Finder::Blocks] => Finder::LooseBlocks,
            [one] => *one,
            [_, ..] => Finder::LooseBlocks,
        };
        if finder == Finder::LooseBlocks && notes == Notes::default() {
            notes.add("blocks of several kinds");
        }
        out.hits.push(Hit { payload: Payload::Bundle(bundle), finder, stand: Stand::Within, notes });
    }
}
