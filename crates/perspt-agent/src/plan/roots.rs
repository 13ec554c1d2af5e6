//! Which language roots a set of files is verified in.

use perspt_core::event::RootRef;
use perspt_core::path::RelPath;
use perspt_lang::plugin::Plugin;

/// The roots of some files: for each file the deepest root that holds it, by the plugin that knows the
/// file where several plugins share a folder. Files in no root are verified by every root.
pub fn roots_of<'a>(
    files: impl IntoIterator<Item = &'a RelPath>,
    roots: &[RootRef],
    plugins: &[&dyn Plugin],
) -> Vec<RootRef> {
    let mut found: Vec<RootRef> = Vec::new();
    for file in files {
        for root in roots_of_file(file, roots, plugins) {
            if !found.contains(&root) {
                found.push(root);
            }
        }
    }
    if found.is_empty() { roots.to_vec() } else { found }
}

fn roots_of_file(file: &RelPath, roots: &[RootRef], plugins: &[&dyn Plugin]) -> Vec<RootRef> {
    let holding: Vec<&RootRef> = roots.iter().filter(|root| file.is_within(&root.dir)).collect();
    let known_to = |root: &&&RootRef| {
        plugins.iter().filter(|plugin| plugin.name() == root.plugin.0).any(|plugin| {
            plugin.is_source(file)
                || plugin.is_manifest(file)
                || plugin.is_test_file(file)
                || plugin.is_support_file(file)
                || plugin.is_lockfile(file)
        })
    };
    let knowing: Vec<&RootRef> = holding.iter().filter(known_to).copied().collect();
    let candidates = if knowing.is_empty() { holding } else { knowing };
    let depth = candidates.iter().map(|root| root.dir.parts().count()).max().unwrap_or(0);
    candidates.into_iter().filter(|root| root.dir.parts().count() == depth).cloned().collect()
}
