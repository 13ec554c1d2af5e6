//! Choosing files where nobody has said which: for the architect, and for a node that is the whole task.

use perspt_core::path::RelPath;
use perspt_lang::plugin::{Files, Plugin};

use super::rank::{Ranked, names, rank};
use super::{Focus, Request};
use crate::actor::Actor;

/// The most files that are taken to be what the task is about.
const ABOUT: usize = 4;
/// Bytes of other files that are shown beside those, where some files stand out.
const BESIDE_BYTES: u64 = 12_000;
/// The same where none does.
const ALONE_BYTES: u64 = 60_000;

impl Actor {
    /// The files that the task is about, then manifests, then other files, those first that the task's words fit. The same
    /// tree and task give the same request.
    pub(super) fn architect_request(&self, files: &dyn Files, task: &str, focus: Focus) -> Request {
        let is = |path: &RelPath, what: fn(&'static dyn Plugin, &RelPath) -> bool| {
            self.parts.plugins.iter().any(|plugin| what(*plugin, path))
        };
        let (mut read, mut sources, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for path in files.tree().entries.keys() {
            if is(path, |plugin, path| plugin.is_manifest(path)) {
                read.push(path.clone());
            } else if is(path, |plugin, path| plugin.is_source(path)) || names(task, path) {
                sources.push(path.clone());
            } else {
                others.push(path.clone());
            }
        }
        let is_test = |path: &RelPath| is(path, |plugin, path| plugin.is_test_file(path));
        let ranked = rank(task, &focus, files, &sources);
        let best = ranked.iter().filter(|one| !is_test(&one.path)).map(|one| one.score).max().unwrap_or(0);
        let stands_out = |one: &&Ranked| best > 0 && one.score.saturating_mul(2) > best;
        let code = ranked.iter().filter(|one| !is_test(&one.path));
        let own: Vec<RelPath> = code.filter(stands_out).take(ABOUT).map(|one| one.path.clone()).collect();
        let beside = if own.is_empty() { ALONE_BYTES } else { BESIDE_BYTES };
        let rest = ranked.into_iter().filter(|one| !own.contains(&one.path));
        let readme = |path: &RelPath| path.name().eq_ignore_ascii_case("readme.md");
        let others = rank(task, &focus, files, &others).into_iter();
        let others = others.filter(|one| one.score > 0 || readme(&one.path) || own.is_empty());
        let mut used = 0u64;
        let maybe = rest.chain(others).filter(|one| {
            let fits = used.saturating_add(one.bytes) <= beside;
            used += if fits { one.bytes } else { 0 };
            fits
        });
        let maybe = maybe.map(|one| one.path).collect();
        Request { own, read, maybe, focus }
    }
}
