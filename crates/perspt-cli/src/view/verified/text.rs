//! The report for people: what counts, file by file, then one line with the whole.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::residual::Severity;

use super::Report;
use super::report::{Counted, FindingReport, StageEnd, Verified};
use crate::out::{self, plain, value};

/// The most findings that are shown one by one.
const SHOWN: usize = 30;
/// The most lines of a finding's own words.
const WORDS: usize = 6;

pub fn print(report: &Report) {
    let roots: std::collections::BTreeSet<_> = report.stages.iter().map(|stage| &stage.root).collect();
    for stage in report.stages.iter().filter(|stage| stage.result == StageEnd::NotRun) {
        let root =
            if roots.len() > 1 { format!(" root={}", value(stage.root.shown())) } else { String::new() };
        let why = value(stage.why.as_deref().unwrap_or_default());
        out::line(&format!("STAGE {}=not-run{root} why={why}", stage.tool.replace(' ', "-")));
    }
    let mut files: BTreeMap<Option<&RelPath>, Vec<&FindingReport>> = BTreeMap::new();
    for finding in report.counted().take(SHOWN) {
        files.entry(finding.file.as_ref()).or_default().push(finding);
    }
    for (file, mut findings) in files {
        out::line(&format!("\n{}", plain(file.map_or("in no file", |file| file.as_str()))));
        findings.sort_by_key(|finding| (finding.line, finding.column));
        findings.into_iter().for_each(show);
    }
    print_rest(report);
    for missing in &report.missing {
        let (root, missing) = (missing.root.shown(), &missing.missing);
        out::line(&format!("MISSING tool={} root={}", value(&missing.tool), value(root)));
        out::line(&format!("  why: {}", plain(&missing.why)));
        out::line(&format!("  do:  {}", plain(&missing.install)));
    }
    if report.result == Verified::Clean
        && let Some(note) = unproved(&report.evidence)
    {
        out::line(&note);
    }
    out::line(&last(report));
}

/// A clean result says nothing of files that no known tool has read.
fn unproved(evidence: &BTreeMap<&'static str, u32>) -> Option<String> {
    let files = evidence.get("none").filter(|files| **files > 0)?;
    Some(format!("note: it is not known whether anything looks at {files} of the files of code"))
}

/// One finding: its place and cause, then the tool's own words.
fn show(finding: &FindingReport) {
    let place = match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{line}:{column} "),
        (Some(line), None) => format!("{line} "),
        (None, _) => String::new(),
    };
    // Most messages of tests say which one it is.
    let named = finding.symbol.as_ref().filter(|symbol| !finding.message.contains(symbol.as_str()));
    let symbol = named.map(|symbol| format!(" {}", plain(symbol))).unwrap_or_default();
    let mut lines = finding.message.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    out::line(&format!("  {place}{}{symbol}: {}", finding.class, plain(first)));
    let all: Vec<&str> = lines.collect();
    all.iter().take(WORDS).for_each(|line| out::line(&format!("      {}", plain(line))));
    last_words(finding).iter().for_each(|line| out::line(&format!("      {}", plain(line))));
    if let Some(hint) = &finding.hint {
        out::line(&format!("      hint: {}", plain(hint)));
    }
}

/// Where a finding has no place and one line, the end of what the tool printed is all that says why.
fn last_words(finding: &FindingReport) -> Vec<&str> {
    if finding.file.is_some() || finding.message.lines().count() > 1 {
        return Vec::new();
    }
    let is_new = |line: &&str| !line.trim().is_empty() && !finding.message.contains(line.trim());
    let lines: Vec<&str> = finding.evidence.lines().filter(is_new).collect();
    lines[lines.len().saturating_sub(WORDS)..].to_vec()
}

/// How much more there is that was not shown.
fn print_rest(report: &Report) {
    let more = report.counted().count().saturating_sub(SHOWN);
    let count = |is: &dyn Fn(&FindingReport) -> bool| report.findings.iter().filter(|one| is(one)).count();
    let warnings = count(&|one| one.counted == Counted::Shown && one.severity != Severity::Note);
    let old = count(&|one| one.counted == Counted::Old);
    let mut rest = Vec::new();
    rest.extend((more > 0).then(|| format!("{more} more findings that count")));
    rest.extend((warnings > 0).then(|| format!("{warnings} that are shown and never counted")));
    let since = report.since.as_ref().map_or("", |since| since.revision.as_str());
    rest.extend((old > 0).then(|| format!("{old} that {} has too", plain(since))));
    if report.counted().next().is_some() || !rest.is_empty() {
        out::line("");
    }
    if !rest.is_empty() {
        out::line(&format!("not listed: {} (`--json` has them)", rest.join(", ")));
    }
}

/// The last line.
fn last(report: &Report) -> String {
    let result = match report.result {
        Verified::Clean => "clean",
        Verified::Red => "red",
        Verified::NotMeasured => "not-measured",
        Verified::Interrupted => "interrupted",
        Verified::Unusable => "unusable",
        Verified::InternalError => "internal-error",
    };
    let mut fields = vec![format!("VERIFIED result={result} exit={}", report.exit_code)];
    if let Some(energy) = &report.energy {
        let unknown = if energy.unmeasured > 0 { "+unknown" } else { "" };
        fields.push(format!("findings={}", report.counted().count()));
        fields.push(format!("energy={}{unknown} threshold={}", energy.total, report.threshold));
    }
    let evidence: Vec<String> =
        report.evidence.iter().map(|(grade, files)| format!("{grade}:{files}")).collect();
    fields.extend((!evidence.is_empty()).then(|| format!("evidence={}", evidence.join(","))));
    fields.extend(report.since.as_ref().map(|since| format!("since={}", value(&since.revision))));
    fields.push(format!("time={}.{}s", report.ms / 1000, report.ms % 1000 / 100));
    fields.join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::view::verified::failed_command;

    #[test]
    fn a_failed_command_is_shown_with_the_end_of_what_it_printed() {
        let nowhere = failed_command(RelPath::root(), None);
        assert_eq!(last_words(&nowhere), ["DATABASE_URL is not set"]);
        let placed = failed_command(RelPath::root(), Some(RelPath::parse("a.c").unwrap()));
        assert!(last_words(&placed).is_empty());
    }

    #[test]
    fn a_clean_result_says_of_how_many_files_nothing_is_known() {
        let note = unproved(&BTreeMap::from([("none", 2), ("tests", 1)]));
        assert_eq!(note.unwrap(), "note: it is not known whether anything looks at 2 of the files of code");
        assert_eq!(unproved(&BTreeMap::from([("tests", 3)])), None);
    }
}
