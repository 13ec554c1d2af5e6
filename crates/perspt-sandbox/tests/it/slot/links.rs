//! Links that lead from a slot back to the original workspace.

use std::path::Path;

use perspt_core::tree::EntryKind;
use perspt_sandbox::slot::{leads_back, link_texts};
use tempfile::tempdir;

use super::util::{Made, names, path, walked};

fn offending(links: &[(&str, &str)]) -> Vec<String> {
    let temp = tempdir().unwrap();
    let made = links.iter().fold(Made::of(&[("src/lib.rs", "x")]), |made, (name, text)| {
        made.with(name, EntryKind::Symlink, text)
    });
    made.put(temp.path());
    let tree = walked(temp.path()).tree;
    let texts = link_texts(temp.path(), &tree).unwrap();
    leads_back(&tree, &texts, Path::new("/home/me/ws")).iter().map(ToString::to_string).collect()
}

#[test]
fn links_inside_the_tree_or_to_other_places_are_fine() {
    let fine = [
        ("a", "src/lib.rs"),
        ("src/up", "../src/./lib.rs"),
        ("d", "src"),
        ("loop", "loop"),
        ("ping", "pong"),
        ("pong", "ping"),
        ("dangling", "no/such/thing"),
        ("usr", "/usr/share/dict"),
        ("twin", "/home/me/ws2/src"),
        ("dots", "/home/me/ws/../other"),
        ("self", "."),
    ];
    assert_eq!(offending(&fine), [""; 0]);
}

#[test]
fn absolute_links_into_the_workspace_or_above_it_lead_back() {
    let back = [
        ("a", "/home/me/ws"),
        ("b", "/home/me/ws/src/lib.rs"),
        ("c", "/home//me/./x/../ws/src"),
        ("d", "/home/me"),
        ("e", "/"),
    ];
    assert_eq!(offending(&back), ["a", "b", "c", "d", "e"]);
}

#[test]
fn relative_links_out_of_the_workspace_lead_back() {
    let back = [("a", ".."), ("b", "../ws/src"), ("src/c", "../../x"), ("src/d", "../src/../../x")];
    assert_eq!(offending(&back), ["a", "b", "src/c", "src/d"]);
}

#[test]
fn a_link_is_judged_by_where_the_links_on_its_way_lead() {
    let chain = [
        // By its text alone `b` stays inside; but `src/root` is the workspace itself, and so `..` is above it.
        ("src/root", ".."),
        ("b", "src/root/../x"),
        // By its text alone `c` leaves; but `deep` is two folders down.
        ("deep", "src/inner/folder"),
        ("c", "deep/../../lib.rs"),
        ("d", "e/lib.rs"),
        ("e", "/home/me/ws/src"),
        ("f", "g/../../other"),
        ("g", "/home/me/ws/src"),
    ];
    assert_eq!(offending(&chain), ["b", "d", "e", "g"]);
}

#[test]
fn a_link_whose_text_is_not_known_counts_as_leading_back() {
    let made = Made::default().with("l", EntryKind::Symlink, "x").with("f", EntryKind::File, "x");
    let none = std::collections::BTreeMap::new();
    assert_eq!(leads_back(&made.tree, &none, Path::new("/ws")), [path("l")]);
    assert_eq!(names(&made.tree), ["f", "l"]);
}
