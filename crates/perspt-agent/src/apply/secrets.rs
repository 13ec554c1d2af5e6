//! Secrets in an answer: its placeholders are replaced by the secrets, and a write that drops a secret is refused.

use std::collections::BTreeMap;

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::path::RelPath;
use perspt_lang::plugin::Files;
use perspt_policy::mask::{Masks, placeholders, put_back as restore};

use super::Applied;

/// The bundle with secrets in place of its placeholders, taken from the files it names. The error lists placeholders
/// without a secret.
pub fn restore_secrets(bundle: &Bundle, files: &dyn Files, masks: &Masks) -> Result<Bundle, Vec<String>> {
    let texts = bundle.artifacts.iter().flat_map(|artifact| match artifact {
        Artifact::Write { content, .. } => vec![content],
        Artifact::Edit { find, replace, .. } => vec![find, replace],
        Artifact::Diff { patch, .. } => vec![patch],
        Artifact::Delete { .. } | Artifact::Move { .. } => vec![],
    });
    if texts.into_iter().all(|text| placeholders(text).is_empty()) {
        return Ok(bundle.clone());
    }
    let known = Known::of(bundle, files, masks);
    let (mut faults, mut out) = (Vec::new(), bundle.clone());
    for (index, artifact) in out.artifacts.iter_mut().enumerate() {
        let unknown = known.restore_secrets(artifact);
        faults.extend(unknown.map(|name| {
            format!("artifact {}: `{name}` stands for nothing in the files of this answer", index + 1)
        }));
    }
    if faults.is_empty() { Ok(out) } else { Err(faults) }
}

/// A line for each whole write after which a secret of the file is gone. An edit may remove one. `base` is the tree that
/// the node began with: a secret that an earlier answer made up need not stay.
pub fn removed_secrets(
    bundle: &Bundle,
    applied: &Applied,
    files: &dyn Files,
    base: &dyn Files,
    masks: &Masks,
) -> Vec<String> {
    let plain = |text: &str| text.replace('\r', "");
    let now: String = applied.files.values().flatten().map(|(_, text)| plain(text) + "\n").collect();
    let mut faults = Vec::new();
    for artifact in &bundle.artifacts {
        let Artifact::Write { path, .. } = artifact else { continue };
        let Some((path, text)) = text_of(files, path) else { continue };
        let Some(before) = base.text(&path) else { continue };
        let secrets = masks.mask(&text).secrets;
        let gone =
            secrets.iter().find(|(_, secret)| before.contains(*secret) && !now.contains(&plain(secret)));
        faults.extend(gone.map(|(name, _)| {
            format!(
                "`{path}`: `{name}` stands for a secret of the file, which would be lost: write it where it was, \
                 or change the file by `edit`"
            )
        }));
    }
    faults
}

fn text_of(files: &dyn Files, path: &str) -> Option<(RelPath, String)> {
    let path = RelPath::parse(path).ok()?;
    let text = files.text(&path)?;
    Some((path, text))
}

/// Secrets by their placeholders.
struct Known {
    /// In each file that the bundle names.
    by_file: BTreeMap<String, (String, BTreeMap<String, String>)>,
    /// In any of them: text may move from one file to another.
    anywhere: BTreeMap<String, String>,
}

impl Known {
    fn of(bundle: &Bundle, files: &dyn Files, masks: &Masks) -> Known {
        let named = bundle.artifacts.iter().map(|artifact| match artifact {
            Artifact::Write { path, .. }
            | Artifact::Edit { path, .. }
            | Artifact::Diff { path, .. }
            | Artifact::Delete { path }
            | Artifact::Move { from: path, .. } => path,
        });
        let mut by_file = BTreeMap::new();
        for path in named {
            if let Some((_, text)) = text_of(files, path) {
                let secrets = masks.mask(&text).secrets;
                by_file.insert(path.clone(), (text, secrets));
            }
        }
        let all = by_file.values().flat_map(|(_, secrets)| secrets.clone());
        Known { anywhere: all.collect(), by_file }
    }

    /// Restores the secrets of one artifact. Returns a placeholder without a secret.
    fn restore_secrets(&self, artifact: &mut Artifact) -> Option<String> {
        let (path, texts) = match artifact {
            Artifact::Write { path, content } => (path, vec![content]),
            Artifact::Edit { path, find, replace } => (path, vec![find, replace]),
            Artifact::Diff { path, patch } => {
                *patch = patch.split_inclusive('\n').map(|line| self.in_line(path, line)).collect();
                (path, vec![patch])
            }
            Artifact::Delete { .. } | Artifact::Move { .. } => return None,
        };
        // The file itself may contain the text of a placeholder.
        let written = |name: &str| self.by_file.get(path).is_some_and(|(text, _)| text.contains(name));
        for text in texts {
            *text = self.in_text(path, text);
            if let Some(name) = placeholders(text).into_iter().find(|name| !written(name)) {
                return Some(name.to_owned());
            }
        }
        None
    }

    /// A file's own secrets come first.
    fn in_text(&self, path: &str, text: &str) -> String {
        let own = self.by_file.get(path).map(|(_, secrets)| restore(text, secrets));
        restore(own.as_deref().unwrap_or(text), &self.anywhere)
    }

    /// In a patch, every line of a secret needs the mark of the line it is in.
    fn in_line(&self, path: &str, line: &str) -> String {
        let mark = line.get(..1).unwrap_or_default();
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        self.in_text(path, line).replace('\n', &format!("\n{mark}")) + end
    }
}
