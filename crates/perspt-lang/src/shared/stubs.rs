//! Code that stands in for code still to be written: it compiles, no test may reach it, and it does nothing.

use perspt_core::path::RelPath;
use perspt_core::plan::NodeClass;
use perspt_core::residual::{Class, Residual};

use super::asked::speaks_of;
use super::touch::error;
use crate::plugin::Touch;

/// Words by which a task asks for such code.
const ASKED: [&str; 6] = ["stub", "stubs", "skeleton", "placeholder", "placeholders", "no-op"];

/// Charges every stub of a changed file that it did not have before, as `find` tells them from its text. A node
/// that only lays out an interface may have them, and so may one whose task asks for them.
pub(crate) fn new_stubs(touch: &Touch<'_>, file: &RelPath, find: fn(&str) -> Vec<String>) -> Vec<Residual> {
    if touch.node.node_class == NodeClass::Interface || speaks_of(touch.task, &ASKED) {
        return Vec::new();
    }
    let Some(text) = touch.candidate.text(file) else { return Vec::new() };
    let before = touch.base.text(file).map(|text| find(&text)).unwrap_or_default();
    let fresh = |stub: &String| !before.contains(stub);
    find(&text).into_iter().filter(fresh).map(|stub| charged(file, &stub)).collect()
}

fn charged(file: &RelPath, stub: &str) -> Residual {
    let mut residual =
        error(Class::Stub, file, format!("{stub} stands in for code that is still to be written"));
    residual.hint =
        Some("Write the code itself; where others are to write it, mark it as abstract.".to_owned());
    residual
}
