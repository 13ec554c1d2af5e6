//! Cheap extra checks of changed files that the stages of their languages pass over.

use std::collections::BTreeSet;
use std::time::Duration;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, Status};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, Step, StepOutput};
use perspt_core::state::SessionState;
use perspt_core::tree::Change;
use perspt_lang::plugin::{Files, Further, FurtherFindings, ReadContext};
use perspt_lang::{data, shell};
use perspt_sandbox::Cancel;

use super::stage_run::StageRun;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, stage_timeout};
use crate::tree::{ComparedFiles, TreeFiles};

/// What is run, and how its output is read.
struct ExtraChecks<'a> {
    steps: &'a [Step],
    timeout: Duration,
    /// Reports that only the output names.
    late_reports: &'a (dyn Fn(&StepOutput) -> Vec<String> + Sync),
    /// What an output says; `None` where the tool could not look.
    read: &'a (dyn Fn(&StepOutput, &TreeFiles) -> Option<FurtherFindings> + Sync),
}

impl Actor {
    /// Where the stage is green, runs the extra checks that its language has for the changed files.
    pub(super) async fn check_further(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &ComparedFiles,
        reading: &mut Reading,
    ) -> Result<(), EffectError> {
        let StageRun { state, stage, root, plugin, cancel } = run;
        if reading.status != Status::Measured || reading.residuals.iter().any(Residual::counts) {
            return Ok(());
        }
        let pair = files.pair();
        let steps = plugin.further_checks(stage.kind, root, &pair, &self.parts.machine);
        let described = Stage::required(stage.kind, &reading.tool, steps);
        let tools = self.tools_of(state, plugin)?;
        let seen_as = slot.seen_as().to_string_lossy().into_owned();
        let read = |output: &StepOutput, files: &TreeFiles| {
            let (tree, seen_as) = (files.tree().id(), seen_as.as_str());
            plugin.read_further(
                &described,
                output,
                &ReadContext { tree, root, seen_as, files, tools: &tools },
            )
        };
        let checks = ExtraChecks {
            steps: &described.steps,
            timeout: stage_timeout(state),
            late_reports: &|output| plugin.late_reports(&described, output),
            read: &read,
        };
        let seen = checks.run(slot, files, cancel).await?;
        let further = if seen.is_some() { Further::Looked } else { Further::DidNotLook };
        reading.parts = plugin.less_proved(stage.kind, &pair, further);
        add(reading, seen);
        Ok(())
    }

    /// Adds what the shell says of changed scripts.
    pub(super) async fn check_scripts(
        &self,
        state: &SessionState,
        files: &ComparedFiles,
        reading: &mut Reading,
        cancel: &Cancel,
    ) -> Result<(), EffectError> {
        let steps = shell::checks(&files.pair());
        if steps.is_empty() {
            return Ok(());
        }
        let mut slot = self.take_slot().await?;
        let read = |output: &StepOutput, _: &TreeFiles| {
            let looked = RelPath::parse(&output.step).into_iter().collect();
            Some(FurtherFindings { residuals: shell::read(output)?, looked })
        };
        let timeout = stage_timeout(state);
        let checks = ExtraChecks { steps: &steps, timeout, late_reports: &|_| Vec::new(), read: &read };
        add(reading, checks.run(&mut slot, files, cancel).await?);
        Ok(())
    }
}

fn add(reading: &mut Reading, seen: Option<FurtherFindings>) {
    let FurtherFindings { residuals, looked } = seen.unwrap_or_default();
    reading.residuals.extend(residuals);
    reading.looked.extend(looked);
}

impl ExtraChecks<'_> {
    /// Runs the checks over the candidate. A finding counts unless the base shows it too. `None` where no check could look.
    async fn run(
        &self,
        slot: &mut SlotGuard<'_>,
        files: &ComparedFiles,
        cancel: &Cancel,
    ) -> Result<Option<FurtherFindings>, EffectError> {
        let mut seen = self.run_on(slot, &files.candidate, cancel).await?;
        if let Some(seen) = seen.as_mut().filter(|seen| !seen.residuals.is_empty()) {
            let before = self.run_on(slot, &files.base, cancel).await?.unwrap_or_default();
            let known: BTreeSet<Sha> = before.residuals.iter().map(Residual::fingerprint).collect();
            seen.residuals.retain(|residual| !known.contains(&residual.fingerprint()));
        }
        Ok(seen)
    }

    async fn run_on(
        &self,
        slot: &mut SlotGuard<'_>,
        files: &TreeFiles,
        cancel: &Cancel,
    ) -> Result<Option<FurtherFindings>, EffectError> {
        if self.steps.is_empty() {
            return Ok(None);
        }
        slot.lay_out(files)?;
        let mut seen: Option<FurtherFindings> = None;
        for step in self.steps {
            let mut output = slot.run("more", step, self.timeout, cancel).await?;
            for name in (self.late_reports)(&output) {
                let bytes = slot.read_in_build(&name);
                output.reports.extend(bytes.map(|bytes| (name, bytes)));
            }
            let Some(one) = (self.read)(&output, files) else { continue };
            let all = seen.get_or_insert_default();
            all.residuals.extend(one.residuals);
            all.looked.extend(one.looked);
        }
        Ok(seen)
    }
}

/// Changed data files that can be parsed, and findings for those that no longer can. Broken files in test folders are
/// often intended, and files that were broken before do not count.
pub(super) fn parsed_data(changes: &[Change], files: &ComparedFiles) -> (BTreeSet<RelPath>, Vec<Residual>) {
    let (mut looked, mut residuals) = (BTreeSet::new(), Vec::new());
    for path in changes.iter().filter(|change| change.after.is_some()).map(|change| &change.path) {
        let checked = |files: &TreeFiles| files.text(path).and_then(|text| data::check(path, &text));
        let Some(now) = checked(&files.candidate) else { continue };
        let of_tests = path.parts().any(|part| ["tests", "test", "fixtures", "testdata"].contains(&part));
        match now {
            Ok(()) => {
                looked.insert(path.clone());
            }
            Err(_) if of_tests || checked(&files.base).is_some_and(|before| before.is_err()) => {}
            Err(why) => {
                let message = format!("it cannot be parsed: {why}");
                let residual = Residual::error(Component::Syn, Class::InvalidData, "parser", message);
                residuals.push(residual.in_file(Some(path.clone())));
            }
        }
    }
    (looked, residuals)
}
