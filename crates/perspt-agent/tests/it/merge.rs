//! Two changes of one text.

use perspt_agent::apply::merge::merge;

#[test]
fn changes_that_lie_apart_are_put_together_and_others_are_not() {
    let before = "a\nb\nc\nd\ne\n";
    for (ours, theirs, merged) in [
        ("a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\n", Some("a\nB\nc\nd\nE\n")),
        ("a\nb\nc\nd\nE\n", "a\nB\nB\nc\nd\ne\n", Some("a\nB\nB\nc\nd\nE\n")),
        ("b\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n", Some("b\nc\nd\ne\nf\n")),
        ("a\nb\nc\nd\ne\nf\n", "a\nc\nd\ne\n", Some("a\nc\nd\ne\nf\n")),
        // They touch, overlap, or one of them changes something at both ends.
        ("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n", None),
        ("a\nB\nc\nd\ne\n", "a\nX\nc\nd\ne\n", None),
        ("A\nb\nc\nd\nE\n", "a\nb\nC\nd\ne\n", None),
        ("", "a\nb\nc\nd\nE\n", None),
    ] {
        assert_eq!(merge(before, ours, theirs).as_deref(), merged, "{ours:?} {theirs:?}");
        assert_eq!(merge(before, theirs, ours).as_deref(), merged, "the other way round");
    }
    assert_eq!(merge("", "a\n", "b\n"), None);
}
