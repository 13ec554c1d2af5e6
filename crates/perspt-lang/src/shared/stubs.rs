//! Code that is still to be written.

use std::collections::BTreeMap;

use perspt_core::residual::{Class, Component, Position, Residual};

use super::compare::{ChangedSource, Comparison, FileRole};
use crate::syntax::{Source, Spot};

/// The charges for placeholders in code that is no test and had none there. `is_meant` tells those that others fill in.
pub(crate) fn new_stubs(compared: &Comparison, is_meant: &dyn Fn(&Source, &Spot) -> bool) -> Vec<Residual> {
    let code =
        || compared.sources.iter().filter(|(_, side)| matches!(side.role, FileRole::Mixed | FileRole::Other));
    fn spots(source: &Source) -> impl Iterator<Item = &Spot> {
        source.placeholders.iter().filter(|spot| !source.is_of_tests(spot.start))
    }
    let key = |spot: &Spot| (spot.path.clone(), spot.text.clone());
    let mut before: BTreeMap<_, usize> = BTreeMap::new();
    let old = |(_, side): (_, &ChangedSource)| spots(&side.base.source).map(key).collect::<Vec<_>>();
    for known in code().flat_map(old) {
        *before.entry(known).or_default() += 1;
    }
    let mut residuals = Vec::new();
    for (path, side) in code() {
        for spot in spots(&side.candidate.source) {
            match before.get_mut(&key(spot)).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None if is_meant(&side.candidate.source, spot) => {}
                None => residuals.push(residual(spot).in_file(Some(path.clone()))),
            }
        }
    }
    residuals
}

fn residual(spot: &Spot) -> Residual {
    let place = spot.path.join("::");
    let text = spot.text.lines().next().unwrap_or_default();
    let message = format!("`{text}` in `{place}` stands for code that is still to be written");
    let mut residual = Residual::error(Component::Str, Class::Stub, "perspt structure", message);
    residual.place = Some(Position { line: spot.line, column: 0 });
    residual.symbol = Some(place);
    residual.hint = Some("Write the code.".to_owned());
    residual
}
