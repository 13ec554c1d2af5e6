//! Large sources, made for tests of what is shown of them.

use std::fmt::Write;

use perspt_agent::context::{ContextFile, Focus};

const VERBS: [&str; 12] =
    ["load", "store", "check", "merge", "render", "parse", "send", "close", "count", "sort", "draw", "trace"];
const NOUNS: [&str; 14] = [
    "order", "invoice", "parcel", "ticket", "branch", "window", "socket", "ledger", "report", "widget",
    "canvas", "packet", "folder", "account",
];

/// The name of a function: no two are the same.
pub fn name(at: usize) -> String {
    format!(
        "{}_{}_{}",
        VERBS[at % VERBS.len()],
        NOUNS[at / VERBS.len() % NOUNS.len()],
        NOUNS[at / 168 % NOUNS.len()]
    )
}

/// A Python file of some 5,000 lines: classes of 20 methods, each with one body. The 300th method is the one that tasks are
/// about.
pub fn python() -> String {
    let mut out = String::from(
        "\"\"\"Everything about orders.\"\"\"\n\nimport os\nimport sys\nfrom decimal import Decimal\n\nLIMIT = 40\n",
    );
    for at in 0..400 {
        if at % 20 == 0 {
            write!(out, "\n\nclass Desk{at}:\n    \"\"\"Desk number {at}.\"\"\"\n\n    size = {at}\n")
                .unwrap();
        }
        if at == 300 {
            out.push_str("\n    def apply_member_discount(self, price):\n        \"\"\"Members pay less.\"\"\"\n        cents = price * 95\n        return cents // 100 + 1\n");
            continue;
        }
        let name = name(at);
        write!(out, "\n    def {name}(self, first, second=None):\n        \"\"\"Does number {at}.\"\"\"\n")
            .unwrap();
        for step in 0..8 {
            writeln!(out, "        value_{step} = self.helper(first, second, {at} + {step})").unwrap();
        }
        out.push_str("        return value_0\n");
    }
    out
}

/// The same in Rust.
pub fn rust() -> String {
    let mut out = String::from("//! Everything about orders.\n\nuse std::fmt;\n\nconst LIMIT: u32 = 40;\n");
    for at in 0..400 {
        if at % 20 == 0 {
            let close = if at == 0 { "" } else { "}\n" };
            write!(out, "{close}\n/// Desk number {at}.\npub struct Desk{at} {{\n    size: u32,\n}}\n\nimpl Desk{at} {{").unwrap();
        }
        if at == 300 {
            out.push_str("\n    /// Members pay less.\n    pub fn apply_member_discount(&self, price: u64) -> u64 {\n        let cents = price * 95;\n        cents / 100 + 1\n    }\n");
            continue;
        }
        let name = name(at);
        write!(out, "\n    /// Does number {at}.\n    pub fn {name}(&self, first: u32, second: Option<u32>) -> u32 {{\n").unwrap();
        for step in 0..7 {
            writeln!(out, "        let value_{step} = self.helper(first, second, {at} + {step});").unwrap();
        }
        out.push_str("        value_0\n    }\n");
    }
    out.push_str("}\n");
    out
}

/// The text of a function in one of these files.
pub fn function<'t>(text: &'t str, name: &str) -> &'t str {
    let at = text.find(&format!(" {name}(")).unwrap();
    let start = text[..at].rfind('\n').unwrap() + 1;
    let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end);
    &text[start..end]
}

/// The number of the line that a text begins in.
pub fn line_of(text: &str, part: &str) -> u32 {
    text[..text.find(part).unwrap()].matches('\n').count() as u32 + 1
}

pub fn named(names: &[&str]) -> Focus {
    Focus { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Focus::default() }
}

/// Checks that every region of a file is exactly the lines that its mark says, and that marks account for every line. Gives
/// the number of lines shown.
pub fn check_regions(file: &ContextFile, text: &str) -> u32 {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let shown: Vec<&str> = file.text.split_inclusive('\n').collect();
    let (mut next, mut seen) = (1, 0);
    let first = shown.iter().position(|line| line.starts_with("[line")).unwrap();
    let mut at = first;
    while at < shown.len() {
        let numbers: Vec<u32> =
            shown[at].split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        let span = |numbers: &[u32], one: bool| {
            if one { (numbers[0], numbers[0]) } else { (numbers[0], numbers[1]) }
        };
        let (begin, end) = span(&numbers, shown[at].starts_with("[line "));
        if shown[at].ends_with("not shown]\n") && !shown[at].contains(';') {
            assert_eq!((begin, end as usize), (next, lines.len()), "{}", shown[at]);
            return seen;
        }
        if begin > next {
            let skipped = if begin - 1 == next {
                format!("; line {next} not shown]")
            } else {
                format!("; lines {next}-{} not shown]", begin - 1)
            };
            assert!(shown[at].trim_end().ends_with(&skipped), "{} does not say {skipped}", shown[at]);
        }
        let region = (begin as usize - 1)..end as usize;
        assert_eq!(shown[at + 1..=at + region.len()].concat(), lines[region.clone()].concat());
        seen += end - begin + 1;
        (next, at) = (end + 1, at + 1 + region.len());
    }
    assert_eq!(next as usize, lines.len() + 1, "the last mark is missing");
    seen
}
