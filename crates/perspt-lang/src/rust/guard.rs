//! Items that exist only for tests, compared one by one: what was there must stay, and what is new must not
//! stand in front of what the old ones use.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Place, Residual};

use super::items::joined;
use super::lexer::{Kind, Token};
use crate::shared::touch::{Deleted, TestItems, error, left_over, not_its_test};

/// One item that exists only for tests; of a module with a body, its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guarded {
    /// Its path in the file, with its keyword where it is no function or module.
    pub key: String,
    /// The module it stands in.
    pub scope: String,
    /// Its tokens, so that layout and comments do not count.
    pub tokens: Vec<String>,
    /// Names it brings into its module.
    pub defines: Vec<String>,
    /// Where it starts.
    pub line: u32,
}

impl Guarded {
    /// An item by its tokens, its keyword and name, and the module it stands in.
    pub(crate) fn of(tokens: &[Token<'_>], (keyword, name): (&str, &str), scope: &str) -> Guarded {
        let path = joined(scope, name);
        Guarded {
            key: if keyword == "fn" || keyword == "mod" { path } else { format!("{keyword} {path}") },
            scope: scope.to_owned(),
            tokens: tokens.iter().map(|token| token.text.to_owned()).collect(),
            defines: defines(tokens, (keyword, name)),
            line: tokens.first().map_or(1, |token| token.line),
        }
    }
}

/// The names an item brings into its module; what a `use` of everything brings cannot be seen.
fn defines(tokens: &[Token<'_>], (keyword, name): (&str, &str)) -> Vec<String> {
    match keyword {
        "use" => {
            let last =
                |pair: &&[Token<'_>]| pair[0].kind == Kind::Name && [",", ";", "}"].contains(&pair[1].text);
            let names = tokens.windows(2).filter(last).map(|pair| pair[0].text);
            names.filter(|name| !["self", "_"].contains(name)).map(str::to_owned).collect()
        }
        "impl" | "macro" | "" => Vec::new(),
        _ if name == "_" => Vec::new(),
        _ => vec![name.to_owned()],
    }
}

/// What happened to the test items of one file.
pub(crate) fn compare(path: &RelPath, before: &[Guarded], after: &[Guarded]) -> Vec<Residual> {
    let same = |item: &Guarded| (item.scope.clone(), item.tokens.clone());
    let (lost, new) = (left_over(before, after, same), left_over(after, before, same));
    let is_new = |key: &str| new.iter().any(|item| item.key == key);
    let gone: BTreeSet<&str> = lost.iter().map(|item| item.key.as_str()).filter(|key| !is_new(key)).collect();
    let mut residuals = Vec::new();
    for item in lost.iter().filter(|item| !is_below(&item.scope, &gone)) {
        let deleted = if gone.contains(item.key.as_str()) { Deleted::Yes } else { Deleted::No };
        let what = format!("the existing test item `{}`", item.key);
        residuals.push(Residual { symbol: Some(item.key.clone()), ..not_its_test(path, &what, deleted) });
    }
    let added = new.iter().filter(|item| !lost.iter().any(|old| old.key == item.key));
    residuals.extend(added.filter_map(|item| shadow(path, item, before)));
    residuals
}

/// Whether something that existing tests stand on is not what it was: a constant, a helper. What is only imported is not
/// looked at.
pub(crate) fn stands_on_changed(before: &[Guarded], after: &[Guarded], tests: &TestItems) -> bool {
    let same = |item: &Guarded| (item.scope.clone(), item.tokens.clone());
    let beside = |item: &Guarded| !tests.contains_key(&item.key) && !item.key.starts_with("use ");
    !tests.is_empty() && left_over(before, after, same).iter().any(|item| beside(item))
}

/// Whether a module is one of these or stands inside one.
fn is_below(scope: &str, modules: &BTreeSet<&str>) -> bool {
    modules.iter().any(|module| {
        scope.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// The charge for a new item with a name that the items beside it, and below, already use for something else.
fn shadow(path: &RelPath, new: &Guarded, before: &[Guarded]) -> Option<Residual> {
    if new.scope.is_empty() {
        return None;
    }
    let scope = BTreeSet::from([new.scope.as_str()]);
    let beside = || before.iter().filter(|item| is_below(&item.scope, &scope));
    let uses = |name: &str| beside().any(|item| item.tokens.iter().any(|token| token == name));
    let name = new.defines.iter().find(|name| uses(name))?;
    let message = format!(
        "the new `{}` stands in front of the `{name}` that existing tests of this module use",
        new.key
    );
    let mut residual = error(Class::TestChanged, path, message);
    residual.symbol = Some(new.key.clone());
    residual.place = Some(Place { line: new.line, column: 0 });
    residual.hint = Some("Give it a name that the existing tests do not use.".to_owned());
    Some(residual)
}
