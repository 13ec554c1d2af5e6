//! One cheap look more at what a candidate changed, where the stages of its languages pass over it.

use std::collections::BTreeSet;
use std::time::Duration;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Step, StepOutput};
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, Tree};
use perspt_lang::plugin::{Files, FurtherFindings, Pair};
use perspt_lang::{data, shell};
use perspt_sandbox::Cancel;

use crate::actor::{Actor, Bench, Halt};
use crate::files::{Sources, TreeFiles};

/// The two trees that a look more compares, and where their bytes are.
pub(super) struct Sides<'a> {
    pub base: &'a TreeFiles,
    pub candidate: &'a TreeFiles,
    pub sources: &'a Sources,
}

/// What is run, and how it is read.
pub(super) struct Looks<'a> {
    pub steps: &'a [Step],
    /// Reports that only the output names.
    pub late: &'a (dyn Fn(&StepOutput) -> Vec<String> + Sync),
    /// What an output says; `None` where the tool could not look.
    pub read: &'a (dyn Fn(&StepOutput, &TreeFiles) -> Option<FurtherFindings> + Sync),
}

impl Actor {
    /// Runs steps over the candidate. What they find counts unless the same steps find it in the base; `None` where none of
    /// them could look.
    pub(super) async fn look_more(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        sides: &Sides<'_>,
        looks: &Looks<'_>,
        cancel: &Cancel,
    ) -> Result<Option<FurtherFindings>, Halt> {
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
        let mut seen: Option<FurtherFindings> = None;
        for (files, is_base) in [(sides.candidate, false), (sides.base, true)] {
            let found = seen.as_ref().is_some_and(|seen| !seen.residuals.is_empty());
            if is_base && !found {
                break;
            }
            let tree: &Tree = files.tree();
            bench.lay(tree, sides.sources)?;
            let mut known: BTreeSet<Sha> = BTreeSet::new();
            for step in looks.steps {
                let mut output = bench.run("more", step, timeout, cancel).await?;
                for name in (looks.late)(&output) {
                    let bytes = bench.read_in_build(&name);
                    output.reports.extend(bytes.map(|bytes| (name, bytes)));
                }
                let Some(one) = (looks.read)(&output, files) else { continue };
                if is_base {
                    known.extend(one.residuals.iter().map(Residual::fingerprint));
                    continue;
                }
                let all = seen.get_or_insert_default();
                all.residuals.extend(one.residuals);
                all.looked.extend(one.looked);
            }
            if let Some(seen) = seen.as_mut().filter(|_| is_base) {
                seen.residuals.retain(|residual| !known.contains(&residual.fingerprint()));
            }
        }
        Ok(seen)
    }

    /// Adds to perspt's own look what the shell says of changed scripts.
    pub(super) async fn look_at_scripts(
        &self,
        state: &SessionState,
        sides: &Sides<'_>,
        reading: &mut Reading,
        cancel: &Cancel,
    ) -> Result<(), Halt> {
        let steps = shell::checks(&Pair { base: sides.base, candidate: sides.candidate });
        if steps.is_empty() {
            return Ok(());
        }
        let mut bench = self.bench().await?;
        let read = |output: &StepOutput, _: &TreeFiles| {
            let looked = RelPath::parse(&output.step).into_iter().collect();
            Some(FurtherFindings { residuals: shell::read(output)?, looked })
        };
        let looks = Looks { steps: &steps, late: &|_| Vec::new(), read: &read };
        if let Some(seen) = self.look_more(state, &mut bench, sides, &looks, cancel).await? {
            reading.residuals.extend(seen.residuals);
            reading.looked.extend(seen.looked);
        }
        Ok(())
    }
}

/// Data files that were changed and can be parsed, and those that can be no longer. What is broken in a folder of tests is
/// often meant to be, and what was broken before is nobody's fault.
pub(super) fn parsed_data(
    changes: &[Change],
    base: &TreeFiles,
    candidate: &TreeFiles,
) -> (BTreeSet<RelPath>, Vec<Residual>) {
    let (mut looked, mut residuals) = (BTreeSet::new(), Vec::new());
    for path in changes.iter().filter(|change| change.after.is_some()).map(|change| &change.path) {
        let checked = |files: &TreeFiles| files.text(path).and_then(|text| data::check(path, &text));
        let Some(now) = checked(candidate) else { continue };
        let of_tests = path.parts().any(|part| ["tests", "test", "fixtures", "testdata"].contains(&part));
        match now {
            Ok(()) => {
                looked.insert(path.clone());
            }
            Err(_) if of_tests || checked(base).is_some_and(|before| before.is_err()) => {}
            Err(why) => {
                let message = format!("it cannot be parsed: {why}");
                let residual = Residual::error(Component::Syn, Class::InvalidData, "parser", message);
                residuals.push(residual.in_file(Some(path.clone())));
            }
        }
    }
    (looked, residuals)
}
