//! The user's own commands as stages, in place of what a language would run.

use perspt_core::own::{OwnWays, PlacedCommand};
use perspt_core::reading::StageKind;
use perspt_core::stage::{Profile, Root, Stage, Step};

use crate::plugin::NoTool;
use crate::shared::step::{in_tree, step};

/// The steps of a command's stage.
pub(super) const BUILD: &str = "build";
pub(super) const TEST: &str = "test";

/// The most characters of a command that stand for it on screens.
const TOOL_CHARS: usize = 48;

/// The stages of a root, with the user's own commands in place of its build and test stages.
pub fn in_place(
    mut stages: Vec<Result<Stage, NoTool>>,
    root: &Root,
    own: &OwnWays,
) -> Vec<Result<Stage, NoTool>> {
    let kind_of =
        |stage: &Result<Stage, NoTool>| stage.as_ref().map_or_else(|lack| lack.stage, |stage| stage.kind);
    let build = own.build(root);
    let build_step = build.as_ref().map(|build| run(BUILD, build, Profile::Build));
    let built = build.as_ref().zip(build_step.clone());
    let built = built.map(|(build, step)| stage(StageKind::Build, build, vec![step]));
    // What a build makes does not outlive its stage, so the tests build anew.
    let tested = own.test(root).map(|test| {
        let steps = build_step.into_iter().chain([run(TEST, &test, Profile::Test)]);
        stage(StageKind::Test, &test, steps.collect())
    });
    for own in [built, tested].into_iter().flatten() {
        stages.retain(|stage| kind_of(stage) != own.kind);
        stages.push(Ok(own));
    }
    stages.sort_by_key(kind_of);
    stages
}

fn stage(kind: StageKind, placed: &PlacedCommand<'_>, steps: Vec<Step>) -> Stage {
    let command = placed.command.to_string();
    let tool = match command.char_indices().nth(TOOL_CHARS) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.clone(),
    };
    Stage { command: Some(command), ..Stage::required(kind, &tool, steps) }
}

fn run(name: &str, placed: &PlacedCommand<'_>, profile: Profile) -> Step {
    let folder = in_tree(&placed.folder);
    Step {
        argv: placed.command.0.clone(),
        profile,
        reports: placed.report.iter().map(|report| format!("{folder}/{report}")).collect(),
        ..step(name, &[], &placed.folder)
    }
}
