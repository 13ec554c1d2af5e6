//! Any tree can follow any other in a slot, and a tree's id says what it holds and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use perspt_core::tree::EntryKind;
use proptest::prelude::*;
use tempfile::tempdir;

use super::util::{Made, Place, path, touch_to, walked, write};

fn tree() -> impl Strategy<Value = Made> {
    let name = prop::sample::select(vec!["a", "b", "é", "with space", "日.rs", "-x", "a.b"]);
    let place = prop::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    let kind =
        prop::sample::select(vec![EntryKind::File, EntryKind::File, EntryKind::Exec, EntryKind::Symlink]);
    let text = prop::sample::select(vec!["1", "2", "one\r\n", "", "../a", "/etc"]);
    prop::collection::btree_map(place, (kind, text), 0..14).prop_map(|files| made(&files))
}

/// A file in the place of a folder gives way.
fn made(files: &BTreeMap<String, (EntryKind, &str)>) -> Made {
    let is_folder = |name: &str| files.keys().any(|other| other.starts_with(&format!("{name}/")));
    let mut made = Made::default();
    for (name, (kind, text)) in files {
        if !is_folder(name) {
            let text = if *kind == EntryKind::Symlink && text.is_empty() { "." } else { text };
            made = made.with(name, *kind, text);
        }
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_slot_ends_exactly_at_each_tree_of_a_random_walk(a in tree(), b in tree(), junk in tree()) {
        let mut place = Place::new();
        for (step, made) in [&a, &b, &a].into_iter().enumerate() {
            let done = place.slot.lay_out(&made.tree, made).unwrap();
            place.holds_exactly(made);
            prop_assert_eq!(done.kept + done.written, made.tree.entries.len() as u64);
            prop_assert_eq!(done.hashed, 0);
            prop_assert_eq!(walked(&place.slot.tree()).tree.id(), made.tree.id());
            prop_assert!(place.slot.recheck().unwrap().is_faithful());
            if step == 0 {
                // What a stage may do: throw everything away and put something else there.
                place.slot.lay_out(&junk.tree, &junk).unwrap();
                fs::write(place.slot.tree().join("stray"), "x").unwrap();
            }
        }
    }

    #[test]
    fn an_id_depends_on_paths_kinds_and_bytes_alone(made in tree(), old in 1u64..1_000_000_000) {
        let (one, other) = (tempdir().unwrap(), tempdir().unwrap());
        made.put(one.path());
        fs::create_dir_all(other.path().join("0/empty")).unwrap();
        made.put(other.path());
        for (name, entry) in &made.tree.entries {
            let place = other.path().join(name.as_str());
            if entry.kind != EntryKind::Symlink {
                touch_to(&place, SystemTime::UNIX_EPOCH + Duration::from_secs(old));
                super::util::chmod(&place, if entry.kind == EntryKind::Exec { 0o700 } else { 0o466 });
            }
        }
        let tree = walked(one.path()).tree;
        prop_assert_eq!(&tree, &made.tree);
        prop_assert_eq!(walked(other.path()).tree.id(), tree.id());

        write(other.path(), "0/one more", "");
        prop_assert_ne!(walked(other.path()).tree.id(), tree.id());
        for (name, entry) in &made.tree.entries {
            let mut less = made.tree.clone();
            less.entries.remove(name);
            prop_assert_ne!(less.id(), tree.id());
            let other_kind = if entry.kind == EntryKind::File { EntryKind::Exec } else { EntryKind::File };
            let other_text = if entry.size == 1 { "12" } else { "1" };
            let changed = made.clone().with(name.as_str(), other_kind, &made.bytes[&entry.hash]);
            prop_assert_ne!(changed.tree.id(), tree.id());
            let changed = made.clone().with(name.as_str(), entry.kind, other_text);
            prop_assert_ne!(changed.tree.id(), tree.id());
            let mut moved = less.clone();
            moved.entries.insert(path(&format!("{name}+")), *entry);
            prop_assert_ne!(moved.id(), tree.id());
        }
    }
}
