//! Functions whose body is `raise NotImplementedError`, and which of them others are meant to write.

use perspt_core::path::RelPath;

use super::layout::PYTHON;
use super::roots;
use crate::plugin::Files;
use crate::syntax::{Item, Kind, Source, Spot, parse};

/// Bases by which a class says that others fill it in.
const ABSTRACT: [&str; 3] = ["ABC", "ABCMeta", "Protocol"];

/// Decorators that say the same of a method.
const DECLARED: [&str; 5] =
    ["abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod", "overload"];

/// Whether a placeholder is for others to fill in: an abstract method, or one that a subclass in the tree defines.
pub(crate) fn is_meant(files: &dyn Files, source: &Source, spot: &Spot) -> bool {
    let function = source.item(&spot.path.join("::"));
    let is_declared = function.is_some_and(|item| says(item, &DECLARED));
    let [.., class, method] = spot.path.as_slice() else { return is_declared };
    let head = source.items.iter().find(|item| item.kind == Kind::Head && item.last() == class);
    let is_abstract = head.is_some_and(|head| says(head, &ABSTRACT));
    is_declared || is_abstract || is_overridden(files, class, method)
}

fn says(item: &Item, words: &[&str]) -> bool {
    item.tokens.iter().any(|token| words.contains(&token.text.as_str()))
}

/// Whether some class of the tree names this one as its base and defines the method.
fn is_overridden(files: &dyn Files, class: &str, method: &str) -> bool {
    let mut texts = roots::sources(files).filter_map(|path: &RelPath| files.text(path));
    texts.any(|text| text.contains(class) && text.contains(method) && overrides(&text, class, method))
}

fn overrides(text: &str, class: &str, method: &str) -> bool {
    let source = parse(&PYTHON, text);
    let mut heads = source.items.iter().filter(|item| item.kind == Kind::Head && item.last() != class);
    heads.any(|head| says(head, &[class]) && source.item(&format!("{}::{method}", head.name)).is_some())
}
