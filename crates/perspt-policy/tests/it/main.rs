//! What a path must survive before a model may write it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod mask;

use std::collections::BTreeMap;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_policy::path_rules::{PathRefusal, PathRules};
use perspt_policy::secrets::is_secret;
use proptest::prelude::*;

fn tree(files: &[(&str, EntryKind)]) -> Tree {
    let entry = |kind| Entry { kind, hash: Sha::of(b"x"), size: 1 };
    Tree {
        entries: files
            .iter()
            .map(|(path, kind)| (RelPath::parse(path).unwrap(), entry(*kind)))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn refused(words: &str) -> PathRefusal {
    let tree = tree(&[
        ("src-old.rs", EntryKind::File),
        ("src/lib.rs", EntryKind::File),
        ("link", EntryKind::Symlink),
        ("README.md", EntryKind::File),
    ]);
    let ignores = vec![(RelPath::root(), "/target\n*.log\n!keep.log\n".to_owned())];
    PathRules::new(&tree, &ignores, "add a feature").check(words).unwrap_err()
}

#[test]
fn a_path_that_leads_out_is_refused_however_it_is_written() {
    assert!(matches!(refused("../etc/passwd"), PathRefusal::Unbounded(_)));
    assert!(matches!(refused("src/../../x"), PathRefusal::Unbounded(_)));
    assert!(matches!(refused("/etc/passwd"), PathRefusal::Unbounded(_)));
    assert!(matches!(refused("a\0b"), PathRefusal::Unbounded(_)));
    assert!(matches!(refused("src\\lib.rs"), PathRefusal::Backslash(_)));
    assert!(matches!(refused("~/notes.md"), PathRefusal::Home(_)));
    assert!(matches!(refused(""), PathRefusal::Unbounded(_)));
}

#[test]
fn version_control_is_never_written_in_any_case_or_depth() {
    assert!(matches!(refused(".git/hooks/pre-commit"), PathRefusal::VersionControl(_)));
    assert!(matches!(refused("sub/.GIT/config"), PathRefusal::VersionControl(_)));
    assert!(matches!(refused("src/./../.git/config"), PathRefusal::VersionControl(_)));
}

#[test]
fn a_symbolic_link_is_never_written_through() {
    assert!(matches!(refused("link"), PathRefusal::Symlink { .. }));
    assert!(matches!(refused("link/x.rs"), PathRefusal::Symlink { .. }));
}

#[test]
fn a_file_is_not_a_folder_and_a_folder_is_not_a_file() {
    assert!(matches!(refused("README.md/x"), PathRefusal::InTheWay { .. }));
    assert!(matches!(refused("src"), PathRefusal::InTheWay { .. }));
}

#[test]
fn a_name_that_differs_only_in_case_is_refused() {
    assert!(matches!(refused("src/LIB.rs"), PathRefusal::Case { .. }));
    assert!(matches!(refused("Src/new.rs"), PathRefusal::Case { .. }));
}

#[test]
fn what_the_project_ignores_cannot_be_written_unless_it_is_there() {
    assert!(matches!(refused("target/x.rs"), PathRefusal::Ignored(_)));
    assert!(matches!(refused("run.log"), PathRefusal::Ignored(_)));
    let there = tree(&[("kept.log", EntryKind::File)]);
    let ignores = vec![(RelPath::root(), "*.log\n!keep.log\n".to_owned())];
    let rules = PathRules::new(&there, &ignores, "");
    assert!(rules.check("kept.log").is_ok());
    assert!(rules.check("keep.log").is_ok());
}

#[test]
fn files_that_steer_perspt_need_the_task_to_name_them() {
    assert!(matches!(refused("AGENTS.md"), PathRefusal::Steering(_)));
    assert!(matches!(refused("sub/AGENTS.md"), PathRefusal::Steering(_)));
    assert!(matches!(refused(".perspt/config.toml"), PathRefusal::Steering(_)));
    let tree = Tree::default();
    assert!(PathRules::new(&tree, &[], "write an AGENTS.md").check("AGENTS.md").is_ok());
}

#[test]
fn an_ordinary_path_is_normalised() {
    let tree = tree(&[("src/lib.rs", EntryKind::File)]);
    let rules = PathRules::new(&tree, &[], "");
    assert_eq!(rules.check("./src//x/../lib.rs").unwrap().as_str(), "src/lib.rs");
    assert_eq!(rules.check("src/ünïcode.rs").unwrap().as_str(), "src/ünïcode.rs");
}

#[test]
fn secrets_are_known_by_name_and_templates_of_them_are_not_secret() {
    let secret = |path: &str| is_secret(&RelPath::parse(path).unwrap());
    for path in [".env", "app/.env.local", "deploy/id_rsa", "tls/server.KEY", ".aws/config", "x/credentials"]
    {
        assert!(secret(path), "{path}");
    }
    for path in [".env.example", "src/environment.rs", "src/key.rs", "README.md"] {
        assert!(!secret(path), "{path}");
    }
}

proptest! {
    #[test]
    fn any_words_are_decided_and_what_passes_stays_inside(words in "\\PC{0,40}") {
        let tree = tree(&[("src/lib.rs", EntryKind::File), ("link", EntryKind::Symlink)]);
        if let Ok(path) = PathRules::new(&tree, &[], "").check(&words) {
            prop_assert!(!path.as_str().is_empty());
            prop_assert!(path.parts().all(|part| part != ".." && part != "." && !part.eq_ignore_ascii_case(".git")));
            prop_assert!(!path.as_str().starts_with("link/"));
        }
    }
}
