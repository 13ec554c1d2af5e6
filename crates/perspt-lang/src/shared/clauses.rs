//! A text cut into clauses: what stands in one is said together.

/// Words a line ends with whose sentence goes on in the next one.
const GOES_ON: [&str; 10] = ["or", "and", "nor", "the", "not", "never", "touch", "change", "edit", "modify"];

/// A line this long was broken for its length.
const WRAPPED: usize = 60;

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 4] = ["e.g", "i.e", "etc", "incl"];

/// The clauses of a text. Points of a list are read with the line that opens the list.
pub(crate) fn clauses(text: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let (mut open, mut heading) = (String::new(), String::new());
    for line in text.lines().map(str::trim) {
        let point =
            line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['-', '*', '•', '.', ')']);
        match point.filter(|rest| rest.starts_with(' ')) {
            Some(point) => {
                let above = std::mem::take(&mut open);
                if above.ends_with(':') {
                    heading.clone_from(&above);
                }
                push_parts(&above, &mut clauses);
                push_parts(&format!("{heading} {point}"), &mut clauses);
            }
            None if line.is_empty() && open.ends_with(':') => {}
            None => {
                if !goes_on(&open) || line.is_empty() {
                    push_parts(&std::mem::take(&mut open), &mut clauses);
                }
                open.push(' ');
                open.push_str(line);
                heading.clear();
            }
        }
    }
    push_parts(&open, &mut clauses);
    clauses
}

/// Whether the sentence that a line ends with goes on in the next line.
fn goes_on(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or("");
    let ended = line.ends_with(['.', ';', '!', '?']);
    line.ends_with([',', ':']) || GOES_ON.contains(&last) || (line.len() >= WRAPPED && !ended)
}

/// Cuts at the ends of sentences and before `but` and `and then`. A dot inside a word is a file's.
fn push_parts(text: &str, clauses: &mut Vec<String>) {
    let mut part = String::new();
    for word in text.split_whitespace() {
        let then = word == "then" && part.ends_with(" and");
        if word == "but" || then {
            clauses.push(std::mem::take(&mut part));
        }
        part.push_str(if part.is_empty() { "" } else { " " });
        part.push_str(word);
        let stops = word.trim_end_matches(['"', '\'', '`', ')']);
        let abbreviated = ABBREVIATIONS.iter().any(|short| stops.trim_end_matches('.').ends_with(short));
        if stops.ends_with([';', '!', '?']) || (stops.ends_with('.') && !abbreviated) {
            clauses.push(std::mem::take(&mut part));
        }
    }
    clauses.push(part);
}
