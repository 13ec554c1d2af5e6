//! Patterns of file names.

/// Whether one part of a path matches a pattern: `*` and `?`.
pub(crate) fn matches(pattern: &str, part: &str) -> bool {
    let (pattern, part): (Vec<char>, Vec<char>) = (pattern.chars().collect(), part.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < part.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == part[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Whether a path matches a pattern: `**` stands for any number of folders, `{a,b}` for either.
pub(crate) fn path_matches(pattern: &str, path: &str) -> bool {
    if let Some((before, rest)) = pattern.split_once('{')
        && let Some((inner, after)) = rest.split_once('}')
    {
        return inner.split(',').any(|one| path_matches(&format!("{before}{one}{after}"), path));
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts_match(&pattern, &path)
}

fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..])),
        ([first, rest @ ..], [part, below @ ..]) => matches(first, part) && parts_match(rest, below),
        ([_, ..], []) | ([], [_, ..]) => false,
    }
}
