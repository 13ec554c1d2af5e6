//! Which fence closes which block. A file's text may itself hold fences, so a line of bare marks can close the block or open
//! one inside of it. All readings of an answer are followed at once, and only an answer with exactly one is accepted.
//!
//! Two readings that go on in the same way are joined, so there are never more of them than kinds of fences, and each line
//! is looked at once. What decides between readings: a fence with words behind its marks opens; code inside of a text
//! holds no such fence and no name with a fence below it; at the end everything is closed. A text with fences that are not paired needs more marks
//! around it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::label::Label;
use super::lines::Fence;
use super::opening::{Made, Opening, Page};
use super::steps::count;

/// The most fences of an answer, and the most marks of one: more is no answer of a model.
const FENCES: usize = 20_000;
const MARKS: usize = 20;

/// A part of an answer, in order.
#[derive(Debug)]
pub(super) enum Piece {
    /// Lines outside of blocks.
    Text(Range<usize>),
    /// A file's whole text, and the line that names it.
    Block { label: Label, at: Option<usize>, body: Range<usize> },
    /// A block that names no file. Its fence is the line before it.
    Unlabelled(Range<usize>),
    /// Changes that were read to their end.
    Made(Made),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Block,
    /// In a fence inside of a block.
    Inner,
    Unlabelled,
}

/// Where a reading stands: what comes next depends on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    place: Place,
    mark: char,
    run: usize,
    indent: usize,
}

const OUTSIDE: State = State { place: Place::Outside, mark: ' ', run: 0, indent: 0 };

/// A step of a reading.
#[derive(Debug)]
struct Step {
    state: State,
    /// Whether more than one reading leads here.
    is_joined: bool,
    before: Option<usize>,
    line: usize,
    /// What was read to its end by this step.
    made: Option<Box<Made>>,
}

struct Readings<'a> {
    page: &'a Page<'a>,
    steps: Vec<Step>,
    live: Vec<usize>,
    /// Readings that go on behind what was read to its end.
    later: BTreeMap<usize, Vec<usize>>,
    fences: usize,
}

/// The pieces of an answer from a line on, if it has exactly one reading. The error is a line for the model.
pub(super) fn pieces(page: &Page<'_>, from: usize) -> Result<Vec<Piece>, String> {
    let begin = Step { state: OUTSIDE, is_joined: false, before: None, line: from, made: None };
    let mut readings =
        Readings { page, steps: vec![begin], live: vec![0], later: BTreeMap::new(), fences: 0 };
    for at in from..page.lines.len() {
        readings.line(at)?;
    }
    readings.arrive(page.lines.len());
    readings.only()
}

impl Readings<'_> {
    fn line(&mut self, at: usize) -> Result<(), String> {
        self.arrive(at);
        match self.page.lines[at].fence {
            Some(fence) => self.fence(at, &fence),
            None => self.text(at),
        }
    }

    /// Readings that were waiting for a line.
    fn arrive(&mut self, at: usize) {
        for step in self.later.remove(&at).unwrap_or_default() {
            self.add(step);
        }
    }

    /// Adds a reading, joined with one that stands in the same place.
    fn add(&mut self, step: usize) {
        let state = self.steps[step].state;
        match self.live.iter().find(|other| self.steps[**other].state == state) {
            Some(other) => self.steps[*other].is_joined = true,
            None => self.live.push(step),
        }
    }

    fn step(&mut self, before: usize, state: State, line: usize, made: Option<Box<Made>>) -> usize {
        let is_joined = self.steps[before].is_joined;
        self.steps.push(Step { state, is_joined, before: Some(before), line, made });
        self.steps.len() - 1
    }

    /// A line that is no fence matters only outside of blocks.
    fn text(&mut self, at: usize) -> Result<(), String> {
        let Some(index) = self.live.iter().position(|step| self.steps[*step].state == OUTSIDE) else {
            return Ok(());
        };
        match self.page.opening(at) {
            Opening::Made(made) => {
                let step = self.live.remove(index);
                self.jump(step, at, made);
                Ok(())
            }
            Opening::Fault(fault) => Err(fault),
            Opening::Nothing | Opening::Block { .. } | Opening::Unlabelled => Ok(()),
        }
    }

    fn jump(&mut self, before: usize, at: usize, made: Box<Made>) {
        let next = made.next;
        let step = self.step(before, OUTSIDE, at, Some(made));
        self.later.entry(next).or_default().push(step);
    }

    fn fence(&mut self, at: usize, fence: &Fence<'_>) -> Result<(), String> {
        self.fences += 1;
        if self.fences > FENCES || fence.run > MARKS {
            return Err(format!(
                "the answer has more than {FENCES} fences, or one of more than {MARKS} marks"
            ));
        }
        count(self.live.len());
        let is_marked = self.page.is_marked(at);
        for before in std::mem::take(&mut self.live) {
            let state = self.steps[before].state;
            let inside = State { place: Place::Inner, ..state };
            let is_same = fence.mark == state.mark && fence.run == state.run && fence.indent == state.indent;
            let is_bare = fence.info.is_empty();
            match state.place {
                Place::Outside => self.open(before, at, fence)?,
                _ if !is_same => self.add(before),
                // Whoever puts more than three marks around a text does so because of the fences in it.
                Place::Block if is_bare && state.run > 3 => {
                    let closed = self.step(before, OUTSIDE, at, None);
                    self.add(closed);
                }
                Place::Block => {
                    if is_bare {
                        let closed = self.step(before, OUTSIDE, at, None);
                        self.add(closed);
                    }
                    let opened = self.step(before, inside, at, None);
                    self.add(opened);
                }
                // A block of code inside of a text holds no block of its own.
                Place::Inner if is_marked || !is_bare => {}
                Place::Inner => {
                    let closed = self.step(before, State { place: Place::Block, ..state }, at, None);
                    self.add(closed);
                }
                Place::Unlabelled if is_bare => {
                    let closed = self.step(before, OUTSIDE, at, None);
                    self.add(closed);
                }
                Place::Unlabelled => self.add(before),
            }
        }
        Ok(())
    }

    /// A fence outside of blocks.
    fn open(&mut self, before: usize, at: usize, fence: &Fence<'_>) -> Result<(), String> {
        let place = match self.page.opening(at) {
            Opening::Fault(fault) => return Err(fault),
            Opening::Made(made) => {
                self.jump(before, at, made);
                return Ok(());
            }
            Opening::Block { .. } => Place::Block,
            Opening::Unlabelled | Opening::Nothing => Place::Unlabelled,
        };
        let state = State { place, mark: fence.mark, run: fence.run, indent: fence.indent };
        let opened = self.step(before, state, at, None);
        self.add(opened);
        Ok(())
    }

    /// The one reading in which everything is closed.
    fn only(mut self) -> Result<Vec<Piece>, String> {
        let Some(last) = self.live.iter().copied().find(|step| self.steps[*step].state == OUTSIDE) else {
            return Err(self.unclosed());
        };
        if self.steps[last].is_joined {
            return Err("the fences of the answer can be read in more than one way: where a file's text holds lines of ```, \
                        put ```` before and after that text, and leave out blocks that are no files"
                .to_owned());
        }
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(step) = at {
            path.push(step);
            at = self.steps[step].before;
        }
        path.reverse();
        Ok(self.walk(&path))
    }

    /// Says which block the last reading leaves open.
    fn unclosed(&self) -> String {
        let cut = "is not closed: the answer may have been cut off";
        let mut at = self.live.last().copied();
        let mut open = None;
        while let Some(step) = at.map(|at| &self.steps[at]).filter(|step| step.state.place != Place::Outside)
        {
            open = Some(step.line);
            at = step.before;
        }
        match open.map(|line| self.page.opening(line)) {
            Some(Opening::Block { label, .. }) => format!("the block of `{}` {cut}", label.path),
            Some(Opening::Unlabelled | Opening::Made(_) | Opening::Fault(_) | Opening::Nothing) | None => {
                format!("a block {cut}")
            }
        }
    }

    /// The pieces along a reading.
    fn walk(&mut self, path: &[usize]) -> Vec<Piece> {
        let mut out = Vec::new();
        let (mut outside, mut open) = (self.steps[0].line, 0);
        let mut place = Place::Outside;
        for step in path.iter().skip(1) {
            let (line, next) = (self.steps[*step].line, self.steps[*step].state.place);
            match (place, next) {
                (Place::Outside, Place::Outside) => {
                    out.push(Piece::Text(outside..line));
                    if let Some(made) = self.steps[*step].made.take() {
                        outside = made.next;
                        out.push(Piece::Made(*made));
                    }
                }
                (Place::Outside, _) => {
                    out.push(Piece::Text(outside..line));
                    open = line;
                }
                (_, Place::Outside) => {
                    out.push(self.block(open, line));
                    outside = line + 1;
                }
                _ => {}
            }
            place = next;
        }
        out.push(Piece::Text(outside..self.page.lines.len()));
        out
    }

    fn block(&self, open: usize, close: usize) -> Piece {
        let body = open + 1..close;
        match self.page.opening(open) {
            Opening::Block { label, at } => Piece::Block { label, at, body },
            Opening::Unlabelled | Opening::Made(_) | Opening::Fault(_) | Opening::Nothing => {
                Piece::Unlabelled(body)
            }
        }
    }
}
