//! Whether what a test demanded still stands in its new text.

/// Whether every statement of a test's tokens stands in the new ones, in the same order: assertions as they were, all
/// else with nothing taken out, so that a table of cases may grow.
pub fn stands_in(before: &str, after: &str) -> bool {
    let (before, after) = (statements(before), statements(after));
    let mut rest = after.iter();
    before.iter().all(|old| rest.any(|new| if asserts(old) { new == old } else { is_within(old, new) }))
}

/// Whether two texts of a test have the same numbers and strings in them, those aside of which the task speaks.
pub fn same_values(task: &str, before: &str, after: &str) -> bool {
    let task = task.to_lowercase();
    let of = |tokens: &str| -> Vec<String> {
        let is_value =
            |token: &&str| token.starts_with(|c: char| c.is_ascii_digit()) || token.ends_with(['"', '\'']);
        let named = |token: &str| {
            let mut words = token.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
            words.any(|word| task.contains(&word.to_lowercase()))
        };
        let tokens = tokens.split(['\u{1}', '\u{2}']).filter(is_value);
        tokens.filter(|token| !named(token)).map(str::to_owned).collect()
    };
    of(before) == of(after)
}

/// The statements of a test: `\u{2}` parts the lines of a language of lines, brackets and semicolons those of the other.
fn statements(tokens: &str) -> Vec<Vec<&str>> {
    let mut statements = vec![Vec::new()];
    for line in tokens.split('\u{2}') {
        for token in line.split('\u{1}').filter(|token| !token.is_empty()) {
            match token {
                ";" | "{" | "}" => statements.push(Vec::new()),
                _ => statements.last_mut().into_iter().for_each(|last| last.push(token)),
            }
        }
        statements.push(Vec::new());
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

fn asserts(statement: &[&str]) -> bool {
    statement.iter().any(|token| token.contains("assert"))
}

/// Whether all tokens of one statement are in the other, in their order.
fn is_within(old: &[&str], new: &[&str]) -> bool {
    let mut rest = new.iter();
    old.iter().all(|token| rest.any(|other| other == token))
}

#[cfg(test)]
mod tests {
    use super::{same_values, stands_in};

    fn tokens(text: &str) -> String {
        text.replace(" / ", "\u{2}").replace(' ', "\u{1}")
    }

    fn stands(before: &str, after: &str) -> bool {
        stands_in(&tokens(before), &tokens(after))
    }

    #[test]
    fn more_may_be_demanded_and_nothing_less() {
        let python = "def test_a ( ) : / x = f ( 2 ) / assert x == 2";
        assert!(stands(python, "def test_a ( ) : / x = f ( 2 ) / assert f ( 0 ) == 0 / assert x == 2"));
        assert!(!stands(python, "def test_a ( ) : / x = f ( 2 ) / assert f ( 0 ) == 0"));
        assert!(!stands(python, "def test_a ( ) : / x = 2 / assert x == 2"));
        assert!(!stands(python, "def test_a ( ) : / x = f ( 2 ) / assert x == 2 or y"));
        assert!(!stands(python, "def test_a ( ) : / assert x == 2 / x = f ( 2 )"));
        let rust = "fn a ( ) { assert_eq ! ( f ( 2 ) , 2 ) ; assert ! ( g ( ) ) ; }";
        assert!(stands(
            rust,
            "fn a ( ) { assert_eq ! ( f ( 2 ) , 2 ) ; assert_eq ! ( f ( 0 ) , 0 ) ; assert ! ( g ( ) ) ; }"
        ));
        assert!(!stands(rust, "fn a ( ) { assert_eq ! ( f ( 0 ) , 0 ) ; assert ! ( g ( ) ) ; }"));
    }

    #[test]
    fn a_name_may_change_and_values_stay() {
        let same =
            |before: &str, after: &str| same_values("rename low to least", &tokens(before), &tokens(after));
        let before = "assert low ( [ 3 , 1 ] , \"low\" ) == 1 / assert low ( \"x\" )";
        assert!(same(before, "assert least ( [ 3 , 1 ] , \"least\" ) == 1 / assert least ( \"x\" )"));
        assert!(!same(before, "assert least ( [ 1 , 1 ] , \"least\" ) == 1 / assert least ( \"x\" )"));
        assert!(!same(before, "assert least ( [ 3 , 1 ] , \"least\" ) == 1 / assert least ( \"y\" )"));
    }

    #[test]
    fn a_table_of_cases_may_grow_and_not_shrink() {
        let table = "for a , b in [ ( 1 , 2 ) , ( 3 , 4 ) ] : / assert f ( a ) == b";
        assert!(stands(table, "for a , b in [ ( 1 , 2 ) , ( 3 , 4 ) , ( 5 , 6 ) ] : / assert f ( a ) == b"));
        assert!(!stands(table, "for a , b in [ ( 1 , 2 ) ] : / assert f ( a ) == b"));
    }
}
