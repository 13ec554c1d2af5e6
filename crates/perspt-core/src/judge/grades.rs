//! How much was proved of each changed file of code, from what each tool really read.

use std::collections::BTreeMap;

use super::needs::need;
use super::{Case, FileGrade, Finding, Terms, structure_stage};
use crate::consent::{ConsentKind, Need};
use crate::energy::TestCounts;
use crate::grade::{FileKind, Grade, Require};
use crate::path::RelPath;
use crate::reading::{Part, Reading, StageKind, Status};
use crate::residual::{Class, Component, Residual};

/// The grades of a candidate's files.
pub(super) struct Grades {
    /// One for each changed file of code.
    pub files: Vec<FileGrade>,
    /// Data that no tool has read.
    unread_data: Vec<RelPath>,
    /// Of files that the user's own commands noticed: what that is worth, in words.
    commands: BTreeMap<RelPath, String>,
    /// The user's own commands that were run.
    ran: Vec<String>,
}

/// The grades of everything the candidate changed.
pub(super) fn of(case: &Case<'_>, terms: &Terms<'_>) -> Grades {
    let kind = |wanted: FileKind| terms.changed.iter().filter(move |path| FileKind::of(path) == wanted);
    let files = kind(FileKind::Code).map(|path| FileGrade {
        path: path.clone(),
        grade: grade(case, path),
        parts: parts(case, path),
    });
    let read = |path: &&RelPath| case.readings.iter().any(|reading| reading.looked.contains(*path));
    let unread_data = kind(FileKind::Data).filter(|path| !read(path)).cloned().collect();
    let own = || case.readings.iter().filter_map(|reading| Some((reading, reading.command.as_deref()?)));
    let of_file = |path: &RelPath| {
        let (reading, command) = own().rfind(|(reading, _)| reading.looked.contains(path))?;
        let words = match reading.tests {
            Some(_) => format!("`{command}` notices errors in it; which of its tests run it is not known"),
            None => format!("judged by the exit code of `{command}` alone"),
        };
        Some((path.clone(), words))
    };
    Grades {
        files: files.collect(),
        unread_data,
        commands: kind(FileKind::Code).filter_map(of_file).collect(),
        ran: own().map(|(_, command)| command.to_owned()).collect(),
    }
}

/// The best of what the tools that read a file say of it.
fn grade(case: &Case<'_>, path: &RelPath) -> Grade {
    let looked = case.readings.iter().filter(|reading| reading.looked.contains(path));
    looked.filter_map(proves).min().unwrap_or(Grade::None)
}

/// What a reading proves of the files that it lists.
fn proves(reading: &Reading) -> Option<Grade> {
    if reading.status != Status::Measured {
        return None;
    }
    if reading.command.is_some() {
        let ran = reading.tests.as_ref().is_none_or(|tests| TestCounts::of(tests).passed > 0);
        return Some(Grade::Command).filter(|_| ran);
    }
    let passed = reading.tests.as_ref().is_some_and(|tests| TestCounts::of(tests).passed > 0);
    let kind = reading.stage.kind;
    kind.facts().proves.filter(|_| kind != StageKind::Test || passed)
}

fn parts(case: &Case<'_>, path: &RelPath) -> Vec<Part> {
    let all = case.readings.iter().flat_map(|reading| &reading.parts);
    all.filter(|part| part.file == *path).cloned().collect()
}

impl Grades {
    /// The lowest of them; where no code was changed, whether anything but prose was.
    pub fn lowest(&self, terms: &Terms<'_>) -> Grade {
        let prose = terms.touched.iter().all(|path| FileKind::of(path) == FileKind::Prose);
        let without_code = if prose { Grade::Prose } else { Grade::Data };
        self.files.iter().map(FileGrade::lowest).max().unwrap_or(without_code)
    }

    /// What lies below tests, in words, a line for each sort.
    pub fn below(&self) -> Vec<String> {
        let mut sorts: BTreeMap<(Grade, String), Vec<String>> = BTreeMap::new();
        let words = |file: &FileGrade| {
            let own = self.commands.get(&file.path);
            let without = |words: &str| {
                own.map_or_else(|| format!("{words}, no test loads it"), |own| format!("{words}; {own}"))
            };
            match file.grade {
                Grade::Prose | Grade::Data | Grade::Tests => None,
                Grade::Types => Some(without("types checked")),
                Grade::Build => Some(without("built")),
                Grade::Command => own.cloned(),
                Grade::Syntax => Some(without("syntax only")),
                Grade::None => Some("no tool looked at it".to_owned()),
            }
        };
        for file in &self.files {
            if let Some(words) = words(file) {
                sorts.entry((file.grade, words)).or_default().push(file.path.to_string());
            }
            for part in file.parts.iter().filter(|part| part.grade > file.grade) {
                let words = match part.grade {
                    Grade::Build => "built, no test runs it",
                    Grade::Prose
                    | Grade::Data
                    | Grade::Tests
                    | Grade::Types
                    | Grade::Command
                    | Grade::Syntax
                    | Grade::None => "not compiled here",
                };
                let (first, last) = part.lines;
                let place = if first == last { first.to_string() } else { format!("{first}-{last}") };
                let line = format!("{}:{place}, {}", part.file, part.why);
                sorts.entry((part.grade, words.to_owned())).or_default().push(line);
            }
        }
        let mut lines: Vec<String> = sorts
            .into_iter()
            .rev()
            .map(|((_, words), files)| format!("{words}: {}", files.join(", ")))
            .collect();
        if !self.unread_data.is_empty() {
            let files: Vec<&str> = self.unread_data.iter().map(RelPath::as_str).collect();
            lines.push(format!("not looked at: {}", files.join(", ")));
        }
        lines
    }

    /// The consents that code needs which no tool has read.
    pub fn needs(&self, terms: &Terms<'_>) -> impl Iterator<Item = Need> {
        let unread = self.files.iter().filter(|file| file.grade == Grade::None);
        unread.map(|file| {
            let why = match self.ran.last() {
                Some(command) => {
                    format!("`{command}` does not notice an error in it, nor does any tool here")
                }
                None => "no tool on this machine looks at it".to_owned(),
            };
            need(ConsentKind::Unmeasured, file.path.to_string(), why, terms)
        })
    }

    /// Files of which less was proved than the user requires.
    pub fn unmet<'a>(&'a self, case: &'a Case<'_>, terms: &Terms<'_>) -> impl Iterator<Item = Finding> {
        let require = terms.require;
        self.files.iter().filter_map(move |file| {
            let require = require.filter(|require| !file.meets(*require, case))?;
            let message = format!(
                "`{}` has the evidence `{}`, and `{}` is required",
                file.path,
                file.lowest().as_str(),
                require.as_str()
            );
            let mut residual = Residual::error(Component::Str, Class::EvidenceTooLow, "perspt", message);
            residual.hint = Some(match require {
                Require::Tests => "Add a test that imports and calls this code.".to_owned(),
                Require::Types | Require::Build => {
                    "Make it part of what the project's build reads.".to_owned()
                }
            });
            Some(Finding { stage: structure_stage(), residual: residual.in_file(Some(file.path.clone())) })
        })
    }
}

impl FileGrade {
    /// The grade of its weakest part.
    pub fn lowest(&self) -> Grade {
        self.parts.iter().map(|part| part.grade).fold(self.grade, Grade::max)
    }

    fn meets(&self, require: Require, case: &Case<'_>) -> bool {
        let typed = |reading: &Reading| {
            [StageKind::Build, StageKind::Type].contains(&reading.stage.kind)
                && reading.status == Status::Measured
                && reading.looked.contains(&self.path)
        };
        match require {
            Require::Tests => self.lowest() <= Grade::Tests,
            Require::Types => self.lowest() <= Grade::Build && case.readings.iter().any(typed),
            Require::Build => self.lowest() <= Grade::Build,
        }
    }
}
