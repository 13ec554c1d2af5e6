//! Which consents a candidate needs because of what it did to tests and to what decides how they run.

use super::{Case, Finding, Terms, Undeclared};
use crate::consent::{ConsentKind, Declared, Need};
use crate::grade::FileKind;
use crate::inventory::{ChangedTest, Fate, Inventory, TestId};
use crate::path::RelPath;
use crate::reading::{PluginName, Reading, StageId, StageKind, Status, TestEnd, TestName, TestResult};
use crate::residual::{Class, Component, Residual};

/// Who finds what needs a consent.
const SENSOR: &str = "perspt";

/// Every need of a candidate, tests that stay red aside.
pub(super) fn of(case: &Case<'_>, terms: &Terms<'_>, inventory: &Inventory) -> Vec<Need> {
    let outcome = OldTests::of(case, inventory);
    let mut needs: Vec<Need> = inventory.changed.iter().map(|test| changed(test, case, terms)).collect();
    for support in &inventory.support {
        // Data is settled by facts: the tests as they were pass over the new code with the old data too.
        if FileKind::of(&support.path) != FileKind::Code && outcome.settles() {
            continue;
        }
        let mut need = need(ConsentKind::Tests, support.path.to_string(), support.what.clone(), terms);
        need.notes.extend(outcome.note(&support.path));
        needs.push(need);
    }
    for evidence in &inventory.evidence {
        if evidence.settled_by_results && outcome.settles() {
            continue;
        }
        let mut need = need(ConsentKind::Evidence, evidence.path.to_string(), evidence.what.clone(), terms);
        need.notes.extend(outcome.note(&evidence.path));
        needs.push(need);
    }
    // What nothing above explains is a need of the test itself.
    if inventory.support.is_empty() && inventory.evidence.is_empty() {
        for (name, file) in &outcome.unmet {
            let subject = file.as_ref().map_or_else(|| name.0.clone(), |file| in_file(file, name));
            let why = "as it was it does not pass over the new code, only with other files that were changed";
            needs.push(need(ConsentKind::Tests, subject, why.to_owned(), terms));
        }
    }
    needs
}

pub(super) fn need(kind: ConsentKind, subject: String, why: String, terms: &Terms<'_>) -> Need {
    let declared = terms.declared.of_test(&subject);
    Need { kind, subject, why, declared, weaker: Vec::new(), notes: Vec::new(), test: None }
}

pub(super) fn in_file(file: &RelPath, name: &TestName) -> String {
    let bare = name.0.split('[').next().unwrap_or(&name.0);
    let inside = bare.split_once("::").map_or(bare, |(_, inside)| inside);
    format!("{file}::{inside}")
}

fn changed(test: &ChangedTest, case: &Case<'_>, terms: &Terms<'_>) -> Need {
    let why = match test.fate {
        Fate::Changed => "this existing test was changed",
        Fate::Removed => "this existing test was removed",
    };
    let mut need = need(ConsentKind::Tests, test.id.subject(), why.to_owned(), terms);
    if test.fate == Fate::Removed {
        need.declared = terms.declared.of_removal(&need.subject);
    }
    need.weaker.clone_from(&test.weaker);
    need.notes.extend(as_it_was(&test.id, case));
    need.test = Some(test.id.clone());
    need
}

/// What the old test says of the new code.
fn as_it_was(id: &TestId, case: &Case<'_>) -> Option<String> {
    let ends: Vec<TestEnd> = case.old_tests.iter().flat_map(|reading| ends_of(reading, id)).collect();
    match () {
        () if ends.is_empty() => None,
        () if ends.iter().all(|end| *end == TestEnd::Passed) => {
            Some("as it was, it passes over the new code too".to_owned())
        }
        () if ends.contains(&TestEnd::Failed) => Some("as it was, it fails over the new code".to_owned()),
        () => Some("as it was, it is skipped over the new code".to_owned()),
    }
}

fn ends_of(reading: &Reading, id: &TestId) -> Vec<TestEnd> {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    results.filter(|(name, result)| id.is(name, result)).map(|(_, result)| result.end).collect()
}

/// What the tests as they were have to say, those aside that were changed themselves.
struct OldTests {
    measured: bool,
    /// Unchanged tests that pass with the candidate's files and not with the old ones.
    unmet: Vec<(TestName, Option<RelPath>)>,
}

impl OldTests {
    fn of(case: &Case<'_>, inventory: &Inventory) -> OldTests {
        let mut unmet = Vec::new();
        let mut measured = !case.old_tests.is_empty();
        for old in case.old_tests {
            measured &= old.status == Status::Measured;
            for (name, was) in first_results(case, &old.stage) {
                let known = inventory.changed.iter().map(|test| &test.id);
                let moved = inventory.moved.iter().map(|(from, _)| from);
                let excused =
                    was.end == TestEnd::Skipped || known.chain(moved).any(|id| id.is_or_gives(name, was));
                if !excused && passes_now(case, &old.stage, name) && end(old, name) != Some(TestEnd::Passed) {
                    unmet.push((name.clone(), was.file.clone()));
                }
            }
        }
        OldTests { measured, unmet }
    }

    /// Whether everything that passes now passes with the old files too.
    fn settles(&self) -> bool {
        self.measured && self.unmet.is_empty()
    }

    fn note(&self, path: &RelPath) -> Option<String> {
        match (self.measured, self.unmet.len()) {
            (false, _) => Some("the tests as they were could not be run over the new code".to_owned()),
            (true, 0) => None,
            (true, 1) => {
                Some(format!("1 unchanged test passes only with the new `{path}` or others like it"))
            }
            (true, many) => {
                Some(format!("{many} unchanged tests pass only with the new `{path}` or others like it"))
            }
        }
    }
}

/// The results of the base's tests, as one run had them.
fn first_results<'a>(
    case: &Case<'a>,
    stage: &'a StageId,
) -> impl Iterator<Item = (&'a TestName, &'a TestResult)> {
    let of_stage = |one: &&Reading| one.stage == *stage && one.status == Status::Measured;
    let all: Vec<&Reading> = case.before.iter().filter(of_stage).collect();
    let base = all.iter().find(|one| one.tree == case.base).or(all.first()).copied();
    base.into_iter().flat_map(|one| one.tests.iter()).flat_map(|tests| &tests.results)
}

fn end(reading: &Reading, name: &TestName) -> Option<TestEnd> {
    reading.tests.as_ref()?.results.get(name).map(|result| result.end)
}

fn passes_now(case: &Case<'_>, stage: &StageId, name: &TestName) -> bool {
    let of_stage = case.readings.iter().find(|reading| reading.stage == *stage);
    of_stage.and_then(|reading| end(reading, name)) == Some(TestEnd::Passed)
}

/// Undeclared changes of tests that no grant covers: told to the model as findings the first time.
pub(super) fn undeclared_findings(terms: &Terms<'_>, needs: &mut Vec<Need>) -> Vec<Finding> {
    if terms.undeclared == Undeclared::Ask {
        return Vec::new();
    }
    let is_told = |need: &Need| {
        matches!(need.kind, ConsentKind::Tests | ConsentKind::Evidence)
            && need.declared == Declared::No
            && terms.consents.covering(need).is_none()
    };
    let (told, kept): (Vec<Need>, Vec<Need>) = std::mem::take(needs).into_iter().partition(is_told);
    *needs = kept;
    told.iter().map(finding).collect()
}

fn finding(need: &Need) -> Finding {
    let message =
        format!("`{}`: {}, and neither the plan nor the answer declares it", need.subject, need.why);
    let mut residual = Residual::error(Component::Str, Class::UndeclaredChange, SENSOR, message);
    residual.symbol = Some(need.subject.clone());
    residual.hint = Some(
        "Put it back as it was; or, where the task needs the change, declare it in `changes_tests` with why \
         (`change` is \"remove\" where a test goes away), and the user is asked."
            .to_owned(),
    );
    Finding { stage: structure_stage(), residual }
}

/// perspt's own look at a candidate: one for each candidate, whatever its languages.
pub fn structure_stage() -> StageId {
    StageId { root: RelPath::root(), plugin: PluginName("perspt".to_owned()), kind: StageKind::Structure }
}
