//! Placeholders of secrets in answers.

use perspt_agent::apply::{Applied, removed_secrets, restore_secrets};
use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::tree::EntryKind;
use perspt_policy::mask::Masks;
use serde_json::{Value, json};

use crate::support::{Memory, path};

fn token(end: &str) -> String {
    format!("ghp_{}{end}", "a1B2c3D4e5F6".repeat(3))
}

fn config() -> String {
    format!("HOST = 'h'\nTOKEN = '{}'\nPORT = 1\n", token("x"))
}

fn shown(text: &str) -> String {
    Masks::default().masked(text)
}

fn bundle(artifacts: Value) -> Bundle {
    serde_json::from_value(json!({"artifacts": artifacts})).unwrap()
}

fn restored(files: &[(&str, &str)], artifacts: Value) -> Result<Vec<Artifact>, Vec<String>> {
    restore_secrets(&bundle(artifacts), &Memory::new(files), &Masks::default()).map(|bundle| bundle.artifacts)
}

/// The faults of an answer that leaves these texts.
fn missed(base: &str, branch: &str, artifacts: Value, now: &[(&str, &str)]) -> Vec<String> {
    let written = |(name, text): &(&str, &str)| (path(name), Some((EntryKind::File, (*text).to_owned())));
    let applied = Applied { files: now.iter().map(written).collect(), moved: vec![] };
    let (files, base) = (Memory::new(&[("c.py", branch)]), Memory::new(&[("c.py", base)]));
    removed_secrets(&bundle(artifacts), &applied, &files, &base, &Masks::default())
}

#[test]
fn placeholders_are_put_back_in_every_kind_of_change() {
    let text = config();
    let veiled = shown(&text);
    let line = veiled.lines().nth(1).unwrap();
    let own = text.lines().nth(1).unwrap();
    assert_ne!(line, own);
    let artifacts = json!([
        {"operation": "write", "path": "c.py", "content": veiled.replace("PORT = 1", "PORT = 2")},
        {"operation": "edit", "path": "c.py", "find": line, "replace": format!("{line} # here")},
        {"operation": "diff", "path": "c.py", "patch": format!("@@ -2,2 +2,2 @@\n {line}\n-PORT = 1\n+PORT = 2\n")},
    ]);
    let out = restored(&[("c.py", &text)], artifacts).unwrap();
    assert_eq!(out, bundle(json!([
        {"operation": "write", "path": "c.py", "content": text.replace("PORT = 1", "PORT = 2")},
        {"operation": "edit", "path": "c.py", "find": own, "replace": format!("{own} # here")},
        {"operation": "diff", "path": "c.py", "patch": format!("@@ -2,2 +2,2 @@\n {own}\n-PORT = 1\n+PORT = 2\n")},
    ])).artifacts);
}

#[test]
fn a_secret_of_many_lines_keeps_the_marks_of_a_patch() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    let text = format!("{begin}\n{line}\n{line}\n{end}\n");
    let veiled = shown(&text);
    assert_eq!(veiled.lines().count(), 3);
    let name = veiled.lines().nth(1).unwrap();
    let patch = format!("@@ -1,3 +1,3 @@\n {begin}\n-{name}\n+new\n {end}\n");
    let out = restored(&[("k.txt", &text)], json!([{"operation": "diff", "path": "k.txt", "patch": patch}]));
    let Artifact::Diff { patch, .. } = &out.unwrap()[0] else { panic!("a diff") };
    assert_eq!(patch, &format!("@@ -1,3 +1,3 @@\n {begin}\n-{line}\n-{line}\n+new\n {end}\n"));
}

#[test]
fn a_bundle_without_placeholders_stays_as_it_is() {
    let artifacts = json!([
        {"operation": "write", "path": "a.py", "content": "x = '<perspt-secret>'\n"},
        {"operation": "edit", "path": "a.py", "find": "a", "replace": "b"},
    ]);
    assert_eq!(restored(&[("a.py", "a\n")], artifacts.clone()).unwrap(), bundle(artifacts).artifacts);
}

#[test]
fn a_secret_may_move_to_another_file_of_the_same_answer() {
    let text = config();
    let line = shown(&text).lines().nth(1).unwrap().to_owned();
    let artifacts = json!([
        {"operation": "edit", "path": "c.py", "find": line, "replace": ""},
        {"operation": "write", "path": "new.py", "content": format!("{line}\n")},
    ]);
    let out = restored(&[("c.py", &text)], artifacts).unwrap();
    assert!(matches!(&out[1], Artifact::Write { content, .. } if content.contains(&token("x"))), "{out:?}");
}

#[test]
fn a_placeholder_that_stands_for_nothing_is_refused_unless_the_file_has_that_text() {
    let artifacts = json!([{"operation": "write", "path": "a.md", "content": "a <perspt-secret-0123> b\n"}]);
    let faults = restored(&[("a.md", "old\n")], artifacts.clone()).unwrap_err();
    assert_eq!(faults, ["artifact 1: `<perspt-secret-0123>` stands for nothing in the files of this answer"]);
    assert!(restored(&[("a.md", "see <perspt-secret-0123>\n")], artifacts).is_ok());
}

#[test]
fn a_whole_write_that_loses_a_secret_is_refused_and_names_its_placeholder() {
    let text = config();
    let write = json!([{"operation": "write", "path": "c.py", "content": ""}]);
    let name = shown(&text).split('\'').nth(3).unwrap().to_owned();
    let faults = missed(&text, &text, write.clone(), &[("c.py", "HOST = 'h'\nTOKEN = ''\n")]);
    assert!(faults.len() == 1 && faults[0].contains(&name) && !faults[0].contains("ghp_"), "{faults:?}");
    assert_eq!(missed(&text, &text, write.clone(), &[("c.py", &text)]), [""; 0]);
    let moved = [("c.py", ""), ("d.py", text.as_str())];
    assert_eq!(missed(&text, &text, write, &moved), [""; 0], "it stands elsewhere");
}

#[test]
fn an_edit_may_take_a_secret_out_and_what_an_answer_made_up_need_not_stay() {
    let text = config();
    let edit = json!([{"operation": "edit", "path": "c.py", "find": "a", "replace": "b"}]);
    assert_eq!(missed(&text, &text, edit, &[("c.py", "")]), [""; 0]);
    let write = json!([{"operation": "write", "path": "c.py", "content": ""}]);
    assert_eq!(missed("HOST = 'h'\n", &text, write.clone(), &[("c.py", "")]), [""; 0]);
    assert_eq!(missed(&text, "HOST = 'h'\n", write, &[("c.py", "")]), [""; 0], "an earlier edit took it out");
}
