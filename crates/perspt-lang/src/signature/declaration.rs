//! A declaration in any language: its sort, its name, what it takes and gives.

use perspt_core::path::RelPath;

use super::params::{Param, has_methods, params};
use super::reader::Reader;
use super::tokens::{Gap, Token, closing, split, tokens};

/// What is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Function,
    Type,
    Value,
    Module,
    /// What an `impl` says of a type.
    Addition,
    /// No word says it.
    Unsaid,
}

/// Whether callers see the names of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Called,
    Private,
}

/// A declaration.
#[derive(Debug, Clone)]
pub(super) struct Declaration {
    pub sort: Sort,
    /// The word that says so.
    pub word: String,
    /// Its name, with what it stands in before it.
    pub path: Vec<String>,
    pub generics: Vec<String>,
    /// What it takes; `None` where nothing is said of it.
    pub params: Option<Vec<Param>>,
    /// What it gives, or the type of a value.
    pub result: Option<Vec<Token>>,
    /// Whether no result means that there is none: the language says all types.
    pub typed: bool,
    /// Fields or variants.
    pub fields: Option<Vec<Param>>,
    pub names: Names,
}

impl Declaration {
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The words of which its types are made.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.params, &self.fields];
        let taken = lists.into_iter().flatten().flatten().filter_map(|param| param.of.as_ref());
        taken.chain(&self.result).flatten().map(|token| token.text.as_str())
    }
}

const BEFORE: [&str; 22] = [
    "abstract",
    "async",
    "crate",
    "declare",
    "default",
    "export",
    "extern",
    "final",
    "inline",
    "internal",
    "open",
    "override",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "static",
    "unsafe",
    "virtual",
    "exports",
];
/// Words that no signature begins with; sentences do.
const NO_NAMES: [&str; 14] = [
    "a",
    "an",
    "the",
    "none",
    "null",
    "nil",
    "nothing",
    "void",
    "todo",
    "unchanged",
    "same",
    "no",
    "any",
    "n",
];

/// What a plan promises; `None` where it is prose.
pub(super) fn of_promise(tokens: &[Token]) -> Option<Declaration> {
    let declaration = read(tokens, Names::Called)?;
    let is_bare = declaration.sort == Sort::Unsaid && declaration.params.is_none();
    let is_word = |name: &str| NO_NAMES.contains(&name.to_lowercase().as_str());
    (!(is_bare && is_word(declaration.name()))).then_some(declaration)
}

/// What a source declares.
pub(super) fn of_item(text: &str, path: &RelPath) -> Option<Declaration> {
    let names = if matches!(path.extension(), Some("py" | "pyi")) { Names::Called } else { Names::Private };
    let tokens = tokens(text);
    // Decorators aside, what is left out at the end is a body.
    read(&tokens, names).or_else(|| read_name(&tokens, names))
}

/// Of a declaration in a form that is not known: that it is there.
fn read_name(tokens: &[Token], names: Names) -> Option<Declaration> {
    tokens.first()?;
    let (params, result, fields) = (None, None, None);
    Some(Declaration {
        sort: Sort::Unsaid,
        word: String::new(),
        path: vec![],
        generics: vec![],
        params,
        result,
        typed: false,
        fields,
        names,
    })
}

fn read(tokens: &[Token], names: Names) -> Option<Declaration> {
    let mut reader = Reader { rest: tokens };
    let (sort, word) = leading_words(&mut reader);
    let mut generics = Vec::new();
    if sort == Sort::Addition {
        generics = generic_names(reader.group("<").unwrap_or_default());
        let whole = reader.until(&["{", "where"]);
        let of = split(whole, |token| token.text == "for").last().copied().unwrap_or_default();
        reader = Reader { rest: of };
    }
    let spaced = |reader: &Reader<'_>| reader.rest.first().is_some_and(|token| token.before != Gap::None);
    let path = reader.path()?;
    reader.take(&["!", "?"]);
    if sort != Sort::Unsaid || (reader.peek() == "<" && !spaced(&reader)) {
        let bracket = if reader.peek() == "[" && sort != Sort::Value { "[" } else { "<" };
        generics.extend(generic_names(reader.group(bracket).unwrap_or_default()));
    }
    let declaration = Declaration {
        sort,
        word: word.to_owned(),
        path,
        generics,
        params: None,
        result: None,
        typed: ["fn", "func"].contains(&word),
        fields: None,
        names,
    };
    match sort {
        Sort::Type => Some(of_type(declaration, reader, word)),
        Sort::Module | Sort::Addition => Some(declaration),
        Sort::Function | Sort::Value => of_function(declaration, reader),
        Sort::Unsaid if spaced(&reader) && !["->", ":", "="].contains(&reader.peek()) => None,
        Sort::Unsaid => {
            of_function(declaration, reader).filter(|one| one.params.is_some() || one.generics.is_empty())
        }
    }
}

/// Goes past the words before a name, and says what they declare.
fn leading_words<'t>(reader: &mut Reader<'t>) -> (Sort, &'t str) {
    let text = |token: Option<&'t Token>| token.map_or("", |token| token.text.as_str());
    while BEFORE.contains(&reader.peek()) && !["", ":", "::", "."].contains(&text(reader.rest.get(1))) {
        reader.rest = &reader.rest[1..];
        if reader.rest.first().is_some_and(|token| token.before == Gap::None) {
            reader.group("(");
        }
    }
    // `const fn`, and `extern "C" fn`.
    let is_const = reader.peek() == "const" && ["fn", "unsafe"].contains(&text(reader.rest.get(1)));
    if is_const || reader.peek().starts_with('"') {
        reader.rest = &reader.rest[1..];
        reader.take(&["unsafe"]);
    }
    let word = reader.peek();
    let sort = match word {
        "fn" | "def" | "func" | "function" | "fun" | "sub" => Sort::Function,
        "class" | "struct" | "enum" | "trait" | "interface" | "type" | "union" | "record" => Sort::Type,
        "const" | "static" | "let" | "var" | "val" => Sort::Value,
        "mod" | "module" | "namespace" | "package" => Sort::Module,
        "impl" => Sort::Addition,
        _ => Sort::Unsaid,
    };
    // A function may be called `type` or `module`.
    let is_name = ["", "(", ":"].contains(&text(reader.rest.get(1))) && word != "func";
    if is_name || sort == Sort::Unsaid {
        return (Sort::Unsaid, word);
    }
    reader.rest = &reader.rest[1..];
    reader.take(&["*", "mut"]);
    if word == "func" {
        reader.group("(");
    }
    (sort, word)
}

fn of_type(mut declaration: Declaration, mut reader: Reader<'_>, word: &str) -> Declaration {
    if word == "class" || word == "trait" {
        return declaration;
    }
    if let Some(inner) = reader.group("(") {
        declaration.fields = Some(params(inner));
        return declaration;
    }
    reader.until(&["{"]);
    // Other languages part fields by lines, and a declaration of which only a line is known has no end.
    let is_record = ["struct", "enum", "union"].contains(&word) && closing(reader.rest).is_some();
    let inner = reader.group("{").filter(|inner| is_record && !(word == "struct" && has_methods(inner)));
    declaration.fields = inner.map(params);
    declaration
}

fn of_function(mut declaration: Declaration, mut reader: Reader<'_>) -> Option<Declaration> {
    let is_value = declaration.sort == Sort::Value;
    if reader.peek() != "(" {
        // A label before a signature: `Signature: f(a)`.
        if declaration.sort == Sort::Unsaid && reader.peek() == ":" && has_call(&reader.rest[1..]) {
            return read(&reader.rest[1..], declaration.names);
        }
        let after = reader.take(&[":", "->"]).then(|| reader.until(&["=", "{"]));
        declaration.result = after.filter(|of| !of.is_empty()).map(<[Token]>::to_vec);
        let begins = reader.take(&["="]) && is_value;
        while begins && reader.take(&["async", "function", "*"]) {}
        if !(begins && reader.peek() == "(" && closing(reader.rest).is_some()) {
            return Some(declaration).filter(|_| is_value || is_type(after.unwrap_or_default()));
        }
        declaration.result = None;
    }
    if closing(reader.rest).is_none() {
        return Some(declaration);
    }
    let inner = reader.group("(")?;
    if inner.iter().any(|token| is_value_token(&token.text))
        && declaration.sort == Sort::Unsaid
        && !inner.iter().any(|token| token.text == "=")
    {
        return None;
    }
    let all_open = matches!(inner, [only] if ["...", "..", "…"].contains(&only.text.as_str()));
    declaration.params = (!all_open).then(|| params(inner));
    reader.take(&["const", "noexcept", "override"]);
    if reader.take(&["->", ":"]) {
        let of = if reader.peek() == "{" {
            let end = closing(reader.rest).unwrap_or(reader.rest.len() - 1);
            &reader.rest[..=end]
        } else {
            reader.until(&["{", "where", ":", ";", "=", "=>", "-", "—", "–"])
        };
        declaration.result = Some(of.to_vec()).filter(|of| !of.is_empty() && of[0].text != "...");
        return Some(declaration);
    }
    if declaration.typed {
        let of = reader.until(&["{", "where", ";", "-", "—", "–"]);
        declaration.result = Some(of.to_vec()).filter(|of| !of.is_empty());
        return Some(declaration);
    }
    let ends = ["", "{", ":", ";", "=>", "=", "-", "—", "–", "where"].contains(&reader.peek());
    (declaration.sort != Sort::Unsaid || ends).then_some(declaration)
}

fn has_call(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| token.text == "(")
}

/// Whether these tokens can be a type. None is one that is not said.
fn is_type(tokens: &[Token]) -> bool {
    let mut words = tokens.windows(2).filter(|pair| pair[0].is_word() && pair[1].is_word());
    words.all(|pair| ["dyn", "impl", "mut"].contains(&pair[0].text.as_str()))
}

/// Whether a token is a value: a number, a text.
fn is_value_token(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '"') || ["==", "!="].contains(&text)
}

fn generic_names(inner: &[Token]) -> Vec<String> {
    let parts = split(inner, |token| token.text == ",");
    parts
        .iter()
        .filter_map(|part| part.iter().find(|token| token.is_word() && token.text != "const"))
        .map(|token| token.text.clone())
        .collect()
}
