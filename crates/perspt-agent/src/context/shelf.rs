//! One file on its way into a package: the forms it can be shown in, from its whole text down to one line.

use perspt_core::path::RelPath;
use perspt_model::estimate_tokens;
use perspt_policy::mask::placeholders;

use super::digest;
use super::focus::Focus;
use super::hits::{Hits, Reason, hits};
use super::package::{ContextFile, Shown};
use super::regions::{self, Cut};
use super::source::Source;

/// Up to this many tokens a file is shown whole: some 300 lines.
const SMALL: u64 = 4_000;
/// What the outline of a large file may cost.
const OUTLINE: u64 = 1_500;
/// What the outline of a large file always may cost beside its regions.
const SHORT_OUTLINE: u64 = 200;
/// What outline and regions of a large file may cost together.
const PARTS: u64 = 6_000;
/// Up to this many tokens an own file in which nothing is in focus is shown whole. A task that names nothing in a file it
/// is to change is mostly about all of it, and an edit can only quote what was shown. Beyond that a model would pay for
/// much more than it can change in one answer; the outline tells it what to ask for.
const UNFOCUSED: u64 = 24_000;

/// Why a file is in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The node writes it.
    Own,
    /// The node should read it.
    Read,
    /// It may help.
    Maybe,
}

impl Role {
    fn why(self) -> &'static str {
        match self {
            Role::Own => "own file",
            Role::Read => "to read",
            Role::Maybe => "for context",
        }
    }
}

/// A form that a file can be shown in, from the longest to the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    /// Outline and regions within this many tokens.
    Parts(u64),
    /// What is in focus alone.
    Focus,
    Outline,
    Summary,
}

/// A file and how it is shown.
pub(super) struct Shelf {
    pub role: Role,
    pub source: Source,
    hits: Hits,
    pub form: Form,
    pub text: String,
    /// Regions that are shown, and parts in focus that are not.
    regions: usize,
    left_out: usize,
    /// Placeholders of secrets in the text.
    secrets: usize,
}

impl Shelf {
    /// A file in the form that serves best where there is room.
    pub fn new(role: Role, source: Source, focus: &Focus) -> Shelf {
        let hits = hits(&source, focus);
        let mut shelf = Shelf {
            role,
            source,
            hits,
            form: Form::Whole,
            text: String::new(),
            regions: 0,
            left_out: 0,
            secrets: 0,
        };
        shelf.show(shelf.first_form());
        // Parts of a file are no gain where the whole costs no more.
        if estimate_tokens(&shelf.text) >= shelf.source.tokens() {
            shelf.show(Form::Whole);
        }
        shelf
    }

    fn first_form(&self) -> Form {
        let (whole, in_focus) = (self.source.tokens(), !self.hits.parts.is_empty());
        if whole <= SMALL {
            return Form::Whole;
        }
        match self.role {
            Role::Own if !in_focus && whole <= UNFOCUSED => Form::Whole,
            Role::Read | Role::Maybe if !in_focus => Form::Outline,
            Role::Own | Role::Read | Role::Maybe => Form::Parts(PARTS),
        }
    }

    /// The strongest reason for which a part of it is in focus.
    pub fn reason(&self) -> Reason {
        self.hits.parts.first().map_or(Reason::Words, |hit| hit.reason)
    }

    /// How many different words of the focus one part of it has.
    pub fn most_words(&self) -> usize {
        self.hits.most_words
    }

    /// Shows the file in another form.
    pub fn show(&mut self, form: Form) {
        let hits = &self.hits.parts;
        let (text, regions, left_out) = match form {
            Form::Whole => (self.source.text.clone(), 0, 0),
            Form::Parts(most) => {
                let share = OUTLINE.min(SHORT_OUTLINE.max(most / 3));
                let outline = digest::outline(&self.source, hits, share);
                let left = most.saturating_sub(estimate_tokens(&outline));
                with_regions(&self.source, outline, &regions::choose(&self.source, hits, left))
            }
            Form::Focus => with_regions(&self.source, String::new(), &regions::least(&self.source, hits)),
            Form::Outline => (digest::outline(&self.source, hits, OUTLINE), 0, 0),
            Form::Summary => (digest::summary(&self.source), 0, 0),
        };
        (self.secrets, self.regions, self.left_out) = (placeholders(&text).len(), regions, left_out);
        (self.form, self.text) = (form, text);
    }

    /// What it costs, with the line that names it and its fence.
    pub fn tokens(&self) -> u64 {
        const FENCE: u64 = 25;
        estimate_tokens(&self.text) + estimate_tokens(self.source.path.as_str()) + FENCE
    }

    /// What is not shown of it, for people and the model.
    pub fn note(&self) -> Option<String> {
        let Shelf { source, form, regions, left_out, .. } = self;
        let lines = source.number(source.line_count());
        let more = if *left_out > 0 { format!("; {left_out} more parts may matter") } else { String::new() };
        match form {
            Form::Whole | Form::Summary => None,
            Form::Parts(_) => Some(format!(
                "{}: all but its outline and {regions} regions of its {lines} lines{more}",
                source.path
            )),
            Form::Focus => Some(format!(
                "{}: all but {regions} regions of its {lines} lines, those in focus alone{more}",
                source.path
            )),
            Form::Outline => Some(format!("{}: all but the outline of its {lines} lines", source.path)),
        }
    }

    /// What is said of the secrets in its text.
    pub fn secrets(&self) -> Option<String> {
        let (path, secrets) = (&self.source.path, self.secrets);
        (secrets > 0).then(|| {
            format!("{path}: {secrets} secrets, shown as `<perspt-secret-…>`; leave these as they are, they are put back")
        })
    }

    pub fn path(&self) -> &RelPath {
        &self.source.path
    }

    /// The file as the package has it.
    pub fn into_file(self) -> ContextFile {
        let tokens = self.tokens();
        let shown = match self.form {
            Form::Whole => Shown::Whole,
            Form::Parts(_) | Form::Focus => Shown::Regions,
            Form::Outline => Shown::Outline,
            Form::Summary => Shown::Summary,
        };
        ContextFile { path: self.source.path, why: self.role.why(), shown, text: self.text, tokens }
    }
}

fn with_regions(source: &Source, outline: String, cut: &Cut) -> (String, usize, usize) {
    (outline + &regions::text(source, &cut.regions), cut.regions.len(), cut.left_out)
}
