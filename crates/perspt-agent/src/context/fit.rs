//! Making a package fit its budget: the fixed order in which files get shorter.

use perspt_core::path::RelPath;
use perspt_core::tree::EntryKind;
use perspt_lang::plugin::Files;
use perspt_model::estimate_tokens;
use perspt_policy::mask::Masks;
use perspt_policy::secrets::is_secret;

use super::hits::Reason;
use super::listing::{Listing, listing};
use super::package::{ContextBudget, Request};
use super::shelf::{Form, Role, Shelf};
use super::source::Source;

/// What the list of paths may cost, and its share of the budget.
const LISTING: u64 = 1_500;
const LISTING_SHARE: u64 = 4;
/// What the list of paths costs where every token counts.
const SHORT_LISTING: u64 = 120;
/// Files that may help cost at most this much together; where something is known to matter, the others only this much.
const MAYBE: u64 = 16_000;
const BACKGROUND: u64 = 2_000;
/// So many files that may help are looked into.
const LOOKED_AT: usize = 200;
/// What the note on a file and the line that names it cost, about.
const NOTE: u64 = 90;
/// A note names so many files.
const NAMED: usize = 6;
/// There are at most so many notes: they are kept in an event.
const NOTES: usize = 30;

/// A package in the making.
pub(super) struct Packing<'a> {
    request: &'a Request,
    files: &'a dyn Files,
    masks: &'a Masks,
    budget: ContextBudget,
    pub shelves: Vec<Shelf>,
    pub listing: Listing,
    /// Files that cannot be shown, with why.
    refused: Vec<String>,
    /// Files to read that were left out.
    left_out: Vec<RelPath>,
    /// Files that may help and are not shown.
    unhelped: Vec<&'a RelPath>,
}

impl<'a> Packing<'a> {
    /// Own files and files to read in the form that serves best, whatever they cost.
    pub fn new(
        request: &'a Request,
        files: &'a dyn Files,
        budget: ContextBudget,
        masks: &'a Masks,
    ) -> Packing<'a> {
        let empty = Listing { text: String::new(), unnamed: 0 };
        let mut packing = Packing {
            request,
            files,
            masks,
            budget,
            shelves: Vec::new(),
            listing: empty,
            refused: Vec::new(),
            left_out: Vec::new(),
            unhelped: Vec::new(),
        };
        for (role, paths) in [(Role::Own, &request.own), (Role::Read, &request.read)] {
            for path in paths {
                packing.put(role, path);
            }
        }
        let may_help = |path: &&RelPath| files.tree().entries.contains_key(*path) && !is_secret(path);
        packing.unhelped = request.maybe.iter().filter(may_help).filter(|path| !packing.has(path)).collect();
        packing.list(LISTING.min(budget.tokens / LISTING_SHARE));
        packing
    }

    fn put(&mut self, role: Role, path: &RelPath) {
        let Some(entry) = self.files.tree().entries.get(path).filter(|_| !self.has(path)) else { return };
        if is_secret(path) {
            self.refuse(format!("{path}: it may hold secrets"));
        } else if let Some(source) = Source::read(path, self.files, self.masks) {
            let mut shelf = Shelf::new(role, source, &self.request.focus);
            if role == Role::Read && self.shown() >= self.budget.files {
                shelf.show(Form::Summary);
            }
            self.shelves.push(shelf);
        } else {
            let why = match entry.kind {
                EntryKind::Symlink => "a symbolic link, which is not followed",
                EntryKind::File | EntryKind::Exec => "not a text file of a size that can be shown",
            };
            self.refuse(format!("{path}: {why}"));
        }
    }

    fn refuse(&mut self, line: String) {
        if !self.refused.contains(&line) {
            self.refused.push(line);
        }
    }

    fn has(&self, path: &RelPath) -> bool {
        self.shelves.iter().any(|shelf| shelf.path() == path)
    }

    /// Files that are shown in more than a line.
    fn shown(&self) -> usize {
        self.shelves.iter().filter(|shelf| shelf.form != Form::Summary).count()
    }

    fn list(&mut self, most: u64) {
        let own: Vec<RelPath> = self.request.own.iter().chain(&self.request.read).cloned().collect();
        self.listing = listing(self.files.tree(), &own, most);
    }

    /// What all of it costs, what is said of the rest included.
    pub fn tokens(&self) -> u64 {
        let files: u64 = self.shelves.iter().map(Shelf::tokens).sum();
        let notes: u64 = self.notes().iter().map(|line| estimate_tokens(line) + 5).sum();
        files + notes + estimate_tokens(&self.listing.text)
    }

    fn fits(&self) -> bool {
        self.tokens() <= self.budget.tokens
    }

    /// Makes it shorter, step by step, until it fits or nothing more can be done. Within a step the least important file,
    /// which is the last one, comes first.
    pub fn fit(&mut self) {
        self.shorten(Role::Read, Form::Outline);
        self.shorten(Role::Read, Form::Summary);
        self.share_among_own();
        self.shorten(Role::Own, Form::Focus);
        while !self.fits() {
            let Some(last) = self.shelves.iter().rposition(|shelf| shelf.role == Role::Read) else { break };
            self.left_out.push(self.shelves.remove(last).path().clone());
        }
        if !self.fits() {
            self.list(SHORT_LISTING);
        }
    }

    fn shorten(&mut self, role: Role, form: Form) {
        for at in (0..self.shelves.len()).rev() {
            if self.fits() {
                return;
            }
            let shelf = &mut self.shelves[at];
            let before = shelf.form;
            if shelf.role != role || before == form || before == Form::Summary {
                continue;
            }
            let cost = shelf.tokens();
            shelf.show(form);
            if shelf.tokens() >= cost {
                shelf.show(before);
            }
        }
    }

    /// Own files get shorter only as far as they must: each large one gets the same share of what is left.
    fn share_among_own(&mut self) {
        if self.fits() {
            return;
        }
        let is_own = |shelf: &&Shelf| shelf.role == Role::Own;
        let own: u64 = self.shelves.iter().filter(is_own).map(Shelf::tokens).sum();
        let others = self.tokens().saturating_sub(own);
        let mut left = self.budget.tokens.saturating_sub(others);
        let mut order: Vec<usize> =
            (0..self.shelves.len()).filter(|at| self.shelves[*at].role == Role::Own).collect();
        order.sort_by_key(|at| self.shelves[*at].tokens());
        let mut waiting = order.len() as u64;
        for at in order {
            let share = left / waiting.max(1);
            let shelf = &mut self.shelves[at];
            if shelf.tokens() > share {
                let before = shelf.form;
                let cost = shelf.tokens();
                shelf.show(Form::Parts(share.saturating_sub(NOTE)));
                if shelf.tokens() >= cost {
                    shelf.show(before);
                }
            }
            left = left.saturating_sub(shelf.tokens());
            waiting -= 1;
        }
    }

    /// Adds files that may help while there is room: those in focus first, then the others in their order. Where files to
    /// read did not fit, there is none.
    pub fn add_maybe(&mut self) {
        if self.shelves.iter().any(|shelf| shelf.role == Role::Read && shelf.form == Form::Summary) {
            return;
        }
        let sources = self
            .unhelped
            .iter()
            .take(LOOKED_AT)
            .filter_map(|path| Source::read(path, self.files, self.masks));
        let mut found: Vec<Shelf> =
            sources.map(|source| Shelf::new(Role::Maybe, source, &self.request.focus)).collect();
        found.sort_by_key(|shelf| (shelf.reason(), std::cmp::Reverse(shelf.most_words())));
        let is_named = |shelf: &Shelf| shelf.reason() < Reason::Words;
        let matters = |shelf: &Shelf| shelf.role == Role::Own || is_named(shelf);
        let has_focus = self.shelves.iter().any(matters) || found.iter().any(is_named);
        let (mut left, mut background) = (MAYBE, if has_focus { BACKGROUND } else { MAYBE });
        for shelf in found {
            let (cost, named) = (shelf.tokens(), is_named(&shelf));
            let room = if named { left } else { left.min(background) };
            if cost > room || self.shown() >= self.budget.files {
                continue;
            }
            let path = shelf.path().clone();
            self.shelves.push(shelf);
            if !self.fits() {
                self.shelves.pop();
                continue;
            }
            self.unhelped.retain(|other| **other != path);
            left -= cost;
            background = if named { background } else { background - cost };
        }
    }

    /// What is not shown, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.refused.clone();
        notes.extend(self.shelves.iter().filter_map(Shelf::secrets));
        notes.extend(self.shelves.iter().filter_map(Shelf::note));
        let summaries = self.shelves.iter().filter(|shelf| shelf.form == Form::Summary).map(Shelf::path);
        notes.extend(group("all but a line about each, over the budget", summaries));
        notes.extend(group("over the budget", self.left_out.iter()));
        notes.extend(group("they may help, over the budget", self.unhelped.iter().copied()));
        if self.listing.unnamed > 0 {
            notes.push(format!(
                "the names of {} files in the file list; folders are counted",
                self.listing.unnamed
            ));
        }
        let more = notes.len().saturating_sub(NOTES);
        if more > 0 {
            notes.truncate(NOTES);
            notes.push(format!("and parts of {more} more files"));
        }
        notes
    }
}

/// One line about several files.
fn group<'p>(what: &str, paths: impl Iterator<Item = &'p RelPath>) -> Option<String> {
    let paths: Vec<&str> = paths.map(RelPath::as_str).collect();
    let more = paths.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more files") } else { String::new() };
    let named: Vec<&str> = paths.iter().take(NAMED).copied().collect();
    (!paths.is_empty()).then(|| format!("{}{rest}: {what}", named.join(", ")))
}
