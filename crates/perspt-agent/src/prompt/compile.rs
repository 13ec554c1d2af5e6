//! Filling a template's holes. A prompt has a head, byte-equal for every call of its intent, and a body. What the calls for a node
//! have in common stands first in the body; the tag line begins the part that changes. So a provider's cache can serve
//! all that comes before it.

use perspt_core::effect::Intent;
use perspt_core::event::Provenance;
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, NodeId};
use serde::{Deserialize, Serialize};

use super::Evidence;

/// Rises when the compiler or a template changes in a way that changes prompts.
const COMPILER: &str = "4";

/// A compiled prompt, as it is stored and sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// Why the model is asked.
    pub intent: Intent,
    /// The node, where there is one.
    pub node: Option<NodeId>,
    /// The tag line's number.
    pub attempt: u32,
    /// The stable part.
    pub head: String,
    /// What is said of the case at hand. The tag line begins the part that changes from call to call.
    pub body: String,
    /// How many bytes of the body come before the tag line.
    #[serde(default)]
    pub stable: usize,
    /// Where it came from.
    pub provenance: Provenance,
}

struct Template {
    name: &'static str,
    head: &'static str,
    /// What the calls for a node have in common.
    shared: &'static str,
    body: &'static str,
}

fn template(intent: Intent, solo: bool) -> Template {
    const ARCHITECT: &str = include_str!("templates/architect.head.md");
    const ACTUATOR: &str = include_str!("templates/actuator.head.md");
    const SOLO: &str = include_str!("templates/solo.head.md");
    const ANALYSIS: &str = include_str!("templates/analysis.head.md");
    const SHARED: &str = include_str!("templates/shared.md");
    let writer = if solo { SOLO } else { ACTUATOR };
    let (head, shared, body) = match intent {
        Intent::ArchitectExisting => (ARCHITECT, "", include_str!("templates/architect.existing.md")),
        Intent::ArchitectGreenfield => (ARCHITECT, "", include_str!("templates/architect.greenfield.md")),
        Intent::Generate => (writer, SHARED, include_str!("templates/actuator.generate.md")),
        Intent::Correction => (writer, SHARED, include_str!("templates/correction.md")),
        Intent::Retarget => (writer, SHARED, include_str!("templates/retarget.md")),
        Intent::Malformed => (writer, SHARED, include_str!("templates/malformed.md")),
        Intent::Analysis => (ANALYSIS, SHARED, include_str!("templates/verifier.analysis.md")),
        Intent::SoloGenerate => (SOLO, "", include_str!("templates/solo.generate.md")),
        Intent::SoloCorrection => (SOLO, "", include_str!("templates/solo.correction.md")),
    };
    Template { name: intent.slug(), head, shared, body }
}

/// The tag line.
pub fn tag(intent: Intent, node: Option<&NodeId>, attempt: u32) -> String {
    format!("[perspt intent={} node={} attempt={attempt}]", intent.slug(), node.map_or("-", NodeId::as_str))
}

/// Compiles a prompt. `cites` are the blobs that the evidence was read from.
pub fn compile(intent: Intent, attempt: u32, evidence: &Evidence<'_>, cites: &[BlobId]) -> Compiled {
    let node = evidence.node.map(|node| &node.id);
    let template = template(intent, evidence.solo);
    let head = fill(template.head, &evidence.head_holes(intent));
    let mut holes = evidence.holes();
    holes.push(("tag", tag(intent, node, attempt)));
    let shared = fill(template.shared, &holes);
    let stable = shared.len();
    let body = shared + &fill(template.body, &holes);
    let used = holes
        .iter()
        .filter(|(name, _)| {
            let hole = format!("{{{{{name}}}}}");
            template.shared.contains(&hole) || template.body.contains(&hole)
        })
        .map(|(name, text)| ((*name).to_owned(), Sha::of(text.as_bytes())))
        .collect();
    let bytes = (head.len() + body.len()) as u64;
    Compiled {
        intent,
        node: node.cloned(),
        attempt,
        head,
        body,
        stable,
        provenance: Provenance {
            template: template.name.to_owned(),
            compiler: COMPILER.to_owned(),
            evidence: used,
            cites: cites.to_vec(),
            plugins: evidence.project.plugins.clone(),
            retry: evidence.retry.as_ref().and_then(|retry| retry.class),
            bytes,
        },
    }
}

/// Fills the holes in one pass, so that text put into one hole is never searched for another. A hole
/// nobody fills is empty; runs of blank lines that empty holes leave are closed.
fn fill(template: &str, holes: &[(&'static str, String)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let Some(end) = after.find("}}") else {
            out.push_str(&rest[at..]);
            return out;
        };
        let name = &after[..end];
        let text = holes.iter().find(|(hole, _)| *hole == name).map_or("", |(_, text)| text.as_str());
        out.push_str(text);
        rest = &after[end + 2..];
        if text.is_empty() {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }
    out.push_str(rest);
    out
}
