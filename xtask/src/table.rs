//! Tables in markdown: the rows of every table of a page, as cells.

/// The rows whose first cell is not a heading or a rule. A `\|` inside a cell stands for the bar itself.
pub fn rows(page: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = page.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('|') || is_rule(line) || lines.peek().is_some_and(|next| is_rule(next)) {
            continue;
        }
        rows.push(cells(line));
    }
    rows
}

fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in line.trim_start_matches('|').chars() {
        match (c, escaped) {
            ('\\', false) => escaped = true,
            ('|', false) => cells.push(String::new()),
            _ => {
                if let Some(cell) = cells.last_mut() {
                    if escaped && c != '|' {
                        cell.push('\\');
                    }
                    cell.push(c);
                }
                escaped = false;
            }
        }
    }
    if cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The words that stand between backticks.
pub fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::{quoted, rows};

    #[test]
    fn headings_and_rules_are_no_rows_and_an_escaped_bar_belongs_to_its_cell() {
        let page = "text | no row\n\n| id | by |\n|---|:--|\n| A-1 | `x::y`, `z` |\n| a \\| b | ? |\n";
        let found = rows(page);
        assert_eq!(found, [["A-1", "`x::y`, `z`"], ["a | b", "?"]]);
        assert_eq!(quoted(&found[0][1]), ["x::y", "z"]);
        assert_eq!(quoted(&found[1][1]), Vec::<&str>::new());
    }
}
