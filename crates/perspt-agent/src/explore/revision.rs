//! An older revision of the workspace, read by git: what was found there already is old.
//!
//! git obeys the configuration of the repository that it reads, and a clone may be hostile. So it runs as the project's own
//! tests do, confined and without the network, with monitors and hooks switched off; a filter that the repository names may
//! still run, and gets no further than a test does. git writes nothing into the repository: the index and the files go to a
//! folder of the slot.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use perspt_core::event::{RootRef, RunNote, Since, Trouble};
use perspt_core::path::RelPath;
use perspt_core::stage::{Profile, Step, StepEnd, StepOutput, Streams};
use perspt_core::tree::Tree;
use perspt_sandbox::Cancel;
use perspt_sandbox::slot::{Contents, Folder, StatCache, WalkLimits, walk};

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, one_line};
use crate::tree::TreeFiles;

/// The folder of the slot's temp dir that the files go to.
const FILES: &str = "files";

/// A revision that was read, or why it could not be.
pub(super) enum Revision {
    Read(Box<Since>, Vec<RunNote>),
    Unreadable(Trouble),
}

/// git, and where it is run.
struct Git<'a, 's> {
    slot: &'a SlotGuard<'s>,
    folder: &'a Path,
    workspace: &'a Path,
    timeout: Duration,
    cancel: &'a Cancel,
}

impl Actor {
    /// Reads the revision that a user names, beside the workspace's own tree `now`.
    pub(super) async fn read_revision(
        &self,
        revision: &str,
        now: &Tree,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<Revision, EffectError> {
        let mut slot = self.take_slot().await?;
        slot.reset_tmp()?;
        // git only writes an index into a folder that is there. The walk takes tracked files from it.
        let head = BTreeMap::from([(format!("{FILES}/.git/HEAD"), "ref: refs/heads/main\n".to_owned())]);
        let folder = slot.probe_folder("revision", &head)?;
        let workspace = self.parts.workspace.as_path();
        let git = Git { slot: &slot, folder: &folder, workspace, timeout, cancel };
        let (commit, prefix) = match git.export(revision).await? {
            Ok(exported) => exported,
            Err(unreadable) => return Ok(Revision::Unreadable(unreadable)),
        };
        let since = self.since(&folder.join(FILES).join(prefix), commit, now)?;
        let runs = slot.take_runs();
        slot.reset_tmp()?;
        Ok(Revision::Read(Box::new(since), runs))
    }

    /// What is in the folder is the revision's tree. Bytes that the workspace does not have are kept.
    fn since(&self, folder: &Path, commit: String, now: &Tree) -> Result<Since, EffectError> {
        let tree = if folder.is_dir() {
            walk(folder, &mut StatCache::default(), &WalkLimits::default()).map_err(AgentError::from)?.tree
        } else {
            // The workspace is a folder that the revision does not have.
            Tree::default()
        };
        let here = Folder::new(folder);
        for (path, entry) in &tree.entries {
            if now.entries.get(path) == Some(entry) {
                continue;
            }
            let mut bytes = Vec::new();
            let read = here.open(path, entry).and_then(|mut reader| reader.read_to_end(&mut bytes));
            // What cannot be read is missed by whoever asks for it.
            if read.is_ok() {
                self.parts.blobs.put(&bytes).map_err(AgentError::from)?;
            }
        }
        let changes = tree.changes_to(now);
        let files = TreeFiles::new(tree.clone(), self.sources());
        let roots = self.parts.plugins.iter().flat_map(|plugin| plugin.roots(&files));
        Ok(Since {
            commit,
            changed: changes.len() as u64,
            changes: self.store_blob(&changes)?,
            roots: roots.map(|root| RootRef { dir: root.dir, plugin: root.plugin }).collect(),
            tree: self.store_tree(&tree)?,
        })
    }
}

impl Git<'_, '_> {
    /// Writes the revision's files into the folder. Returns its commit, and the workspace's place in the repository.
    async fn export(&self, revision: &str) -> Result<Result<(String, String), Trouble>, EffectError> {
        let named = format!("{revision}^{{commit}}");
        let found = self.run(&["rev-parse", "--verify", "--end-of-options", &named]).await?;
        if !found.end.is_success() {
            return Ok(Err(unreadable(revision, &found)));
        }
        let commit = text(&found);
        let files = format!("--prefix={{tree}}/{FILES}/");
        let (below, index, written) = (
            self.run(&["rev-parse", "--show-prefix"]).await?,
            self.run(&["read-tree", &commit]).await?,
            self.run(&["checkout-index", "--all", "--force", "--quiet", &files]).await?,
        );
        let failed = [&below, &index, &written].into_iter().find(|output| !output.end.is_success());
        Ok(match failed {
            Some(failed) => Err(unreadable(revision, failed)),
            None => Ok((commit, text(&below))),
        })
    }

    async fn run(&self, words: &[&str]) -> Result<StepOutput, EffectError> {
        const SETTINGS: [&str; 4] =
            ["core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never", "safe.directory=*"];
        let mut argv = vec!["git".to_owned(), "-C".to_owned(), self.workspace.to_string_lossy().into_owned()];
        argv.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        let index = format!("{{tree}}/{FILES}/.git/index");
        let env = [
            ("GIT_INDEX_FILE", index.as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ];
        let step = Step {
            name: words.first().copied().unwrap_or_default().to_owned(),
            argv,
            cwd: RelPath::root(),
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            profile: Profile::Test,
            build_writes: Vec::new(),
            streams: Streams::Apart,
            reports: Vec::new(),
        };
        self.slot.run_probe_step(self.folder, &step, self.timeout, self.cancel).await
    }
}

fn text(output: &StepOutput) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

/// Why a revision cannot be read, in words.
fn unreadable(revision: &str, output: &StepOutput) -> Trouble {
    if let StepEnd::NotStarted(why) = &output.end {
        return Trouble {
            what: "git is needed to read a revision and does not start".to_owned(),
            why: one_line(why),
            todo: "install git, or leave `--since` out".to_owned(),
        };
    }
    let said = one_line(&String::from_utf8_lossy(&output.stderr));
    Trouble {
        what: format!("the revision `{revision}` cannot be read"),
        why: if said.is_empty() { format!("git ended with {}", output.end.shown()) } else { said },
        todo: "name a commit, branch or tag that this clone has (a shallow clone has few), or leave `--since` out"
            .to_owned(),
    }
}
