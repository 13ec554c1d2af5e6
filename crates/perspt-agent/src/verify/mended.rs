//! A task that mends something over tests that all passed: nothing measured shows that it is mended but a new test
//! that the code as it was does not pass.

use perspt_core::effect::Branch;
use perspt_core::judge::TEST_UNITS;
use perspt_core::reading::{Reading, StageId, TestEnd};
use perspt_core::residual::{Class, Component, Milli, Residual};
use perspt_core::stage::Root;
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::{Files, Plugin, Touch};
use perspt_lang::{adds_regression_test, mends};
use perspt_sandbox::Cancel;

use super::as_before::{Green, Outvoted, end, first_look, with_tests};
use crate::actor::{Actor, Halt};
use crate::files::TreeFiles;

impl Actor {
    /// What a task that mends something has against a green candidate: code that is as it was, or new tests that all
    /// pass over the code as it was.
    pub(super) async fn shows_its_mend(
        &self,
        state: &SessionState,
        (node, branch): (&Node, &Branch),
        (stage, root, plugin): (&StageId, &Root, &'static dyn Plugin),
        green: &Green<'_>,
        cancel: &Cancel,
    ) -> Result<Outvoted, Halt> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        // What is red shows what is wrong.
        let shown = |head: &Reading| head.residuals.iter().any(Residual::counts);
        let Some((first, _)) =
            first_look(state, branch, green.before).filter(|(_, head)| mends(task) && !shown(head))
        else {
            return Ok(Outvoted::default());
        };
        let base = TreeFiles::new(self.tests_of_the_user(state, first, branch)?, self.sources());
        let (spec, authored) = (&node.spec, &state.authored);
        let only_tests = {
            let touch = Touch { base: &base, candidate: green.files, node: spec, task, authored };
            let was = plugin.tests_as_before(&touch);
            if was.is_empty() {
                return Ok(Outvoted::default());
            }
            with_tests(&touch, was, self.sources()).0.id() == base.tree().id()
        };
        if only_tests {
            let more_to_come = state.nodes.iter().any(|(id, other)| *id != spec.id && other.end.is_none());
            let charge = (!more_to_come).then(|| nothing_mended(&green.reading.tool));
            return Ok(Outvoted { residuals: charge.into_iter().collect(), ..Default::default() });
        }
        if !adds_regression_test(task) {
            return Ok(Outvoted::default());
        }
        // The new tests over the code as it was.
        let (tree, sources) = {
            let touch = Touch { base: green.files, candidate: &base, node: spec, task, authored };
            with_tests(&touch, plugin.tests_as_before(&touch), self.sources())
        };
        base.is_whole()?;
        let mut bench = self.bench().await?;
        let (laid, root) = ((&tree, &sources), (root, Some(plugin)));
        let (old, environment) = self.take_whole(state, &mut bench, laid, stage, root, cancel).await?;
        let mut passed = green.reading.tests.iter().flat_map(|tests| &tests.results);
        let found = passed
            .any(|(name, test)| test.end == TestEnd::Passed && end(&old, name) != Some(TestEnd::Passed));
        let charge = (environment.is_none() && !found).then(|| unseen(&green.reading.tool));
        let runs = std::mem::take(&mut bench.runs);
        Ok(Outvoted { residuals: charge.into_iter().collect(), runs, environment })
    }
}

fn charge(class: Class, sensor: &str, message: &str, hint: &str) -> Residual {
    let mut residual = Residual::error(Component::Log, class, sensor, message);
    residual.score = Milli::units(TEST_UNITS);
    residual.hint = Some(hint.to_owned());
    residual
}

fn nothing_mended(sensor: &str) -> Residual {
    let message = "the task asks for something to be mended, and nothing but tests was changed";
    charge(Class::NothingMended, sensor, message, "Mend the code that the task speaks of.")
}

fn unseen(sensor: &str) -> Residual {
    let message =
        "every new test passes over the code as it was too: none of them shows what the task wants mended";
    let hint = "Write a test that fails over the code as it was and passes over the mended one, and let it call the \
                project's own code.";
    charge(Class::RegressionUnseen, sensor, message, hint)
}
