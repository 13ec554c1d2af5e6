//! `todo!` and `unimplemented!`.

use super::lexer::{Kind, lex};

const MACROS: [&str; 2] = ["todo", "unimplemented"];

/// The stubs of a source text, each with the function it stands in. Texts and comments do not count.
pub(crate) fn find(text: &str) -> Vec<String> {
    let mut stubs = Vec::new();
    let mut function = "";
    for pair in lex(text).windows(2) {
        let (token, next) = (pair[0], pair[1]);
        match token.text {
            "fn" if next.kind == Kind::Name => function = next.text,
            name if token.kind == Kind::Name && MACROS.contains(&name) && next.text == "!" => {
                stubs.push(format!("`{name}!` in `{function}`"));
            }
            _ => {}
        }
    }
    stubs
}
