//! Types by their tokens: what one language writes in several ways is the same type.

use super::tokens::{Token, closing, is_word, split, tokens};

/// How a type fits into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Of a parameter: more may be taken than is promised.
    Taken,
    /// Of a result: less may be given than is promised.
    Given,
}

/// What is known where two types are compared.
pub(super) struct Around<'a> {
    /// What `Self` means.
    pub me: Option<&'a str>,
    /// Names that stand for any type.
    pub generics: Vec<&'a str>,
    pub side: Side,
}

impl Around<'_> {
    /// Whether a declared type keeps the promise of another one.
    pub fn fits(&self, promised: &[Token], declared: &[Token]) -> bool {
        let open = ["Any", "any", "unknown", "object", "_"];
        let (one, other) =
            (self.alternatives(promised, Errors::Whole), self.alternatives(declared, Errors::Whole));
        let is_same = match self.side {
            Side::Taken => one.iter().all(|kind| other.iter().any(|given| is_kind(kind, given))),
            Side::Given => other.iter().all(|given| one.iter().any(|kind| is_kind(kind, given))),
        };
        is_same
            || one.iter().any(|kind| open.contains(&kind.as_str()))
            || self.is_generic(promised)
            || self.is_generic(declared)
            || (has_short_result(promised) != has_short_result(declared)
                && self.alternatives(promised, Errors::LeftOut)
                    == self.alternatives(declared, Errors::LeftOut))
    }

    /// A name that stands for any type, or a type that only says what it can do.
    fn is_generic(&self, tokens: &[Token]) -> bool {
        let single = |text: &str| text.len() == 1 && text.bytes().all(|c| c.is_ascii_uppercase());
        tokens.iter().any(|token| {
            self.generics.contains(&token.text.as_str()) || single(&token.text) || token.text == "impl"
        })
    }

    /// The types of which this is one, in their order.
    fn alternatives(&self, tokens: &[Token], errors: Errors) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for part in split(tokens, |token| token.text == "|") {
            all.extend(self.one(part, errors));
        }
        all.sort();
        all.dedup();
        all
    }

    /// A type without its qualifications; several where it is an `Optional` or a `Union`.
    fn one(&self, part: &[Token], errors: Errors) -> Vec<String> {
        if let [only] = part
            && only.text.len() > 1
            && only.text.starts_with(['"', '\''])
            && only.text.ends_with(['"', '\''])
        {
            return self.alternatives(&tokens(only.text.trim_matches(['"', '\''])), errors);
        }
        let mut words: Vec<String> = Vec::new();
        let mut at = 0;
        while at < part.len() {
            let text = part[at].text.as_str();
            let qualifies = is_word(text)
                && part.get(at + 1).is_some_and(|next| ["::", "."].contains(&next.text.as_str()));
            let idle = ["dyn", "::", "mut", "const"].contains(&text) && !(text == "mut" && at > 0);
            if qualifies || idle || (text.starts_with('\'') && !text.ends_with('\'')) {
                at += if qualifies { 2 } else { 1 };
                continue;
            }
            let group = ["[", "(", "<", "{"].contains(&text).then(|| closing(&part[at..])).flatten();
            let Some(length) = group else {
                words.push(self.word(text));
                at += 1;
                continue;
            };
            let arguments = split(&part[at + 1..at + length], |token| token.text == ",");
            let all: Vec<Vec<String>> =
                arguments.iter().map(|argument| self.alternatives(argument, errors)).collect();
            at += length + 1;
            match words.last().map(String::as_str) {
                Some("Optional") if words.len() == 1 && at == part.len() => {
                    return all.concat().into_iter().chain(["None".to_owned()]).collect();
                }
                Some("Union") if words.len() == 1 && at == part.len() => return all.concat(),
                Some("Array") if all.len() == 1 => {
                    words.pop();
                    words.extend([all[0].join(" | "), "[]".to_owned()]);
                }
                Some("Result") if errors == Errors::LeftOut => {
                    words.push(all.first().map(|one| one.join(" | ")).unwrap_or_default())
                }
                Some(_) | None => {
                    let inner = all.iter().map(|one| one.join(" | ")).collect::<Vec<_>>().join(", ");
                    words.push(format!("{text}{inner}{}", part[at - 1].text));
                }
            }
        }
        vec![words.join(" ")]
    }

    fn word(&self, text: &str) -> String {
        let text = if text == "Self" { self.me.unwrap_or(text) } else { text };
        let plain = match text {
            "List" => "list",
            "Dict" => "dict",
            "Set" => "set",
            "FrozenSet" => "frozenset",
            "Tuple" => "tuple",
            "Type" => "type",
            other => other,
        };
        plain.to_owned()
    }
}

/// Whether a type is the promised one. A promise of a lone `list` leaves out what is in it.
fn is_kind(promised: &str, given: &str) -> bool {
    let inner = given.strip_prefix(promised).filter(|_| is_word(promised));
    promised == given
        || inner.is_some_and(|rest| rest.starts_with(" <") || (rest.starts_with(" [") && rest != " []"))
}

/// Whether the error type of a `Result` is compared. An alias of `Result` leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    Whole,
    LeftOut,
}

/// Whether a `Result` stands there with one argument.
fn has_short_result(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let group = tokens
            .get(at + 1..)
            .filter(|rest| token.text == "Result" && rest.first().is_some_and(|next| next.text == "<"));
        let inner = group.and_then(|group| closing(group).map(|end| &group[1..end]));
        inner.is_some_and(|inner| split(inner, |token| token.text == ",").len() == 1)
    })
}
