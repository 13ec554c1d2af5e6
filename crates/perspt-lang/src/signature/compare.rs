//! Whether a declaration keeps a promise.

use super::declaration::{Declaration, Names, Sort};
use super::params::Param;
use super::tokens::{Token, shown};
use super::types::{Around, Side};
use crate::syntax::OutlineItem;

/// How a declaration stands to a promise.
pub(super) enum Match {
    Fits,
    /// What differs.
    Differs(String),
    /// It is of this name, and in a form that cannot be compared.
    Incomparable,
    /// It is something else of the same name.
    Another,
}

pub(super) fn compare(promise: &Declaration, declared: &Declaration, item: &OutlineItem) -> Match {
    let qualifier = promise.path.iter().rev().nth(1);
    let is_elsewhere =
        qualifier.is_some_and(|qualifier| item.scope.last().is_some_and(|scope| scope != qualifier));
    match sorts(promise, declared) {
        Match::Fits => {}
        other => return other,
    }
    let me = item.scope.last().map(String::as_str).or(qualifier.map(String::as_str));
    match differences(promise, declared, me) {
        None => Match::Fits,
        // A method of another type is not what was promised.
        Some(_) if is_elsewhere => Match::Another,
        Some(how) => Match::Differs(how),
    }
}

/// Whether the two are of sorts that can be compared.
fn sorts(promise: &Declaration, declared: &Declaration) -> Match {
    match (promise.sort, declared.sort) {
        (_, Sort::Addition) if promise.sort != Sort::Addition => Match::Another,
        (Sort::Unsaid, _) if promise.params.is_none() && promise.result.is_none() => Match::Fits,
        (Sort::Function | Sort::Unsaid, Sort::Function | Sort::Value | Sort::Unsaid) => {
            let compared = promise.params.is_none() || declared.params.is_some();
            if compared { Match::Fits } else { Match::Incomparable }
        }
        // Its constructor is not looked at.
        (Sort::Unsaid, Sort::Type) => Match::Incomparable,
        (Sort::Value, Sort::Value | Sort::Unsaid | Sort::Function) => Match::Fits,
        (Sort::Type, Sort::Type) | (Sort::Module, Sort::Module) | (Sort::Addition, Sort::Addition) => {
            Match::Fits
        }
        (Sort::Type, Sort::Value | Sort::Unsaid) => Match::Incomparable,
        (Sort::Addition | Sort::Module | Sort::Type | Sort::Value | Sort::Function | Sort::Unsaid, _) => {
            Match::Another
        }
    }
}

fn differences(promise: &Declaration, declared: &Declaration, me: Option<&str>) -> Option<String> {
    let generics: Vec<&str> = promise.generics.iter().chain(&declared.generics).map(String::as_str).collect();
    let taken = Around { me, generics, side: Side::Taken };
    if let (Some(promised), Some(given)) = (&promise.fields, &declared.fields) {
        return fields(promised, given, &taken);
    }
    if let (Some(promised), Some(given)) = (&promise.params, &declared.params)
        && let Some(how) = takes(promised, given, declared.names, &taken)
    {
        return Some(how);
    }
    results(promise, declared, &Around { side: Side::Given, ..taken })
}

/// What differs between the parameters.
fn takes(promised: &[Param], given: &[Param], names: Names, around: &Around<'_>) -> Option<String> {
    let (promised, given) = (without_receiver(promised), without_receiver(given));
    let count = |params: &[Param]| match params.len() {
        0 => "no parameter".to_owned(),
        1 => "1 parameter".to_owned(),
        more => format!("{more} parameters"),
    };
    let extra = given.get(promised.len()..).unwrap_or_default();
    if given.len() < promised.len() || extra.iter().any(|param| !param.optional) {
        return Some(format!("it takes {}, and {} promised", count(given), is_promised(promised.len())));
    }
    let order = |params: &[Param]| params.iter().map(|param| param.name.clone()).collect::<Vec<_>>();
    let (one, other) = (order(promised), order(&given[..promised.len()]));
    let is_shuffled = one != other && {
        let (mut one, mut other) = (one, other);
        one.sort();
        other.sort();
        one == other && one.iter().all(Option::is_some)
    };
    if is_shuffled {
        return Some("its parameters stand in another order".to_owned());
    }
    let pairs = promised.iter().zip(given).enumerate();
    let unlike = pairs.into_iter().find(|(_, (promised, given))| !fits(promised, given, names, around));
    unlike.map(|(at, (promised, given))| {
        format!("parameter {} is `{}`, and `{}` is promised", at + 1, given.text, promised.text)
    })
}

fn is_promised(count: usize) -> String {
    if count == 1 { "1 is".to_owned() } else { format!("{count} are") }
}

fn fits(promised: &Param, given: &Param, names: Names, around: &Around<'_>) -> bool {
    if promised.optional && !given.optional {
        return false;
    }
    let types = |one: &[Token], other: &[Token]| around.fits(one, other);
    match (&promised.of, &given.of) {
        (Some(one), Some(other)) if !types(one, other) => return false,
        // A lone word is a name or a type.
        (None, Some(other)) => {
            let word = promised.name.as_deref().unwrap_or_default();
            let as_type = [Token { text: word.to_owned(), before: super::tokens::Gap::None }];
            if types(&as_type, other) {
                return true;
            }
            if is_type_name(word) && given.name.as_deref() != Some(word) {
                return false;
            }
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    match (names, &promised.name, &given.name) {
        (Names::Called, Some(one), Some(other)) => one == other,
        (Names::Called | Names::Private, _, _) => true,
    }
}

/// Whether a lone word is more likely a type than a parameter's name.
fn is_type_name(word: &str) -> bool {
    const TYPES: [&str; 24] = [
        "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "isize", "usize",
        "bool", "char", "str", "int", "float", "string", "number", "boolean", "byte", "rune",
    ];
    TYPES.contains(&word) || word.starts_with(char::is_uppercase)
}

/// Without what a method is called on.
fn without_receiver(params: &[Param]) -> &[Param] {
    let is_receiver = |param: &Param| {
        let words = param.text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
        let mut words = words.filter(|word| !word.is_empty() && *word != "mut" && !word.starts_with('\''));
        words.next().is_some_and(|word| ["self", "cls", "this"].contains(&word))
    };
    match params {
        [first, rest @ ..] if is_receiver(first) => rest,
        all => all,
    }
}

fn results(promise: &Declaration, declared: &Declaration, around: &Around<'_>) -> Option<String> {
    let nothing = |of: &[Token]| ["()", "None", "void", "undefined", "nil"].contains(&shown(of).as_str());
    match (&promise.result, &declared.result) {
        (Some(promised), Some(given)) if around.fits(promised, given) => None,
        (Some(promised), Some(given)) if nothing(promised) && nothing(given) => None,
        (Some(promised), Some(given)) => {
            Some(format!("it gives `{}`, and `{}` is promised", shown(given), shown(promised)))
        }
        (Some(promised), None) if declared.typed && !nothing(promised) => {
            Some(format!("it gives nothing, and `{}` is promised", shown(promised)))
        }
        (Some(_) | None, Some(_) | None) => None,
    }
}

/// What differs between fields or variants. One that is tuple-like has no names.
fn fields(promised: &[Param], given: &[Param], around: &Around<'_>) -> Option<String> {
    for (at, field) in promised.iter().enumerate() {
        let found = match &field.name {
            Some(name) if field.of.is_some() || given.iter().any(|one| one.name.as_ref() == Some(name)) => {
                given.iter().find(|one| one.name.as_ref() == Some(name))
            }
            Some(_) | None => given.get(at),
        };
        let Some(found) = found else { return Some(format!("it has no `{}`", field.text)) };
        let is_same = match (&field.of, &found.of) {
            (Some(one), Some(other)) => around.fits(one, other),
            (Some(_) | None, Some(_) | None) => {
                field.name.is_none() || field.name == found.name || found.name.is_none()
            }
        };
        if !is_same {
            return Some(format!("it has `{}`, and `{}` is promised", found.text, field.text));
        }
    }
    None
}
