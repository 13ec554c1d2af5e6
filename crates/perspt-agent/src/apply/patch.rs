//! Unified diffs of one file. Only content decides where a hunk goes; a line number decides only between places that have
//! the same content. Counts are not looked at: models miscount.

use perspt_core::path::RelPath;

/// How much of a hunk or of the file a message shows.
const SHOWN: usize = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Keep,
    Remove,
    Add,
}

/// A line of a hunk, without its mark and its line end.
#[derive(Debug)]
struct HunkLine<'a> {
    sign: Sign,
    text: &'a str,
    /// Whether it is said to have no line end.
    is_open: bool,
}

#[derive(Debug)]
struct Hunk<'a> {
    number: usize,
    /// Where its header says that it begins, from 1.
    stated: Option<usize>,
    lines: Vec<HunkLine<'a>>,
}

impl Hunk<'_> {
    /// What stands in the file now.
    fn old(&self) -> Vec<&str> {
        self.lines.iter().filter(|line| line.sign != Sign::Add).map(|line| line.text).collect()
    }
}

/// Applies a diff to a file's text. The error names the hunk.
pub(super) fn patch_text(path: &RelPath, text: &str, patch: &str) -> Result<String, String> {
    let hunks = hunks(path, patch)?;
    let file: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = file.iter().map(|line| without_end(line)).collect();
    let mut out = Output { text: String::with_capacity(text.len()), ends: ends_of(&file) };
    let mut at = 0;
    for hunk in &hunks {
        let place = place(path, hunk, &bare, at)?;
        out.keep(&file[at..place]);
        at = place;
        for line in &hunk.lines {
            match line.sign {
                Sign::Keep => out.keep(&file[at..at + 1]),
                Sign::Add => out.add(line.text),
                Sign::Remove => {}
            }
            at += usize::from(line.sign != Sign::Add);
        }
        let last = hunk.lines.iter().rev().find(|line| line.sign != Sign::Remove);
        let is_said = hunk.lines.iter().any(|line| line.is_open);
        if at >= file.len() && last.is_some_and(|line| line.sign == Sign::Add) {
            out.close(last.is_some_and(|line| line.is_open) || (!is_said && is_open(&file)));
        }
    }
    out.keep(&file[at..]);
    Ok(out.text)
}

/// The new text, in the line ends of the old one.
struct Output {
    text: String,
    ends: &'static str,
}

impl Output {
    fn keep(&mut self, lines: &[&str]) {
        if !lines.is_empty() && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.ends);
        }
        self.text.extend(lines.iter().copied());
    }

    fn add(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.ends);
        }
        self.text.push_str(line);
        self.text.push_str(self.ends);
    }

    /// The end of a file whose last line is an added one.
    fn close(&mut self, is_open: bool) {
        if is_open {
            self.text.truncate(self.text.len() - self.ends.len());
        }
    }
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn ends_of(file: &[&str]) -> &'static str {
    let crlf = file.iter().filter(|line| line.ends_with("\r\n")).count();
    if crlf * 2 > file.len() { "\r\n" } else { "\n" }
}

/// Whether a file ends without a line end.
fn is_open(file: &[&str]) -> bool {
    file.last().is_some_and(|line| !line.ends_with('\n'))
}

fn hunks<'a>(path: &RelPath, patch: &'a str) -> Result<Vec<Hunk<'a>>, String> {
    let lines: Vec<&str> = patch.lines().collect();
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_head = |at: usize| {
            let starts = |at: usize, mark: &str| lines.get(at).is_some_and(|line| line.starts_with(mark));
            starts(at, "--- ") && starts(at + 1, "+++ ") && starts(at + 2, "@@")
        };
        if line.starts_with("@@") {
            hunks.push(Hunk { number: hunks.len() + 1, stated: stated(line), lines: vec![] });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        if is_head(at) || line.starts_with("diff --git ") {
            return Err(format!("the patch of `{path}` must be of that one file; it has more"));
        }
        let text = line.get(1..).unwrap_or("");
        let sign = match line.chars().next() {
            Some('+') => Sign::Add,
            Some('-') => Sign::Remove,
            // An empty line is a line of context whose space was lost.
            Some(' ') | None => Sign::Keep,
            Some('\\') => {
                hunk.lines.last_mut().into_iter().for_each(|last| last.is_open = true);
                continue;
            }
            Some(_) => {
                return Err(format!(
                    "hunk {} of the patch of `{path}`: a line begins with none of space, + and -: `{}`",
                    hunk.number,
                    shown(line)
                ));
            }
        };
        hunk.lines.push(HunkLine { sign, text: without_end(text), is_open: false });
    }
    for hunk in &mut hunks {
        // Empty lines at the end part it from the next one, or are context that it can do without.
        while hunk.lines.last().is_some_and(|line| line.sign == Sign::Keep && line.text.is_empty()) {
            hunk.lines.pop();
        }
    }
    if hunks.is_empty() || hunks.iter().any(|hunk| hunk.lines.is_empty()) {
        return Err(format!(
            "the patch of `{path}` has no hunk that can be read (a line `@@`, then lines that begin with space, + or -)"
        ));
    }
    Ok(hunks)
}

/// The line that a header such as `@@ -12,3 +12,4 @@` names; none where it names no line.
fn stated(header: &str) -> Option<usize> {
    let ranges = header.strip_prefix("@@ -")?;
    ranges.split([',', ' ']).next()?.parse().ok()
}

/// The line of the file at which a hunk applies, counted from 0 and not before `from`.
fn place(path: &RelPath, hunk: &Hunk<'_>, file: &[&str], from: usize) -> Result<usize, String> {
    let old = hunk.old();
    if old.is_empty() {
        return if file.is_empty() {
            Ok(0)
        } else {
            Err(format!(
                "hunk {} of the patch of `{path}` has no line of the file: it could go anywhere",
                hunk.number
            ))
        };
    }
    let places = find_all(&file[from..], &old);
    let exact = hunk.stated.and_then(|line| line.checked_sub(from + 1)).filter(|line| places.contains(line));
    match (places.as_slice(), exact) {
        ([one], _) => Ok(from + one),
        ([], _) => Err(missing(path, hunk, file, &old)),
        (_, Some(exact)) => Ok(from + exact),
        (many, None) => Err(format!(
            "hunk {} of the patch of `{path}` fits in {} places; give it more lines of context",
            hunk.number,
            many.len()
        )),
    }
}

/// Every place of some lines in others. Each line is compared a bounded number of times (Knuth, Morris and Pratt).
fn find_all(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut back = vec![0; wanted.len()];
    for at in 1..wanted.len() {
        let mut length: usize = back[at - 1];
        while length > 0 && wanted[at] != wanted[length] {
            length = back[length - 1];
        }
        back[at] = length + usize::from(wanted[at] == wanted[length]);
    }
    let (mut out, mut matched) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && (matched == wanted.len() || *line != wanted[matched]) {
            matched = back[matched - 1];
        }
        matched += usize::from(*line == wanted[matched]);
        if matched == wanted.len() {
            out.push(at + 1 - wanted.len());
        }
    }
    out
}

/// Says which lines a hunk wants and what the file has there.
fn missing(path: &RelPath, hunk: &Hunk<'_>, file: &[&str], old: &[&str]) -> String {
    let by_text = old.iter().enumerate().find_map(|(offset, line)| {
        let is_telling = !line.trim().is_empty();
        is_telling.then(|| file.iter().position(|other| other == line))?.map(|at| at.saturating_sub(offset))
    });
    let near = by_text.or(hunk.stated.map(|line| line.saturating_sub(1))).unwrap_or(0).min(file.len());
    let there = &file[near..file.len().min(near + old.len().min(12))];
    format!(
        "hunk {} of the patch of `{path}` does not apply: its context is not in the file:\n{}\nat line {} the file has:\n{}",
        hunk.number,
        shown(&old.join("\n")),
        near + 1,
        shown(&there.join("\n"))
    )
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(text: &str, patch: &str) -> Result<String, String> {
        patch_text(&RelPath::parse("a.py").unwrap(), text, patch)
    }

    const FILE: &str = "one\ntwo\nthree\ntwo\nfour\n";

    #[test]
    fn counts_and_line_numbers_of_a_header_may_be_wrong_or_missing() {
        for header in ["@@ -2,3 +2,3 @@", "@@ -90,1 +7,99 @@ fn x", "@@", "@@ @@", "@@ def f():"] {
            let patch = format!("--- a/a.py\n+++ b/a.py\n{header}\n one\n-two\n+2\n three\n");
            assert_eq!(patched(FILE, &patch).unwrap(), "one\n2\nthree\ntwo\nfour\n", "{header}");
        }
    }

    #[test]
    fn a_hunk_that_fits_twice_is_placed_by_its_exact_line_or_refused() {
        let at = |line: usize| patched(FILE, &format!("@@ -{line} +{line} @@\n-two\n+2\n"));
        assert_eq!(at(2).unwrap(), "one\n2\nthree\ntwo\nfour\n");
        assert_eq!(at(4).unwrap(), "one\ntwo\nthree\n2\nfour\n");
        assert!(at(3).unwrap_err().contains("fits in 2 places"));
        let both = "@@ -9 +9 @@\n one\n-two\n@@ -9 +9 @@\n-two\n+2\n";
        assert_eq!(patched(FILE, both).unwrap(), "one\nthree\n2\nfour\n");
    }

    #[test]
    fn changed_content_is_never_tolerated_and_the_message_shows_what_is_there() {
        for line in [" One", " one ", "  one"] {
            let fault = patched(FILE, &format!("@@\n{line}\n-two\n+2\n three\n")).unwrap_err();
            assert!(fault.contains("hunk 1 of the patch of `a.py`"), "{fault}");
            assert!(fault.contains("at line 1 the file has:\none\ntwo\nthree"), "{fault}");
        }
    }

    #[test]
    fn a_patch_without_a_hunk_or_of_two_files_is_refused() {
        for patch in ["", "--- a/a.py\n+++ b/a.py\n", "@@ -1 +1 @@\n", "-two\n+2\n"] {
            assert!(patched(FILE, patch).unwrap_err().contains("has no hunk"), "{patch}");
        }
        let two = "@@\n-two\n+2\n--- a/b\n+++ b/b\n@@\n-x\n+y\n";
        assert!(patched(FILE, two).unwrap_err().contains("one file"));
        assert!(patched(FILE, "@@\n+2\n").unwrap_err().contains("could go anywhere"));
        assert!(patched(FILE, "@@\none\n-two\n+2\n").unwrap_err().contains("none of space"));
    }

    #[test]
    fn line_ends_stay_as_the_file_has_them() {
        assert_eq!(patched("a\r\nb\r\n", "@@\n a\n-b\n+c\n+d\n").unwrap(), "a\r\nc\r\nd\r\n");
        assert_eq!(patched("a\nb", "@@\n a\n-b\n+c\n").unwrap(), "a\nc");
        assert_eq!(patched("a\nb", "@@\n a\n-b\n\\ No newline at end of file\n+c\n").unwrap(), "a\nc\n");
        assert_eq!(patched("a\nb\n", "@@\n a\n-b\n+c\n\\ No newline at end of file\n").unwrap(), "a\nc");
        assert_eq!(patched("a\nb", "@@\n b\n+c\n").unwrap(), "a\nb\nc");
        assert_eq!(patched("", "@@ -0,0 +1 @@\n+a\n").unwrap(), "a\n");
        assert_eq!(patched("a\nb\nc\n", "@@\n-b\n").unwrap(), "a\nc\n");
    }

    #[test]
    fn lost_spaces_of_empty_context_lines_are_forgiven() {
        assert_eq!(patched("a\n\nb\nc\n", "@@\n a\n\n-b\n+B\n\n").unwrap(), "a\n\nB\nc\n");
    }
}
