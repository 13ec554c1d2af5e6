//! Reading an answer: its frame is taken off, then JSON and blocks are looked for, and exactly one payload must be there.

use perspt_core::event::{Capture, ParseState};
use perspt_core::hash::Sha;

use super::check::checked;
use super::normalise::{Framed, normalise};
use super::scan::{Hit, Scan, Stand, scan};
use super::wanted::{Finder, Payload, Reading, Recovery, Rejection, Shape, Wanted};

/// The most bytes of an answer that are read.
const CAP: usize = 8 * 1024 * 1024;

/// Records what came, whatever it is.
pub fn capture(text: &str) -> Capture {
    const FIRST_LINE_CHARS: usize = 120;
    let first_line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    Capture {
        hash: Sha::of(text.as_bytes()),
        length: text.len() as u64,
        first_line: first_line.chars().take(FIRST_LINE_CHARS).collect(),
    }
}

/// Reads an answer as one of the shapes that are wanted. Nothing is guessed: what could mean two things is refused.
pub fn read(answer: &str, wanted: &Wanted<'_>) -> Result<Reading, Rejection> {
    if answer.trim().is_empty() {
        return Err(Rejection::malformed(ParseState::EmptyResponse, "the answer was empty"));
    }
    if answer.len() > CAP {
        let line = format!("the answer has {} bytes; {CAP} is the most that is read", answer.len());
        return Err(Rejection::invalid(line));
    }
    let mut refused = None;
    let mut accepted: Option<Reading> = None;
    for framed in normalise(answer) {
        // A tag within a block or a string belongs to the answer: what stands before it is then not complete, or is a part
        // of the answer itself.
        let is_reasoning = |before: &String| {
            let Scan { hits, faults, .. } = scan(before, wanted);
            hits.is_empty() && faults.is_empty()
        };
        if !framed.before.as_ref().is_none_or(is_reasoning) {
            continue;
        }
        match read_framed(framed, wanted) {
            Ok(reading) => match &accepted {
                Some(before) if before.payload != reading.payload => {
                    let line = "the answer can be read in two ways: with its reasoning and without it; answer without reasoning";
                    return Err(Rejection::invalid(line));
                }
                Some(_) => {}
                None => accepted = Some(reading),
            },
            Err(rejection) => refused = refused.or(Some(rejection)),
        }
    }
    match (accepted, refused) {
        (Some(reading), _) => strict_enough(reading, wanted),
        (None, Some(rejection)) => Err(rejection),
        (None, None) => Err(nothing(wanted)),
    }
}

fn strict_enough(reading: Reading, wanted: &Wanted<'_>) -> Result<Reading, Rejection> {
    match wanted.recovery {
        Recovery::Strict if !reading.recovered.is_empty() => {
            let mut rejection =
                Rejection::invalid("the answer is not exactly of the form that was asked for");
            rejection.lines.extend(reading.recovered);
            Err(rejection)
        }
        Recovery::Strict | Recovery::Tolerant => Ok(reading),
    }
}

fn read_framed(framed: Framed, wanted: &Wanted<'_>) -> Result<Reading, Rejection> {
    let Framed { text, mut notes, .. } = framed;
    if text.trim().is_empty() {
        let line = "only reasoning came, and no answer after it";
        return Err(Rejection::malformed(ParseState::NoStructuredPayload, line));
    }
    let Scan { hits, faults, notes: seen, unlabelled } = scan(&text, wanted);
    if hits.is_empty() && faults.is_empty() && wanted.allows_files() {
        let mut rejection = nothing(wanted);
        rejection.lines.extend(unlabelled);
        return Err(rejection);
    }
    if !faults.is_empty() {
        return Err(Rejection { lines: faults, ..Rejection::invalid("") });
    }
    notes.extend(seen);
    let Hit { payload, finder, notes: own, .. } = one_of(hits, wanted)?;
    notes.extend(own);
    let payload = checked(payload, &mut notes)?;
    let recovered = notes.into_lines();
    let state = match (&payload, recovered.is_empty()) {
        (Payload::Replan(_), _) => ParseState::RequiresReplan,
        (_, true) => ParseState::StructuredOk,
        (_, false) => ParseState::TolerantRecoveryOk,
    };
    Ok(Reading { payload, state, finder, recovered })
}

/// The one payload of an answer: a plan and a bundle are one where that is allowed, and the same payload twice is one.
fn one_of(hits: Vec<Hit>, wanted: &Wanted<'_>) -> Result<Hit, Rejection> {
    let mut found: Vec<Hit> = Vec::new();
    for hit in hits {
        match found.iter_mut().find(|other| other.payload == hit.payload) {
            Some(other) => other.notes.add("the answer stood there twice"),
            None => found.push(hit),
        }
    }
    let count = found.len();
    let mut found = found.into_iter();
    match (found.next(), found.next(), found.next()) {
        (None, ..) => Err(nothing(wanted)),
        (Some(hit), None, _) => Ok(unwrapped(hit)),
        (Some(one), Some(other), None) => joined(one, other, wanted).ok_or_else(|| several(2)),
        (Some(_), Some(_), Some(_)) => Err(several(count)),
    }
}

fn several(count: usize) -> Rejection {
    Rejection::invalid(format!("{count} different answers came where one was asked for; give one"))
}

/// JSON that had to be found is not what was asked for.
fn unwrapped(mut hit: Hit) -> Hit {
    if matches!(hit.finder, Finder::FencedJson | Finder::JsonInText) {
        hit.notes.add(format!("{} unwrapped", hit.finder.as_str()));
    }
    hit
}

/// A plan and its bundle that stand side by side. The form that is asked for is the plan's JSON, then blocks.
fn joined(one: Hit, other: Hit, wanted: &Wanted<'_>) -> Option<Hit> {
    let is_asked =
        one.stand == Stand::First && one.finder == Finder::JsonInText && other.finder == Finder::Blocks;
    let (one, other) = if is_asked { (one, other) } else { (unwrapped(one), unwrapped(other)) };
    let (plan, bundle, finder) = match (one.payload, other.payload) {
        (Payload::Plan(plan), Payload::Bundle(bundle)) => (plan, bundle, other.finder),
        (Payload::Bundle(bundle), Payload::Plan(plan)) => (plan, bundle, one.finder),
        _ => return None,
    };
    let (mut notes, stand) = (one.notes, one.stand);
    notes.extend(other.notes);
    let payload = Payload::PlanWithBundle { plan, bundle };
    wanted.allows(Shape::PlanWithBundle).then_some(Hit { payload, finder, stand, notes })
}

fn nothing(wanted: &Wanted<'_>) -> Rejection {
    let line = if wanted.allows_files() {
        "nothing was found that says which file is meant: put a line `### write path/of/the/file` before each block of \
         code; text and blocks without a path are not an answer"
    } else {
        "no JSON object of the form that was asked for was found; text and code are not an answer"
    };
    Rejection::malformed(ParseState::NoStructuredPayload, line)
}
