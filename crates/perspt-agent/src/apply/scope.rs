//! Who may write what: a node's own files, the support files it may edit, and a few new files beside its own.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use perspt_core::consent::{TestChange, TestDeclaration};
use perspt_core::event::RootRef;
use perspt_core::ids::NodeId;
use perspt_core::outcome::NodeEnd;
use perspt_core::path::RelPath;
use perspt_core::plan::OpenScope;
use perspt_core::state::{Candidate, Node, SessionState};
use perspt_core::tree::Tree;
use perspt_lang::plugin::Plugin;
use perspt_policy::secrets::is_secret;

/// The most new files beside its own that one answer of a node may bring.
const WIDENED: usize = 5;

/// What is done to a path, as far as ownership is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It is changed or created.
    Write,
    /// It is removed or renamed.
    Remove,
}

/// The files one node may write, for one answer.
pub struct WriteScope<'a> {
    state: &'a SessionState,
    node: &'a Node,
    tree: &'a Tree,
    plugins: Vec<&'a dyn Plugin>,
    /// Files of other nodes, with whether that node is in the tree.
    others: BTreeMap<&'a RelPath, (&'a NodeId, bool)>,
    /// What the answer itself says it does to existing tests.
    declared: &'a [TestDeclaration],
    /// New files beside the node's own that this answer brings.
    widened: RefCell<BTreeSet<RelPath>>,
}

impl<'a> WriteScope<'a> {
    /// The scope of `node` in `state`, over `tree`.
    pub fn new(
        state: &'a SessionState,
        node: &'a Node,
        tree: &'a Tree,
        plugins: Vec<&'a dyn Plugin>,
    ) -> Self {
        let others = state
            .nodes
            .values()
            .filter(|other| other.spec.id != node.spec.id)
            .flat_map(|other| {
                let committed = other.end == Some(NodeEnd::Committed);
                other.spec.output_files.iter().map(move |file| (file, (&other.spec.id, committed)))
            })
            .collect();
        WriteScope { state, node, tree, plugins, others, declared: &[], widened: RefCell::default() }
    }

    /// The same scope with the test files that an answer says it changes.
    pub fn declaring(mut self, declared: &'a [TestDeclaration]) -> Self {
        self.declared = declared;
        self
    }

    /// Whether the node may do this to the path; otherwise what the model is told. A new file beside the node's own
    /// is allowed and [widens](Self::widened) the scope.
    pub fn check(&self, path: &RelPath, action: FileAction) -> Result<(), String> {
        if self.node.owns(path) {
            return self.check_manifest(path, action);
        }
        if let Some((owner, committed)) = self.others.get(path) {
            let support = self.is_support(path);
            return match (support, committed, action) {
                (true, true, FileAction::Write) => Ok(()),
                (true, false, _) => {
                    Err(format!("`{path}` will be made by node `{owner}`, which is not done yet"))
                }
                (_, _, _) => Err(format!("`{path}` belongs to node `{owner}`")),
            };
        }
        if self.is_declared(path) || self.in_open_scope(path) {
            return self.check_manifest(path, action);
        }
        if self.is_support(path) {
            return match action {
                FileAction::Write => Ok(()),
                FileAction::Remove => {
                    Err(format!("`{path}` is a shared file: it may be edited, not removed or renamed"))
                }
            };
        }
        self.widen(path, action)
    }

    /// Faults of an answer as a whole: more than one file of code where there is to be one.
    pub fn check_all(&self, written: &[RelPath]) -> Vec<String> {
        if self.node.spec.scope != OpenScope::OneFile {
            return Vec::new();
        }
        let is_test = |path: &RelPath| self.plugins.iter().any(|plugin| plugin.is_test_file(path));
        let code: Vec<&str> =
            written.iter().filter(|path| !is_test(path) && !is_prose(path)).map(RelPath::as_str).collect();
        match code.as_slice() {
            [] | [_] => Vec::new(),
            many => vec![format!(
                "everything belongs in one file, and these are {}: {}",
                many.len(),
                many.join(", ")
            )],
        }
    }

    /// The files that the answer brings beyond the node's scope, as far as it was checked. They become the node's own
    /// once the answer is taken.
    pub fn widened(&self) -> Vec<RelPath> {
        self.widened.borrow().iter().cloned().collect()
    }

    fn widen(&self, path: &RelPath, action: FileAction) -> Result<(), String> {
        let mut widened = self.widened.borrow_mut();
        if widened.contains(path) {
            return Ok(());
        }
        if !self.may_widen(path) {
            return Err(self.refusal(path));
        }
        if action == FileAction::Remove {
            return Ok(());
        }
        if widened.len() == WIDENED {
            let refusal = self.refusal(path);
            return Err(format!("{refusal}, and {WIDENED} new files beside them are the most"));
        }
        widened.insert(path.clone());
        Ok(())
    }

    fn refusal(&self, path: &RelPath) -> String {
        let own: Vec<&str> = match self.node.spec.scope.is_open() {
            true => vec!["sources, new tests and prose"],
            false => self.node.spec.output_files.iter().map(RelPath::as_str).take(20).collect(),
        };
        format!("`{path}` is not one of this node's files ({})", own.join(", "))
    }

    fn check_manifest(&self, path: &RelPath, action: FileAction) -> Result<(), String> {
        let at_root = self.node.roots.iter().any(|root| path.parent().as_ref() == Some(&root.dir));
        let manifest = self.plugins.iter().any(|plugin| plugin.is_manifest(path));
        if action == FileAction::Remove && at_root && manifest {
            return Err(format!("`{path}` is the root manifest: it cannot be removed or renamed"));
        }
        Ok(())
    }

    fn in_root(&self, path: &RelPath) -> bool {
        self.node.roots.iter().any(|root| path.is_within(&root.dir))
    }

    fn is_support(&self, path: &RelPath) -> bool {
        self.in_root(path) && self.plugins.iter().any(|plugin| plugin.is_support_file(path))
    }

    /// Whether the plan declares that the node changes this test file or moves tests there. The answer may declare it too,
    /// for test files and test settings.
    fn is_declared(&self, path: &RelPath) -> bool {
        let goes_there = |declared: &TestDeclaration| {
            let is_file = match declared.change {
                TestChange::Move => true,
                TestChange::Rename => declared.test.is_none(),
                TestChange::Update | TestChange::Remove => false,
            };
            is_file && declared.to.as_deref().and_then(|to| RelPath::parse(to).ok()).as_ref() == Some(path)
        };
        let names = |declared: &TestDeclaration| declared.path == *path || goes_there(declared);
        let is_of_tests =
            || self.plugins.iter().any(|plugin| plugin.is_test_file(path) || plugin.decides_evidence(path));
        self.node.spec.changes_tests.iter().any(names) || (self.declared.iter().any(names) && is_of_tests())
    }

    /// Whether the file is not in the tree yet, or only because of the node's own earlier answer.
    fn is_new(&self, path: &RelPath) -> bool {
        let is_made = |best: &Candidate| {
            best.diff.create.contains(path) || best.diff.moved.iter().any(|(_, to)| to == path)
        };
        !self.tree.entries.contains_key(path) || self.node.best.as_ref().is_some_and(is_made)
    }

    fn in_open_scope(&self, path: &RelPath) -> bool {
        if !self.node.spec.scope.is_open() {
            return false;
        }
        if is_prose(path) && !self.is_guarded(path) {
            return true;
        }
        // Where no language knows the folder, any file may be worked on.
        if self.node.roots.is_empty() {
            return !self.is_guarded(path);
        }
        let is_test = self.plugins.iter().any(|plugin| plugin.is_test_file(path));
        let is_source = self.plugins.iter().any(|plugin| plugin.is_source(path) || plugin.is_manifest(path));
        // A node that is the whole task may touch what the task is about, wherever that is.
        if self.node.solo && (is_source || is_test || !self.is_guarded(path) || self.is_named(path)) {
            return true;
        }
        // What happens to the tests inside is compared test by test; the file itself may grow.
        self.in_root(path) && (is_source || is_test)
    }

    /// Whether the task names this file by its path.
    fn is_named(&self, path: &RelPath) -> bool {
        let task = self.state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let bare = |word: &str| {
            let word = word.trim_end_matches(|c| c == '.' || is_mark(c)).trim_start_matches(is_mark);
            word == path.as_str()
        };
        !is_secret(path) && task.split_whitespace().any(bare)
    }

    /// Whether a path is a new file beside the node's own that nothing protects.
    fn may_widen(&self, path: &RelPath) -> bool {
        let spec = &self.node.spec;
        let mut own = spec.output_files.iter().chain(&spec.modifies);
        let is_beside = spec.scope.is_open()
            || is_prose(path)
            || own.any(|file| file.parent().is_some_and(|folder| path.is_within(&folder)));
        let is_guarded = self.is_guarded(path) || steers_builds(path);
        is_beside && self.is_new(path) && self.in_own_root(path) && !is_guarded
    }

    /// Whether the deepest root that holds a path is one of the node's. A path in no root counts as its own.
    fn in_own_root(&self, path: &RelPath) -> bool {
        let known = self.state.found.as_ref().map_or(&[][..], |found| found.roots.as_slice());
        let holding: Vec<&RootRef> =
            known.iter().chain(&self.node.roots).filter(|root| path.is_within(&root.dir)).collect();
        let depth = |root: &RootRef| root.dir.parts().count();
        let deepest = holding.iter().map(|root| depth(root)).max();
        deepest.is_none_or(|deepest| {
            self.node.roots.iter().any(|root| depth(root) == deepest && path.is_within(&root.dir))
        })
    }

    /// Whether a path controls builds, tests, hooks or other services, or holds secrets. Such a file must be planned.
    fn is_guarded(&self, path: &RelPath) -> bool {
        let known = perspt_lang::plugins().iter().map(|plugin| *plugin as &dyn Plugin);
        let mut plugins = self.plugins.iter().copied().chain(known);
        let steers = plugins.any(|plugin| {
            plugin.is_manifest(path)
                || plugin.is_lockfile(path)
                || plugin.decides_evidence(path)
                || (plugin.is_support_file(path) && is_prose(path))
        });
        steers || is_secret(path) || steers_services(path)
    }
}

/// What may stand around a path in a sentence.
fn is_mark(c: char) -> bool {
    matches!(c, '`' | '\'' | '"' | ',' | ':' | ';' | '(' | ')')
}

fn is_prose(path: &RelPath) -> bool {
    let known = path.extension().is_some_and(|extension| ["md", "txt", "rst", "adoc"].contains(&extension));
    known && path.name() != "CMakeLists.txt"
}

/// Manifests and lock files of languages that no plugin knows.
fn steers_builds(path: &RelPath) -> bool {
    const NAMES: &[&str] = &[
        "CMakeLists.txt",
        "Gemfile",
        "Makefile",
        "build.gradle",
        "build.gradle.kts",
        "composer.json",
        "go.mod",
        "go.sum",
        "package-lock.json",
        "package.json",
        "pnpm-lock.yaml",
        "pom.xml",
    ];
    NAMES.contains(&path.name()) || path.extension() == Some("lock")
}

/// Files of continuous integration and hooks. Nearly all of them begin with a dot, as do the settings of editors and
/// shells that run commands too.
fn steers_services(path: &RelPath) -> bool {
    const HARMLESS: &[&str] = &[".gitignore", ".gitkeep", ".editorconfig", ".dockerignore"];
    const NAMES: &[&str] = &[
        "Jenkinsfile",
        "appveyor.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "buildspec.yml",
        "cloudbuild.yaml",
        "cloudbuild.yml",
        "lefthook.yml",
        "lefthook.yaml",
    ];
    let is_hidden = |part: &str| part.starts_with('.') && !HARMLESS.contains(&part);
    let is_hook = path.extension().is_none() && path.parent().is_some_and(|folder| folder.name() == "hooks");
    path.parts().any(is_hidden) || NAMES.contains(&path.name()) || is_hook
}
