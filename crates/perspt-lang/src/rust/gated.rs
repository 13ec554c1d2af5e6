//! Changed lines behind a `cfg`: for another platform, behind a feature, left out of tests.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::grade::Grade;
use perspt_core::path::RelPath;
use perspt_core::reading::Part;
use perspt_core::stage::{Root, Step};
use serde_json::Value;
use tree_sitter::{Node, Parser};

use super::{layout, manifest, stages};
use crate::plugin::{Files, Further, Pair};
use crate::shared::toml::{at, texts};

/// An item behind a `cfg`, some line of which the candidate changed.
struct Gated {
    file: RelPath,
    lines: (u32, u32),
    /// The text between the parentheses.
    condition: String,
}

/// The parts of changed files of which less is proved than of the rest. Further checks are made with the features that
/// they name.
pub(crate) fn less_proved(pair: &Pair<'_>, further: Further) -> Vec<Part> {
    let parts = changed(pair).into_iter().filter_map(|gated| {
        let condition = Condition::parse(&gated.condition);
        let on = features_of(pair.candidate, &gated.file).map(|(_, defaults)| defaults).unwrap_or_default();
        let mut all = on.clone();
        all.extend(condition.features());
        let grade = match () {
            () if condition.holds(true, &on) => return None,
            () if condition.holds(false, &on) => Grade::Build,
            () if further == Further::Looked
                && (condition.holds(true, &all) || condition.holds(false, &all)) =>
            {
                Grade::Build
            }
            () => Grade::Syntax,
        };
        let why = format!("cfg({})", gated.condition);
        Some(Part { file: gated.file, lines: gated.lines, grade, why })
    });
    parts.collect()
}

/// One more check for each package in which lines changed that a feature hides, with those features.
pub(crate) fn checks(root: &Root, pair: &Pair<'_>) -> Vec<Step> {
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, condition) in conditions(pair) {
        let Some((package, defaults)) = features_of(pair.candidate, &file) else { continue };
        let named = Condition::parse(&condition).features();
        let off: BTreeSet<String> = named.into_iter().filter(|name| !defaults.contains(name)).collect();
        if !off.is_empty() {
            wanted.entry(package).or_default().extend(off);
        }
    }
    let check = |(package, features): (String, BTreeSet<String>)| {
        let features = features.into_iter().collect::<Vec<_>>().join(",");
        let arguments = [
            "check",
            "-p",
            &package,
            "--all-targets",
            "--features",
            &features,
            "--keep-going",
            "--offline",
            "--message-format=json",
        ];
        stages::in_build("check", &arguments, root)
    };
    wanted.into_iter().map(check).collect()
}

/// What changed lines and changed files stand behind.
fn conditions(pair: &Pair<'_>) -> Vec<(RelPath, String)> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let changed_files = changes.into_iter().filter(|change| change.after.is_some()).map(|change| change.path);
    let sources = changed_files.filter(|path| path.extension() == Some("rs"));
    let around = sources.flat_map(|path| {
        let gates = gates(pair.candidate, &path, layout::MODULE_DEPTH).into_iter();
        gates.map(|condition| (path.clone(), condition)).collect::<Vec<_>>()
    });
    changed(pair).into_iter().map(|gated| (gated.file, gated.condition)).chain(around).collect()
}

/// The name of the package that a file belongs to, and the features that are on by themselves.
fn features_of(files: &dyn Files, file: &RelPath) -> Option<(String, BTreeSet<String>)> {
    let manifest = file.ancestors().find_map(|dir| manifest::of(files, &dir).filter(manifest::is_package))?;
    let name = at(&manifest, &["package", "name"]).and_then(Value::as_str)?.to_owned();
    let mut on = BTreeSet::new();
    let mut open = vec!["default".to_owned()];
    while let Some(feature) = open.pop() {
        if on.insert(feature.clone()) {
            open.extend(texts(&manifest, &["features", &feature]).into_iter().map(str::to_owned));
        }
    }
    Some((name, on))
}

/// Whether a source file is left out of every build on this machine as it is: by a `cfg` on the declarations above it, or
/// because its target wants features that are off.
pub(crate) fn is_left_out(files: &dyn Files, path: &RelPath) -> bool {
    let Some((_, on)) = features_of(files, path) else { return false };
    gates(files, path, layout::MODULE_DEPTH).iter().any(|condition| {
        let condition = Condition::parse(condition);
        !condition.holds(true, &on) && !condition.holds(false, &on)
    })
}

/// The conditions under which a source file is compiled, as far as others state them.
fn gates(files: &dyn Files, path: &RelPath, depth: usize) -> Vec<String> {
    let wanted = manifest::required_features(files, path);
    let mut found: Vec<String> = wanted.iter().map(|name| format!("feature = \"{name}\"")).collect();
    let (name, parents) = layout::declared_in(path);
    let declaration = format!("mod {name};");
    let declares =
        |line: &&str| line.trim().strip_prefix("pub").map_or(line.trim(), after_pub) == declaration;
    for parent in parents.into_iter().filter(|parent| parent != path && depth > 0) {
        let Some(text) = files.text(&parent) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        if !lines.iter().any(declares) {
            continue;
        }
        let around = items(&text).into_iter().filter(|((first, last), _)| {
            lines.get(*first as usize - 1..*last as usize).unwrap_or_default().iter().any(declares)
        });
        found.extend(around.map(|(_, condition)| condition));
        found.extend(gates(files, &parent, depth - 1));
    }
    found
}

/// What follows `pub` or `pub(…)`.
fn after_pub(rest: &str) -> &str {
    let rest = rest.trim_start();
    let bare = rest.strip_prefix('(').and_then(|inside| inside.split_once(')')).map(|(_, after)| after);
    bare.unwrap_or(rest).trim_start()
}

fn changed(pair: &Pair<'_>) -> Vec<Gated> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let sources = changes.into_iter().filter(|change| change.after.is_some()).map(|change| change.path);
    sources
        .filter(|path| path.extension() == Some("rs"))
        .filter_map(|path| Some((pair.candidate.text(&path)?, path)))
        .filter(|(text, _)| text.contains("cfg"))
        .flat_map(|(text, path)| {
            let before = pair.base.text(&path).unwrap_or_default();
            let known: BTreeSet<&str> = before.lines().collect();
            let new: BTreeSet<u32> =
                text.lines().zip(1..).filter(|(line, _)| !known.contains(line)).map(|(_, at)| at).collect();
            let touched = |(first, last): (u32, u32)| new.range(first..=last).next().is_some();
            let items = items(&text).into_iter().filter(move |(lines, _)| touched(*lines));
            items.map(|(lines, condition)| Gated { file: path.clone(), lines, condition }).collect::<Vec<_>>()
        })
        .collect()
}

/// The items of a text that stand behind a `cfg`, by their lines.
fn items(text: &str) -> Vec<((u32, u32), String)> {
    let mut parser = Parser::new();
    let grammar = tree_sitter_rust::LANGUAGE.into();
    let Some(tree) = parser.set_language(&grammar).ok().and_then(|()| parser.parse(text, None)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor));
        let inner = node.kind() == "inner_attribute_item";
        if !inner && node.kind() != "attribute_item" {
            continue;
        }
        let Some(condition) = node.utf8_text(text.as_bytes()).ok().and_then(condition_of) else { continue };
        let Some(item) = (if inner { node.parent() } else { guarded(node) }) else { continue };
        let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
        let first = if inner { item.start_position().row } else { node.start_position().row };
        found.push(((line(first), line(item.end_position().row)), condition));
    }
    found.sort();
    found
}

/// The item after an attribute, other attributes and comments aside.
fn guarded(attribute: Node<'_>) -> Option<Node<'_>> {
    std::iter::successors(attribute.next_named_sibling(), |node| node.next_named_sibling())
        .find(|node| !["attribute_item", "line_comment", "block_comment"].contains(&node.kind()))
}

/// The text between the parentheses of `#[cfg(…)]`.
fn condition_of(attribute: &str) -> Option<String> {
    let inside = attribute.trim_start_matches(['#', '!', '[', ' ']).strip_prefix("cfg")?.trim_start();
    let inside = inside.strip_prefix('(')?;
    Some(inside.get(..inside.rfind(')')?)?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A condition of `cfg`.
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Is(String, Option<String>),
}

impl Condition {
    fn parse(text: &str) -> Condition {
        let text = text.trim();
        let inside = |word: &str| {
            let rest = text.strip_prefix(word)?.trim_start().strip_prefix('(')?;
            rest.strip_suffix(')')
        };
        let each = |inside: &str| split(inside).into_iter().map(Condition::parse).collect();
        if let Some(inside) = inside("all") {
            return Condition::All(each(inside));
        }
        if let Some(inside) = inside("any") {
            return Condition::Any(each(inside));
        }
        if let Some(inside) = inside("not") {
            return Condition::Not(Box::new(Condition::parse(inside.trim_end_matches([',', ' ']))));
        }
        match text.split_once('=') {
            Some((key, value)) => {
                let value = value.trim().trim_matches('"').to_owned();
                Condition::Is(key.trim().to_owned(), Some(value))
            }
            None => Condition::Is(text.to_owned(), None),
        }
    }

    /// Whether it holds on this machine, in a build of tests or not, with these features. What is not known does not.
    fn holds(&self, test: bool, features: &BTreeSet<String>) -> bool {
        match self {
            Condition::All(all) => all.iter().all(|one| one.holds(test, features)),
            Condition::Any(any) => any.iter().any(|one| one.holds(test, features)),
            Condition::Not(one) => !one.holds(test, features),
            Condition::Is(key, value) => match (key.as_str(), value.as_deref()) {
                ("test", None) => test,
                ("debug_assertions", None) => true,
                ("unix", None) => cfg!(unix),
                ("windows", None) => cfg!(windows),
                ("feature", Some(name)) => features.contains(name),
                ("target_os", Some(name)) => name == std::env::consts::OS,
                ("target_arch", Some(name)) => name == std::env::consts::ARCH,
                ("target_family", Some(name)) => name == std::env::consts::FAMILY,
                ("target_pointer_width", Some(name)) => name == usize::BITS.to_string(),
                ("panic", Some(name)) => name == "unwind",
                _ => false,
            },
        }
    }

    fn features(&self) -> BTreeSet<String> {
        match self {
            Condition::All(all) | Condition::Any(all) => all.iter().flat_map(Condition::features).collect(),
            Condition::Not(one) => one.features(),
            Condition::Is(key, Some(name)) if key == "feature" => BTreeSet::from([name.clone()]),
            Condition::Is(..) => BTreeSet::new(),
        }
    }
}

/// The parts between the commas that stand in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}
