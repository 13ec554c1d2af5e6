//! Words that several views share.

use std::collections::BTreeMap;

use perspt_core::consent::{ConsentKind, Need};
use perspt_core::energy::Energy;
use perspt_core::event::{Consented, DiffNote, KeptPlace, StageResult, StageVerdict};
use perspt_core::ids::SessionId;
use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::residual::{Component, Milli};
use perspt_core::stage::{Preset, StageRole};
use perspt_core::state::SessionState;
use perspt_core::view::languages;

use crate::out::value;

/// The fields of an ENERGY line. What was not measured reads `not-run`, never 0.
pub fn energy_fields(energy: &Energy, stages: &[StageVerdict], threshold: Milli) -> String {
    let unseen = |component: Component| {
        let concerns = |stage: &&StageVerdict| {
            stage.role.is_required() && stage.stage.kind.facts().component == component
        };
        let concerned: Vec<_> = stages.iter().filter(concerns).collect();
        !concerned.is_empty()
            && concerned
                .iter()
                .all(|stage| matches!(stage.result, StageResult::NotRun | StageResult::Unavailable))
    };
    let shown = |score: Milli, component: Component| {
        if unseen(component) { "not-run".to_owned() } else { score.to_string() }
    };
    format!(
        "syn={} str={} log={} boot={} sheaf=not-run total={}{} threshold={threshold}",
        shown(energy.scores.syn, Component::Syn),
        shown(energy.scores.str, Component::Str),
        shown(energy.scores.log, Component::Log),
        energy.scores.boot,
        energy.total,
        if energy.unmeasured > 0 { "+unknown" } else { "" },
    )
}

/// An energy in a listing.
pub fn energy_words(energy: &Energy) -> String {
    let scores = &energy.scores;
    let unknown = if energy.unmeasured > 0 { "+unknown" } else { "" };
    format!(
        "V={}{unknown} (syn {} str {} log {} boot {})",
        energy.total, scores.syn, scores.str, scores.log, scores.boot
    )
}

/// One stage of a VERIFY line.
pub fn verdict_field(stage: &StageVerdict, with_root: bool) -> String {
    let root = if with_root { format!("{}:", stage.stage.root) } else { String::new() };
    let name = format!("{root}{}", stage.tool.replace(' ', "-"));
    let mut counts = Vec::new();
    if let Some(tests) = stage.tests {
        counts.extend([format!("{}-passed", tests.passed), format!("{}-failed", tests.failed)]);
        counts.extend((tests.skipped > 0).then(|| format!("{}-skipped", tests.skipped)));
    }
    // A stage of tests that passes and names none is the user's own command.
    let unnamed = stage.stage.kind == StageKind::Test && stage.tests.is_none();
    counts.extend((unnamed && stage.result == StageResult::Pass).then(|| "exit-code".to_owned()));
    counts.extend((stage.inherited > 0).then(|| format!("{}-inherited", stage.inherited)));
    match stage.role {
        StageRole::Required => {}
        StageRole::Shown => counts.push("shown".to_owned()),
    }
    let counts = if counts.is_empty() { String::new() } else { format!("({})", counts.join(",")) };
    let result = match stage.result {
        StageResult::Pass => "pass".to_owned(),
        StageResult::NotConcerned => "not-concerned".to_owned(),
        StageResult::Fail(errors) => format!("fail:{errors}"),
        StageResult::NotRun => "not-run".to_owned(),
        StageResult::Unavailable => "unavailable".to_owned(),
    };
    format!("{name}={result}{counts}")
}

/// The fields of a DIFF line.
pub fn diff_fields(diff: &DiffNote) -> String {
    let list = |paths: &[RelPath]| {
        let shown: Vec<&str> = paths.iter().map(RelPath::as_str).take(20).collect();
        let more = paths.len().saturating_sub(20);
        if more > 0 { format!("{},+{more}", shown.join(",")) } else { shown.join(",") }
    };
    let mut fields = Vec::new();
    for (name, paths) in [("create", &diff.create), ("modify", &diff.modify), ("delete", &diff.delete)] {
        if !paths.is_empty() {
            fields.push(format!("{name}={}", value(&list(paths))));
        }
    }
    let moved: Vec<String> = diff.moved.iter().map(|(from, to)| format!("{from}->{to}")).collect();
    if !moved.is_empty() {
        fields.push(format!("move={}", value(&moved.join(","))));
    }
    if fields.is_empty() { "nothing".to_owned() } else { fields.join(" ") }
}

/// Where bytes of the user's are, as a path below perspt's data folder or in the workspace.
pub fn kept_place(session: &SessionId, place: &KeptPlace) -> String {
    match place {
        KeptPlace::Blob(blob) => format!("sessions/{session}/blobs/{blob}"),
        KeptPlace::Beside(path) => path.to_string(),
    }
}

/// The languages of a session, as a field.
pub fn languages_field(state: &SessionState) -> String {
    let names = languages(state);
    if names.is_empty() { "none".to_owned() } else { names.join(",") }
}

/// What a need is about, on one line.
pub fn need_words(need: &Need) -> String {
    format!("{}:{} {}", need.kind, need.subject, why_words(need))
}

/// Why a consent is needed, with what is weaker.
pub fn why_words(need: &Need) -> String {
    let weaker =
        if need.weaker.is_empty() { String::new() } else { format!(" ({})", need.weaker.join("; ")) };
    format!("{}{weaker}", need.why)
}

/// The consents of a commit, by kind with how many.
pub fn consents_field(consents: &[Consented]) -> String {
    let mut counts: BTreeMap<ConsentKind, usize> = BTreeMap::new();
    for consented in consents {
        *counts.entry(consented.need.kind).or_default() += 1;
    }
    let shown: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
    if shown.is_empty() { String::new() } else { format!(" consents={}", shown.join(",")) }
}

/// The preset of a commit, where it is not the usual one.
pub fn preset_field(preset: Preset) -> String {
    if preset.is_default() { String::new() } else { format!(" preset={}", preset.as_str()) }
}

/// The name an enum's value has in the log.
pub fn slug(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perspt_core::reading::{PluginName, StageId};

    #[test]
    fn a_shown_stage_is_told_from_a_required_one() {
        let stage =
            StageId { root: RelPath::root(), plugin: PluginName("toy".to_owned()), kind: StageKind::Lint };
        let verdict = |role| StageVerdict {
            stage: stage.clone(),
            tool: "toyc lint".to_owned(),
            role,
            result: StageResult::Fail(2),
            tests: None,
            inherited: 0,
        };
        assert_eq!(verdict_field(&verdict(StageRole::Required), false), "toyc-lint=fail:2");
        assert_eq!(verdict_field(&verdict(StageRole::Shown), false), "toyc-lint=fail:2(shown)");
    }
}
