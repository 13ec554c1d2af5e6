//! The words everything else is said in: hashes, paths, trees, commits, budgets.

use std::collections::BTreeSet;

use perspt_core::budget::{Account, BudgetKind, BudgetLimits, Spend};
use perspt_core::event::merkle;
use perspt_core::grade::FileKind;
use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::{BlobId, Millis, NodeId};
use perspt_core::path::{PathError, RelPath};
use perspt_core::reading::StageKind;
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, EntryKind, Tree};
use proptest::prelude::*;

use crate::support::*;
use crate::world::World;

fn any_path() -> impl Strategy<Value = RelPath> {
    "[a-c]{1,2}(/[a-c.]{0,2}[a-c]){0,3}".prop_map(|text| path(&text))
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let kind = prop_oneof![Just(EntryKind::File), Just(EntryKind::Exec), Just(EntryKind::Symlink)];
    let one = (kind, 0u8..3).prop_map(|(kind, text)| {
        let mut entry = entry(&text.to_string());
        entry.kind = kind;
        entry
    });
    prop::collection::btree_map(any_path(), one, 0..8).prop_map(|entries| Tree { entries })
}

fn any_changes() -> impl Strategy<Value = Vec<Change>> {
    let side = || prop::option::of("[xy]".prop_map(|text| entry(&text)));
    let sides = (side(), side());
    prop::collection::btree_map(any_path(), sides, 0..9).prop_map(|sides| {
        sides.into_iter().map(|(path, (before, after))| Change { path, before, after }).collect()
    })
}

/// The list of kinds is whole, and each has the name it has in the log: serde says which ones there are.
#[test]
fn every_kind_of_stage_is_listed_under_its_name() {
    let names: Vec<String> = StageKind::ALL.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
    let refusal = serde_json::from_str::<StageKind>("\"none\"").unwrap_err().to_string();
    assert!(refusal.contains(&format!("expected one of {} at", names.join(", "))), "{refusal}");
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_path_never_leads_out_of_the_workspace(text in "[a./\\\\ é\u{0}-\u{1f}]{0,12}") {
        match RelPath::parse(&text) {
            Ok(read) => {
                prop_assert!(!read.is_root() && !read.as_str().starts_with('/'));
                for part in read.as_str().split('/') {
                    prop_assert!(!matches!(part, "" | "." | ".."), "{}", read);
                }
                prop_assert!(!read.as_str().chars().any(char::is_control));
                prop_assert_eq!(&RelPath::parse(read.as_str()).unwrap(), &read);
                let json = serde_json::to_string(&read).unwrap();
                prop_assert_eq!(&serde_json::from_str::<RelPath>(&json).unwrap(), &read);
                prop_assert_eq!(read.ancestors().last(), Some(RelPath::root()));
                prop_assert!(read.ancestors().all(|folder| read.is_within(&folder)));
            }
            Err(PathError::Control) => prop_assert!(text.chars().any(char::is_control)),
            Err(PathError::Absolute(_)) => prop_assert!(text.starts_with('/')),
            Err(PathError::Outside(_)) => prop_assert!(text.contains("..")),
            Err(PathError::Empty) => prop_assert!(text.chars().all(|c| "./a\\ é".contains(c))),
        }
    }

    #[test]
    fn only_a_normalised_path_is_read_from_a_log(text in "[ab./]{0,8}") {
        let read: Result<RelPath, _> = serde_json::from_value(serde_json::Value::String(text.clone()));
        let normal = text.is_empty() || RelPath::parse(&text).is_ok_and(|path| path.as_str() == text);
        prop_assert_eq!(read.is_ok(), normal);
    }

    #[test]
    fn what_is_joined_to_a_folder_stays_below_it(folder in any_path(), below in "[ab./]{0,8}") {
        if let Ok(joined) = folder.join(&below) {
            prop_assert!(joined.is_within(&folder) && joined != folder);
            let rest = joined.below(&folder).unwrap();
            prop_assert_eq!(folder.join(rest).unwrap(), joined);
        }
    }

    #[test]
    fn a_digest_is_read_back_as_it_was_written(bytes in any::<[u8; 32]>()) {
        let sha = Sha(bytes);
        prop_assert_eq!(sha.to_string().parse::<Sha>().unwrap(), sha);
        let json = serde_json::to_string(&sha).unwrap();
        prop_assert_eq!(serde_json::from_str::<Sha>(&json).unwrap(), sha);
        prop_assert_eq!(sha.short(), &sha.to_string()[..8]);
        let upper = sha.to_string().to_uppercase();
        prop_assert_eq!(upper.parse::<Sha>().is_ok(), upper.bytes().all(|byte| byte.is_ascii_digit()));
    }

    #[test]
    fn changes_lead_from_one_tree_to_the_other(before in any_tree(), after in any_tree()) {
        let changes = before.changes_to(&after);
        prop_assert_eq!(before.with(&changes), after.clone());
        prop_assert_eq!(before.id() == after.id(), changes.is_empty());
        prop_assert!(changes.windows(2).all(|pair| pair[0].path < pair[1].path));
        prop_assert!(changes.iter().all(|change| change.before != change.after));
        let json = serde_json::to_string(&after).unwrap();
        prop_assert_eq!(serde_json::from_str::<Tree>(&json).unwrap().id(), after.id());
    }

    #[test]
    fn the_merkle_root_does_not_depend_on_the_order_and_depends_on_everything_else(
        changes in any_changes(),
        at in any::<prop::sample::Index>(),
        how in 0usize..4,
    ) {
        let whole = merkle(&changes);
        let backwards: Vec<Change> = changes.iter().rev().cloned().collect();
        prop_assert_eq!(merkle(&backwards), whole);
        let mut turned = changes.clone();
        if !turned.is_empty() {
            let len = turned.len();
            turned.rotate_left(at.index(len));
            prop_assert_eq!(merkle(&turned), whole);
            let one = &mut turned[at.index(len)];
            match how {
                0 => one.path = one.path.join("zz").unwrap(),
                1 => one.before = Some(entry("another")),
                2 => one.after = if one.after.is_some() { None } else { Some(entry("another")) },
                _ => drop(turned.pop()),
            }
            prop_assert_ne!(merkle(&turned), whole);
        }
    }

    #[test]
    fn an_account_never_lets_a_call_pass_a_limit(
        used in (0u64..9, 0u64..9, 0u64..9), held in (0u64..9, 0u64..9, 0u64..9),
        next in (0u64..9, 0u64..9, 0u64..9), unpriced in 0u64..9,
        limits in (0u64..20, 0u64..20, 0u64..20, prop::option::of(0u64..20)), active in 0u64..20,
    ) {
        // Calls without a known price are no money.
        let priced = |spent: (u64, u64, u64)| Spend { steps: spent.0, tokens: spent.1, cost: spent.2, unpriced, bounded: 0 };
        let account = Account { used: priced(used), reserved: priced(held), ..Account::default() };
        let limits = BudgetLimits { steps: limits.0, tokens: limits.1, time_ms: limits.2, cost: limits.3 };
        let fits = used.0 + held.0 + next.0 <= limits.steps
            && used.1 + held.1 + next.1 <= limits.tokens
            && limits.cost.is_none_or(|most| used.2 + held.2 + next.2 <= most)
            && active < limits.time_ms;
        let refusal = account.refusal(&limits, priced(next), active);
        prop_assert_eq!(refusal.is_none(), fits);
    }
}

#[test]
fn fields_do_not_run_into_each_other() {
    let of = |fields: &[&str]| Sha::of_fields(fields.iter().map(|field| field.as_bytes()));
    let all = [of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["abc", ""]), of(&[])];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    let mut pieces = ShaBuilder::default();
    pieces.update(b"a");
    pieces.update(b"bc");
    assert_eq!(pieces.finish(), Sha::of(b"abc"));
    assert_eq!(Sha::of(b"").to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn a_text_that_is_no_digest_is_refused() {
    for text in ["", "e3b0", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
        assert!(text.parse::<Sha>().is_err(), "{text}");
        assert!(serde_json::from_value::<BlobId>(serde_json::Value::String(text.to_owned())).is_err());
    }
}

#[test]
fn paths_are_read_by_text_alone() {
    let read = |text: &str| RelPath::parse(text).map(|path| path.as_str().to_owned());
    assert_eq!(read("a/./b//c/../d").unwrap(), "a/b/d");
    assert_eq!(read("..").unwrap_err(), PathError::Outside("..".to_owned()));
    assert_eq!(read("a/../../b").unwrap_err(), PathError::Outside("a/../../b".to_owned()));
    assert_eq!(read("/etc").unwrap_err(), PathError::Absolute("/etc".to_owned()));
    assert_eq!(read("a/..").unwrap_err(), PathError::Empty);
    assert_eq!(read("a\nb").unwrap_err(), PathError::Control);
    let file = path("src/a.test.rs");
    assert_eq!((file.name(), file.extension()), ("a.test.rs", Some("rs")));
    assert_eq!(path(".gitignore").extension(), None);
    assert_eq!(file.parent(), Some(path("src")));
    assert_eq!(RelPath::root().parent(), None);
    assert_eq!((RelPath::root().shown(), RelPath::root().to_string()), (".", ".".to_owned()));
    assert!(!path("src2/a").is_within(&path("src")));
    assert_eq!(path("src2/a").below(&path("src")), None);
    assert_eq!(file.parts().collect::<Vec<_>>(), ["src", "a.test.rs"]);
    assert_eq!(serde_json::from_str::<RelPath>("\"\"").unwrap(), RelPath::root());
}

#[test]
fn a_trees_name_is_its_paths_kinds_and_contents() {
    let of = |at: &str, kind: EntryKind, text: &str| {
        let mut one = entry(text);
        one.kind = kind;
        Tree { entries: [(path(at), one)].into() }
    };
    let file = of("a", EntryKind::File, "x");
    let others = [
        Tree::default(),
        of("b", EntryKind::File, "x"),
        of("a", EntryKind::Exec, "x"),
        of("a", EntryKind::Symlink, "x"),
        of("a", EntryKind::File, "y"),
    ];
    assert!(others.iter().all(|other| other.id() != file.id()));
    let mut sized = file.clone();
    sized.entries.get_mut(&path("a")).unwrap().size = 99;
    assert_eq!(sized.id(), file.id());
    assert!(file.changes_to(&sized).is_empty());
}

#[test]
fn an_odd_leaf_is_carried_up_and_no_change_is_no_root() {
    let changes: Vec<Change> =
        ["a", "b", "c", "d", "e"].iter().map(|at| change(at, None, Some("x"))).collect();
    let roots: BTreeSet<Sha> = (0..=5).map(|count| merkle(&changes[..count])).collect();
    assert_eq!(roots.len(), 6);
    assert_eq!(merkle(&[]), Sha::ZERO);
    // A file's leaf is never mistaken for a pair of leaves.
    assert_ne!(merkle(&changes[..1]), merkle(&changes[..2]));
}

#[test]
fn a_commits_name_covers_the_whole_record() {
    let mut world = World::lucky();
    world.until_node("core", |effect| matches!(effect, perspt_core::effect::Effect::Publish { .. }));
    let state: &SessionState = &world.state;
    let record = commit(state, &NodeId::from("core"), &branch("base"), vec![blob("r")]);
    let mut others = vec![record.clone(); 6];
    others[0].goal.push('!');
    others[1].parent = sha("another");
    others[2].evidence.clear();
    others[3].artifacts.clear();
    others[4].model.push('!');
    others[5].grade = perspt_core::grade::Grade::None;
    assert!(others.iter().all(|other| other.id() != record.id()));
    assert_eq!(record.clone().id(), record.id());
    let json = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<perspt_core::event::Commit>(&json).unwrap().id(), record.id());
}

#[test]
fn spends_and_moments_do_not_overflow() {
    let most =
        Spend { steps: u64::MAX, tokens: u64::MAX, cost: u64::MAX, unpriced: u64::MAX, bounded: u64::MAX };
    assert_eq!(most.plus(spend(1, 1)), most);
    assert_eq!(Spend::default().minus(most), Spend::default());
    assert_eq!(Millis(u64::MAX).plus(1), Millis(u64::MAX));
    assert_eq!(Millis(1).since(Millis(2)), 0);
    let full = Account { used: most, reserved: most, ..Account::default() };
    assert_eq!(full.refusal(&plenty(), spend(1, 1), 0), Some(BudgetKind::Steps));
    let flags =
        [BudgetKind::Steps, BudgetKind::Tokens, BudgetKind::Time, BudgetKind::Cost].map(BudgetKind::flag);
    assert_eq!(flags, ["--max-steps", "--max-tokens", "--max-time", "--max-cost"]);
}

/// Prose and configuration need no consent; whatever no list names is code.
#[test]
fn everything_that_no_list_names_is_code() {
    for (name, kind) in [
        ("README", FileKind::Prose),
        ("docs/guide.md", FileKind::Prose),
        ("Makefile", FileKind::Data),
        ("sub/justfile", FileKind::Data),
        ("Dockerfile.dev", FileKind::Data),
        (".env.example", FileKind::Data),
        ("a.toml", FileKind::Data),
        ("build.mk", FileKind::Code),
        ("run", FileKind::Code),
        ("a.c", FileKind::Code),
    ] {
        assert_eq!(FileKind::of(&RelPath::parse(name).unwrap()), kind, "{name}");
    }
}
