//! What `go list` says of the packages of a root: their files, those that are left out, and what is wrong with each.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::stage::StepOutput;
use serde::Deserialize;

use crate::plugin::ReadContext;
use crate::shared::report::in_tree;

/// One package, or what a package becomes when its tests are built with it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Package {
    /// By what it is imported; with the test it is built for behind it.
    pub import_path: String,
    dir: String,
    for_test: String,
    standard: bool,
    dep_only: bool,
    go_files: Vec<String>,
    cgo_files: Vec<String>,
    c_files: Vec<String>,
    h_files: Vec<String>,
    s_files: Vec<String>,
    embed_files: Vec<String>,
    test_embed_files: Vec<String>,
    #[serde(rename = "XTestEmbedFiles")]
    other_embed_files: Vec<String>,
    test_go_files: Vec<String>,
    #[serde(rename = "XTestGoFiles")]
    other_test_go_files: Vec<String>,
    ignored_go_files: Vec<String>,
    deps: Vec<String>,
    /// What is wrong with it.
    pub error: Option<ListError>,
}

/// What is wrong with a package.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ListError {
    /// The place of the import that leads to it, where there is one.
    pub pos: String,
    /// What the loader or the compiler said.
    pub err: String,
}

/// All packages of a root and what they need.
pub(crate) struct Packages(Vec<Package>);

impl Packages {
    /// Of what was printed; what cannot be read ends it.
    pub(crate) fn of(output: &StepOutput) -> Packages {
        let found = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Package>();
        Packages(found.map_while(Result::ok).filter(|package| !package.standard).collect())
    }

    /// Those with something wrong.
    pub(crate) fn faulty(&self) -> impl Iterator<Item = (&Package, &ListError)> {
        self.0.iter().filter_map(|package| Some((package, package.error.as_ref()?)))
    }

    /// The packages of the root whose tests are run, each with its test files.
    pub(crate) fn tested(&self, context: &ReadContext<'_>) -> BTreeMap<&str, Vec<RelPath>> {
        let own = self.0.iter().filter(|package| package.is_itself() && !package.dep_only);
        let tests = own.map(|package| {
            let names = [&package.test_go_files, &package.other_test_go_files];
            (package.import_path.as_str(), package.paths(&names, context))
        });
        tests.filter(|(_, files)| !files.is_empty()).collect()
    }

    /// The folder of a package.
    pub(crate) fn folder(&self, import_path: &str) -> Option<&str> {
        self.0.iter().find(|package| package.import_path == import_path).map(|package| package.dir.as_str())
    }

    /// Every file of the tree that something is built from.
    pub(crate) fn built(&self, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
        let files = self.0.iter().flat_map(|package| package.files(context));
        files.chain(manifests(context)).collect()
    }

    /// Files that conditions keep out of every build on this machine.
    pub(crate) fn left_out(&self, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
        self.0.iter().flat_map(|package| package.paths(&[&package.ignored_go_files], context)).collect()
    }

    /// What the tests of a package are built from.
    pub(crate) fn reached(&self, import_path: &str, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
        let program = format!("{import_path}.test");
        let deps = self.0.iter().find(|package| package.import_path == program);
        let deps: BTreeSet<&str> =
            deps.iter().flat_map(|package| &package.deps).map(String::as_str).collect();
        let linked = self.0.iter().filter(|package| deps.contains(package.import_path.as_str()));
        let files = linked.flat_map(|package| package.files(context));
        files.chain(manifests(context)).collect()
    }
}

impl Package {
    /// Whether it is neither built for a test nor the program that runs one.
    fn is_itself(&self) -> bool {
        self.for_test.is_empty() && !self.import_path.ends_with(".test")
    }

    fn paths(&self, names: &[&Vec<String>], context: &ReadContext<'_>) -> Vec<RelPath> {
        let names = names.iter().flat_map(|names| names.iter());
        names.filter_map(|name| in_tree(context, &format!("{}/{name}", self.dir))).collect()
    }

    fn files(&self, context: &ReadContext<'_>) -> Vec<RelPath> {
        // The main package of a test program is made, and not in the tree.
        if self.import_path.ends_with(".test") {
            return Vec::new();
        }
        let code = [&self.go_files, &self.cgo_files, &self.c_files, &self.h_files, &self.s_files];
        let mut files = self.paths(&code, context);
        files.extend(self.paths(&[&self.embed_files], context));
        if !self.for_test.is_empty() {
            files.extend(self.paths(&[&self.test_embed_files, &self.other_embed_files], context));
        }
        files
    }
}

fn manifests(context: &ReadContext<'_>) -> impl Iterator<Item = RelPath> {
    let folders =
        super::roots::modules(context.files, context.root).into_iter().chain([context.root.dir.clone()]);
    let paths = folders
        .flat_map(|dir| ["go.mod", "go.sum", "go.work", "go.work.sum"].map(|name| dir.join(name).ok()));
    paths.flatten().filter(|path| context.files.tree().entries.contains_key(path))
}
