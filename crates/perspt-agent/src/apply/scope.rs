//! Who may write what: a node's own files, and the support files it may edit.

use std::collections::BTreeMap;

use perspt_core::ids::NodeId;
use perspt_core::outcome::NodeEnd;
use perspt_core::path::RelPath;
use perspt_core::plan::OpenScope;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::Tree;
use perspt_lang::plugin::Plugin;

/// What an operation does to a path, as far as ownership is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Its content changes, or it comes to be.
    Write,
    /// It goes away, or gets another name.
    Remove,
}

/// The files one node may write.
pub struct WriteScope<'a> {
    node: &'a Node,
    tree: &'a Tree,
    plugins: Vec<&'a dyn Plugin>,
    /// Files of other nodes, with whether that node is in the tree.
    others: BTreeMap<&'a RelPath, (&'a NodeId, bool)>,
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
        WriteScope { node, tree, plugins, others }
    }

    /// Whether the node may do this to the path; otherwise what the model is told.
    pub fn check(&self, path: &RelPath, touch: Touch) -> Result<(), String> {
        if self.node.owns(path) {
            return self.check_manifest(path, touch);
        }
        if let Some((owner, committed)) = self.others.get(path) {
            let support = self.is_support(path);
            return match (support, committed, touch) {
                (true, true, Touch::Write) => Ok(()),
                (true, false, _) => {
                    Err(format!("`{path}` will be made by node `{owner}`, which is not done yet"))
                }
                (_, _, _) => Err(format!("`{path}` belongs to node `{owner}`")),
            };
        }
        if self.in_open_scope(path) {
            return self.check_manifest(path, touch);
        }
        if self.is_support(path) {
            return match touch {
                Touch::Write => Ok(()),
                Touch::Remove => {
                    Err(format!("`{path}` is a shared file: it may be edited, not removed or renamed"))
                }
            };
        }
        let own: Vec<&str> = self.node.spec.output_files.iter().map(RelPath::as_str).take(20).collect();
        let own = match self.node.spec.scope {
            OpenScope::Listed => own.join(", "),
            OpenScope::Sources => "sources that are no tests".to_owned(),
            OpenScope::NewTests => "new test files".to_owned(),
        };
        Err(format!("`{path}` is not one of this node's files ({own})"))
    }

    fn check_manifest(&self, path: &RelPath, touch: Touch) -> Result<(), String> {
        let at_root = self.node.roots.iter().any(|root| path.parent().as_ref() == Some(&root.dir));
        let manifest = self.plugins.iter().any(|plugin| plugin.is_manifest(path));
        if touch == Touch::Remove && at_root && manifest {
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

    fn in_open_scope(&self, path: &RelPath) -> bool {
        if !self.in_root(path) {
            return false;
        }
        let is_test = self.plugins.iter().any(|plugin| plugin.is_test_file(path));
        let is_source = self.plugins.iter().any(|plugin| plugin.is_source(path) || plugin.is_manifest(path));
        match self.node.spec.scope {
            OpenScope::Listed => false,
            OpenScope::Sources => is_source && !is_test,
            OpenScope::NewTests => is_test && !self.tree.entries.contains_key(path),
        }
    }
}
