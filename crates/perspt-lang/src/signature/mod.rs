//! Signatures that a plan promises, and whether a tree declares them. A promise and a declaration are read by the same
//! rules, over tokens, whatever their language: layout, comments, visibility and the words a language puts before a name
//! do not matter. A promise says the least: what it leaves out is not compared.

mod compare;
mod declaration;
mod foreign;
mod params;
mod reader;
mod tokens;
mod types;

use perspt_core::path::RelPath;

use crate::shared::mentions::has_word;
use crate::syntax::{OutlineItem, outline};
use declaration::{Declaration, Sort};

/// One promised signature.
#[derive(Debug, Clone)]
pub struct Promised {
    /// As the plan says it, in one line.
    pub text: String,
    /// `None` where it is not a signature.
    declaration: Option<Declaration>,
}

/// What became of a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fulfilled {
    /// It is declared so.
    Yes,
    /// Nothing of this name is there.
    Missing,
    /// It is declared otherwise.
    Otherwise {
        /// Which of the sources.
        source: usize,
        /// The line of the declaration.
        line: u32,
        /// What is declared there, in one line.
        declared: String,
        /// What of it differs.
        how: String,
    },
    /// It cannot be compared, and why.
    Unclear(String),
}

/// The signatures that a text promises: one a line, or with `;` or `,` between them.
pub fn promised(text: &str) -> Vec<Promised> {
    let mut found = Vec::new();
    for line in tokens::pieces(text) {
        found.push(Promised { text: line.text.clone(), declaration: declaration::of_promise(&line.tokens) });
    }
    found
}

impl Promised {
    /// Whether it can be read as a signature.
    pub fn is_signature(&self) -> bool {
        self.declaration.is_some()
    }

    /// The name that it promises; empty where it is no signature.
    pub fn name(&self) -> &str {
        self.declaration.as_ref().map_or("", Declaration::name)
    }

    /// Whether these sources fulfil it. The first ones are those that should.
    pub fn is_in(&self, sources: &[(&RelPath, &str)]) -> Fulfilled {
        let Some(promise) = &self.declaration else {
            return Fulfilled::Unclear("it is not written as a signature".to_owned());
        };
        let name = promise.name();
        let mut otherwise = None;
        let mut named = false;
        let mut unlike = false;
        for (source, (path, text)) in sources.iter().enumerate() {
            named = named || has_word(text, name) || stem(path) == name;
            if !has_word(text, name) {
                continue;
            }
            for item in outline(path, text).iter().filter(|item| item.name == name) {
                let Some(declared) = declaration::of_item(&item.declaration, path) else { continue };
                match compare::compare(promise, &declared, item) {
                    compare::Match::Fits => return Fulfilled::Yes,
                    // How another language says it is no fault of the code.
                    compare::Match::Differs(_) if foreign::is_foreign(promise, path) => unlike = true,
                    compare::Match::Differs(how) => {
                        otherwise.get_or_insert_with(|| differs(source, item, how));
                    }
                    compare::Match::Incomparable => unlike = true,
                    compare::Match::Another => {}
                }
            }
        }
        if unlike {
            return Fulfilled::Unclear(format!("`{name}` is there, in a form that cannot be compared"));
        }
        let is_foreign = |(path, _): &(&RelPath, &str)| foreign::is_foreign(promise, path);
        if otherwise.is_none() && !sources.is_empty() && sources.iter().all(is_foreign) {
            return Fulfilled::Unclear(format!("`{name}` is promised as another language writes it"));
        }
        otherwise.unwrap_or_else(|| not_declared(promise, named))
    }
}

fn differs(source: usize, item: &OutlineItem, how: String) -> Fulfilled {
    Fulfilled::Otherwise { source, line: item.declared_at, declared: item.signature.clone(), how }
}

/// A macro, an import or a decorator may declare what is only named. A plain word may as well be prose.
fn not_declared(promise: &Declaration, named: bool) -> Fulfilled {
    let name = promise.name();
    let is_bare = promise.sort == Sort::Unsaid && promise.params.is_none();
    match named {
        true if is_bare => Fulfilled::Yes,
        true => {
            Fulfilled::Unclear(format!("`{name}` is named, and declared in no form that can be compared"))
        }
        false if is_bare && promise.path.len() == 1 && !looks_like_code(name) => {
            Fulfilled::Unclear(format!("nothing is called `{name}`, and it may be prose"))
        }
        false => Fulfilled::Missing,
    }
}

fn looks_like_code(name: &str) -> bool {
    let inner = name.chars().skip(1);
    let small = name.chars().any(char::is_lowercase);
    name.contains(['_', '$']) || (small && inner.into_iter().any(char::is_uppercase))
}

fn stem(path: &RelPath) -> &str {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}
