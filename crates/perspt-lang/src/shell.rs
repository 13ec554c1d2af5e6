//! Shell scripts: no language of ours, but every machine has a shell that can say whether it would read one.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Profile, Step, StepEnd, StepOutput};

use crate::plugin::{Files, Pair};
use crate::shared::report::{self, place};
use crate::shared::step::{in_tree, step};

/// One syntax check for each script that the candidate changed, named by the script.
pub fn checks(pair: &Pair<'_>) -> Vec<Step> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let changed = changes.into_iter().filter(|change| change.after.is_some()).map(|change| change.path);
    changed
        .filter_map(|path| {
            let shell = shell_of(pair.candidate, &path)?;
            let argv = [shell, "-n", &in_tree(&path)];
            Some(Step { profile: Profile::Test, ..step(path.as_str(), &argv, &RelPath::root()) })
        })
        .collect()
}

/// The shell that a script is for, by its first line, else by its name.
fn shell_of(files: &dyn Files, path: &RelPath) -> Option<&'static str> {
    let known = |word: &str| match word {
        "sh" | "dash" | "ash" => Some("sh"),
        "bash" => Some("bash"),
        _ => None,
    };
    let extension = path.extension();
    if extension.is_some_and(|extension| !["sh", "bash"].contains(&extension)) {
        return None;
    }
    let text = files.text(path)?;
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        // A file that others source may be of either; bash reads both.
        return extension.map(|_| "bash");
    };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    match words.next()? {
        "env" => words.find(|word| !word.starts_with('-')).and_then(known),
        word => known(word),
    }
}

/// What a check found; `None` where there was no shell to ask.
pub fn read(output: &StepOutput) -> Option<Vec<Residual>> {
    let StepEnd::Exited(code) = output.end else { return None };
    let file = RelPath::parse(&output.step).ok()?;
    if code == 0 {
        return Some(Vec::new());
    }
    let printed = report::both_streams(output);
    let message = report::first_line(&printed).to_owned();
    // `path: line 3: syntax error …` or `path: 3: Syntax error …`
    let line = message.split([':', ' ']).find_map(|word| word.parse::<u64>().ok());
    let words = message.rsplit(": ").next().unwrap_or(&message).to_owned();
    let mut residual = Residual::error(Component::Syn, Class::SyntaxError, "sh -n", words);
    residual.place = line.and_then(|line| place(line, 0));
    Some(vec![residual.in_file(Some(file)).with_evidence(printed.trim())])
}
