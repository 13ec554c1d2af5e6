//! What a model asks to see is served from the tree, within a budget, or refused with a reason.

use perspt_agent::context::{ContextBudget, Reply, serve};
use perspt_core::context::ContextRequest;
use perspt_model::estimate_tokens;
use perspt_policy::mask::Masks;

use crate::context_sources::{function, line_of, python};
use crate::support::Memory;

fn read(path: &str, lines: Option<(u32, u32)>) -> ContextRequest {
    ContextRequest::Read { path: path.to_owned(), lines }
}

fn search(query: &str) -> ContextRequest {
    ContextRequest::Search { query: query.to_owned() }
}

fn symbol(symbol: &str) -> ContextRequest {
    ContextRequest::Symbol { symbol: symbol.to_owned() }
}

fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

fn tree() -> Memory {
    let config = format!("HOST = 'h'\nTOKEN = '{}'\n", token());
    Memory::new(&[
        (".env", "DISCOUNT=hidden\n"),
        ("config.py", &config),
        ("desk.py", &python()),
        ("notes.md", "# Discounts\nmembers pay less\n"),
        (
            "src/a.rs",
            "impl Cart {\n    /// The sum.\n    fn total(&self) -> u32 { 1 }\n}\nimpl Bag {\n    fn total(&self) -> u32 { 2 }\n}\n",
        ),
    ])
}

fn one(request: ContextRequest, tokens: u64) -> Reply {
    let served =
        serve(std::slice::from_ref(&request), &tree(), ContextBudget { tokens, files: 5 }, &Masks::default());
    assert_eq!((served.len(), &served[0].request), (1, &request));
    served.into_iter().next().unwrap().reply
}

fn text(request: ContextRequest, most: u64) -> String {
    match one(request, most) {
        Reply::Shown { text, tokens, .. } => {
            assert!(tokens == estimate_tokens(&text) && tokens <= most, "{tokens} of {most}");
            text
        }
        Reply::Refused { why } => panic!("{why}"),
    }
}

fn refusal(request: ContextRequest) -> String {
    match one(request, 4_000) {
        Reply::Shown { text, .. } => panic!("{text}"),
        Reply::Refused { why } => why,
    }
}

#[test]
fn a_file_is_shown_whole_or_by_lines() {
    assert_eq!(
        text(read("notes.md", None), 100),
        "[notes.md, all of its 2 lines]\n# Discounts\nmembers pay less\n"
    );
    assert_eq!(
        text(read("src/../src/a.rs", Some((3, 3))), 100),
        "[src/a.rs]\n[line 3 of 7; lines 1-2 not shown]\n    fn total(&self) -> u32 { 1 }\n[lines 4-7 of 7 not shown]\n"
    );
}

#[test]
fn lines_that_do_not_fit_are_left_out_and_the_mark_says_which() {
    let lines = text(read("desk.py", Some((100, 4000))), 600);
    assert!(
        lines.starts_with("[desk.py]\n[lines 100-1") && lines.contains("; lines 1-99 not shown]\n"),
        "{lines}"
    );
    assert!(lines.contains(" of 4920 not shown]\n"), "{lines}");
    let whole: Vec<&str> = lines.lines().collect();
    let python = python();
    let first = python.lines().nth(99).unwrap();
    assert_eq!(whole[2], first);
}

#[test]
fn a_file_that_is_too_large_gives_its_outline() {
    let outline = text(read("desk.py", None), 900);
    assert!(
        outline.starts_with("[desk.py has ") && outline.contains("\n[outline of 4920 lines"),
        "{outline}"
    );
    assert!(outline.contains("class Desk200") || outline.contains("Desk200"), "{outline}");
}

#[test]
fn what_lies_outside_is_secret_or_is_not_there_is_refused_with_a_reason() {
    assert!(refusal(read("/etc/passwd", None)).contains("absolute"));
    assert!(refusal(read("../other/a.py", None)).contains("outside the workspace"));
    assert!(refusal(read(".env", None)).contains("may hold secrets"));
    assert!(refusal(read("src/../.env", Some((1, 1)))).contains("may hold secrets"));
    assert!(refusal(read("gone.py", None)).contains("no file gone.py"));
    assert!(refusal(read("notes.md", Some((3, 9)))).contains("the lines 1 to 2"));
    assert!(refusal(read("notes.md", Some((2, 1)))).contains("the lines 1 to 2"));
    assert!(refusal(read("notes.md", Some((0, 1)))).contains("the lines 1 to 2"));
    assert!(refusal(search("a")).contains("at least 2 characters"));
    assert!(refusal(symbol(" ")).contains("has a name"));
}

#[test]
fn a_search_names_places_in_whatever_case_and_never_secret_ones() {
    let found = text(search("DISCOUNT"), 1_000);
    let line = line_of(&python(), "    def apply_member_discount");
    assert_eq!(
        found,
        format!(
            "[`DISCOUNT` stands in 2 lines]\ndesk.py:{line}: def apply_member_discount(self, price):\nnotes.md:1: # Discounts\n"
        )
    );
    assert_eq!(text(search(&token()), 1_000), format!("[`{}` stands in no file]\n", token()));
    assert_eq!(text(search("a1B2c3D4"), 1_000), "[`a1B2c3D4` stands in no file]\n");
    assert!(!text(search("TOKEN ="), 1_000).contains("a1B2"));
}

#[test]
fn a_search_with_many_places_says_how_many_it_leaves_out() {
    let found = text(search("value_0"), 4_000);
    assert!(found.starts_with("[`value_0` stands in 798 lines; 758 of them are not shown]\n"), "{found}");
    assert_eq!(found.lines().count(), 41);
    let few = text(search("value_0"), 200);
    assert!(few.lines().count() < 12 && few.contains("of them are not shown"), "{few}");
}

#[test]
fn a_symbol_gives_its_definition() {
    let python = python();
    let found = text(symbol("apply_member_discount"), 1_000);
    assert!(
        found.contains(function(&python, "apply_member_discount")) && found.starts_with("[desk.py lines "),
        "{found}"
    );
    let both = text(symbol("total"), 1_000);
    assert!(both.contains("{ 1 }") && both.contains("{ 2 }"), "{both}");
    for name in ["Bag::total", "Bag.total"] {
        assert_eq!(text(symbol(name), 1_000), "[src/a.rs lines 6-6]\n    fn total(&self) -> u32 { 2 }\n");
    }
}

#[test]
fn a_symbol_that_nothing_defines_gives_the_places_it_stands_at() {
    let found = text(symbol("cents"), 1_000);
    assert!(
        found.starts_with("[no definition of `cents` is known; it stands in 2 lines]\ndesk.py:"),
        "{found}"
    );
    assert_eq!(text(symbol("nowhere"), 1_000), "[nothing defines `nowhere`, and it stands nowhere]\n");
}

#[test]
fn a_definition_that_does_not_fit_is_named() {
    let found = text(symbol("Desk200"), 300);
    assert!(found.starts_with("[not shown for want of room: desk.py lines "), "{found}");
}

#[test]
fn requests_share_the_budget_and_only_some_are_served() {
    let requests: Vec<ContextRequest> = (0..7).map(|_| read("desk.py", Some((1, 4000)))).collect();
    let budget = ContextBudget { tokens: 3_000, files: 5 };
    let served = serve(&requests, &tree(), budget, &Masks::default());
    let costs: Vec<Option<u64>> = served
        .iter()
        .map(|served| match &served.reply {
            Reply::Shown { tokens, .. } => Some(*tokens),
            Reply::Refused { .. } => None,
        })
        .collect();
    assert!(costs[..5].iter().all(|cost| cost.is_some_and(|cost| cost > 400)), "{costs:?}");
    assert_eq!(costs[5..], [None, None]);
    assert!(costs.iter().flatten().sum::<u64>() <= 3_000);
    assert_eq!(served, serve(&requests, &tree(), budget, &Masks::default()));
}
