//! A context package: what a model is shown of a tree. Bounded, reproducible (the same tree and request
//! give the same bytes), hashed, and never silent about what was left out.

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::path::RelPath;
use perspt_lang::plugin::Files;
use perspt_policy::mask::Masks;

use super::fit::Packing;
use super::focus::Focus;

/// How much a package may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextBudget {
    /// Tokens of all that a package puts into a prompt, by [`perspt_model::estimate_tokens`]: what is left of the model's window.
    pub tokens: u64,
    /// Files that are shown whole or in part.
    pub files: usize,
}

impl Default for ContextBudget {
    fn default() -> ContextBudget {
        ContextBudget { tokens: 33_000, files: 20 }
    }
}

/// What to show, in the order of importance.
#[derive(Default)]
pub struct Request {
    /// Files the node will write: shown whole where they are small, else their outline and what is in focus.
    pub own: Vec<RelPath>,
    /// Files it should read: the same, or their outline, or a line about each.
    pub read: Vec<RelPath>,
    /// Files that may help: shown while there is room, those in focus first.
    pub maybe: Vec<RelPath>,
    /// What matters in them.
    pub focus: Focus,
}

/// How a file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it.
    Whole,
    /// Its outline and the regions in focus.
    Regions,
    /// Its outline alone.
    Outline,
    /// One line about it.
    Summary,
}

impl Shown {
    /// The word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Shown::Whole => "whole",
            Shown::Regions => "regions",
            Shown::Outline => "outline",
            Shown::Summary => "summary",
        }
    }
}

/// What a node must be shown does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the parts of its files that matter need {needed} tokens, and {had} are left")]
pub struct TooSmall {
    /// Tokens of the smallest package that still holds what is in focus in the node's own files.
    pub needed: u64,
    /// Tokens there were.
    pub had: u64,
}

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: RelPath,
    /// Why it is here.
    pub why: &'static str,
    /// How it is shown.
    pub shown: Shown,
    /// Its text, or the marked regions of it.
    pub text: String,
    /// What it costs.
    pub tokens: u64,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The files.
    pub files: Vec<ContextFile>,
    /// The tree's paths.
    pub listing: String,
    /// What was left out or shortened, a line each.
    pub degraded: Vec<String>,
    /// What all of it costs.
    pub tokens: u64,
    /// The hash over all of it.
    pub hash: Sha,
}

/// Assembles a package from a tree. Secrets in texts are shown as placeholders. What does not fit is shortened in a fixed
/// order: files that may help are left out; files to read become outlines, then a line each; own files become outline
/// and regions, then the regions in focus alone; files to read are left out; the list of paths is cut.
pub fn assemble(
    request: &Request,
    files: &dyn Files,
    budget: ContextBudget,
    masks: &Masks,
) -> Result<Package, TooSmall> {
    let mut packing = Packing::new(request, files, budget, masks);
    packing.fit();
    let tokens = packing.tokens();
    if tokens > budget.tokens {
        return Err(TooSmall { needed: tokens, had: budget.tokens });
    }
    packing.add_maybe();
    let tokens = packing.tokens();
    let degraded = packing.notes();
    let Packing { shelves, listing, .. } = packing;
    let files: Vec<ContextFile> = shelves.into_iter().map(super::shelf::Shelf::into_file).collect();
    let mut hash = ShaBuilder::default();
    hash.field(listing.text.as_bytes());
    for file in &files {
        hash.field(file.path.as_str().as_bytes());
        hash.field(file.text.as_bytes());
    }
    degraded.iter().for_each(|line| hash.field(line.as_bytes()));
    Ok(Package { files, listing: listing.text, degraded, tokens, hash: hash.finish() })
}
