//! A bundle from JSON: the names of the schema, and other names with the same meaning.

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::consent::TestDeclaration;
use serde_json::{Map, Value};

use super::notes::Notes;
use super::path::clean_path;
use super::words::is_path;

const LISTS: &[&str] = &["artifacts", "files", "changes", "edits", "operations"];
const PATH: &[&str] = &["path", "file", "filename", "filepath", "file_path", "file_name"];
const CONTENT: &[&str] = &["content", "contents", "text", "code", "new_content", "file_text"];
const FIND: &[&str] = &["find", "search", "old", "old_text", "old_string", "old_str"];
const REPLACE: &[&str] =
    &["replace", "replacement", "replace_with", "new", "new_text", "new_string", "new_str"];
const PATCH: &[&str] = &["patch", "diff"];
const FROM: &[&str] = &["from", "source", "old_path"];
const TO: &[&str] = &["to", "destination", "new_path"];
const OPERATION: &[&str] = &["operation", "op", "action", "type", "command"];
const COMMANDS: &[&str] = &["commands", "command", "run"];
/// What models say beside their answer. It means nothing here.
const REMARKS: &[&str] = &[
    "analysis",
    "comment",
    "description",
    "explanation",
    "language",
    "message",
    "notes",
    "reason",
    "reasoning",
    "summary",
    "thoughts",
    "why",
];

/// Whether an object is meant as a bundle or as one artifact of it.
pub(super) fn is_bundle(object: &Map<String, Value>) -> bool {
    let has_list =
        LISTS.iter().any(|name| object.get(*name).is_some_and(Value::is_array)) || has_texts(object);
    has_list
        || object.contains_key("artifacts")
        || object.contains_key("commands")
        || looks_like_artifact(object)
}

/// Whether a value is meant as one artifact.
pub(super) fn is_artifact(value: &Value) -> bool {
    value.as_object().is_some_and(looks_like_artifact)
}

fn looks_like_artifact(object: &Map<String, Value>) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| object.contains_key(*name));
    let has_path = has(PATH) || (has(FROM) && has(TO));
    has_path && (has(OPERATION) || has(CONTENT) || has(FIND) || has(PATCH) || has(TO))
}

/// Whether an object is one artifact, and not a bundle that holds some.
fn is_lone(object: &Map<String, Value>) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| object.contains_key(*name));
    !has(&["artifacts", "files", "operations"]) && (has(PATH) || looks_like_artifact(object))
}

/// Reads a bundle. The error is a line for the model.
pub(super) fn bundle_of(value: &Value, notes: &mut Notes) -> Result<Bundle, String> {
    if let Ok(bundle) = serde_json::from_value::<Bundle>(value.clone()) {
        return with_clean_paths(bundle, notes);
    }
    match value {
        Value::Array(list) => {
            notes.add("a bare list of artifacts");
            Ok(Bundle { artifacts: artifacts(list, notes)?, ..Bundle::default() })
        }
        Value::Object(object) if is_lone(object) => {
            notes.add("one artifact without its list");
            Ok(Bundle { artifacts: artifact(object, 1, notes)?, ..Bundle::default() })
        }
        Value::Object(object) => from_object(object, notes),
        _ => Err("the JSON is not a bundle".to_owned()),
    }
}

fn with_clean_paths(mut bundle: Bundle, notes: &mut Notes) -> Result<Bundle, String> {
    for artifact in &mut bundle.artifacts {
        let paths = match artifact {
            Artifact::Write { path, .. }
            | Artifact::Edit { path, .. }
            | Artifact::Diff { path, .. }
            | Artifact::Delete { path } => vec![path],
            Artifact::Move { from, to } => vec![from, to],
        };
        for path in paths {
            *path = clean_path(path, notes);
        }
    }
    Ok(bundle)
}

fn from_object(object: &Map<String, Value>, notes: &mut Notes) -> Result<Bundle, String> {
    let mut fields = Fields { rest: object.clone(), of: "the bundle".to_owned() };
    let list = fields.take(LISTS, notes)?;
    let commands = fields.take(COMMANDS, notes)?;
    let tests = fields.take(&["changes_tests"], notes)?;
    let red = fields.take(&["leaves_red"], notes)?;
    fields.only_remarks(notes)?;
    let artifacts = match list {
        None => vec![],
        Some(Value::Array(list)) => artifacts(&list, notes)?,
        Some(Value::Object(texts)) => by_path(&texts, notes)?,
        Some(_) => return Err("`artifacts` must be a list of objects".to_owned()),
    };
    Ok(Bundle {
        artifacts,
        commands: words(commands, &["command", "run", "cmd"], "commands", notes)?,
        changes_tests: declarations(tests, notes)?,
        leaves_red: words(red, &["test", "name"], "leaves_red", notes)?,
    })
}

fn artifacts(list: &[Value], notes: &mut Notes) -> Result<Vec<Artifact>, String> {
    let mut out = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let object = value.as_object().ok_or_else(|| format!("artifact {} is not an object", index + 1))?;
        out.extend(artifact(object, index + 1, notes)?);
    }
    Ok(out)
}

/// Whether an object has texts by their paths in the place of its list.
fn has_texts(object: &Map<String, Value>) -> bool {
    let texts = object.get("files").and_then(Value::as_object);
    texts.is_some_and(|texts| texts.keys().any(|path| is_path(path)))
}

/// `{"src/a.py": "the whole text\n"}`. A remark on a file has no line break.
fn by_path(texts: &Map<String, Value>, notes: &mut Notes) -> Result<Vec<Artifact>, String> {
    notes.add("texts by their paths read as writes");
    let one = |(path, text): (&String, &Value)| match text.as_str() {
        Some(content) if is_path(path) && content.contains('\n') => {
            Ok(Artifact::Write { path: path.clone(), content: content.to_owned() })
        }
        Some(_) | None => Err(format!(
            "`{path}`: what stands beside it may be its text or a remark; write {{\"operation\": \"write\", \"path\": \"{path}\", \
             \"content\": \"...\"}} in a list `artifacts`"
        )),
    };
    texts.iter().map(one).collect()
}

/// The fields of an object that are still to be read.
struct Fields {
    rest: Map<String, Value>,
    /// What it is, for messages.
    of: String,
}

impl Fields {
    /// Takes the field that has one of these names. The first of them is the schema's.
    fn take(&mut self, names: &[&str], notes: &mut Notes) -> Result<Option<Value>, String> {
        let mut found: Option<(&str, Value)> = None;
        for name in names {
            let Some(value) = self.rest.remove(*name).filter(|value| !value.is_null()) else { continue };
            match &found {
                Some((other, before)) if *before != value => {
                    return Err(format!("{}: `{other}` and `{name}` say different things", self.of));
                }
                Some(_) => {}
                None => found = Some((name, value)),
            }
        }
        if let Some((name, _)) = found.as_ref().filter(|(name, _)| Some(name) != names.first()) {
            notes.add(format!("`{name}` read as `{}`", names[0]));
        }
        Ok(found.map(|(_, value)| value))
    }

    fn text(&mut self, names: &[&str], notes: &mut Notes) -> Result<Option<String>, String> {
        match self.take(names, notes)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{}: `{}` must be a string", self.of, names[0])),
        }
    }

    /// Whatever is left must be a remark.
    fn only_remarks(&mut self, notes: &mut Notes) -> Result<(), String> {
        for (name, value) in &self.rest {
            match value {
                Value::Null => {}
                Value::String(_) if REMARKS.contains(&name.as_str()) => {
                    notes.add(format!("the remark `{name}` left out"));
                }
                _ => return Err(format!("{}: `{name}` has no meaning here; leave it out", self.of)),
            }
        }
        Ok(())
    }
}

/// What the word of an operation leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Write,
    /// New text, whole or in part: the fields say which.
    Change,
    /// A part of the file.
    Edit,
    Diff,
    Delete,
    Move,
    /// None was given.
    Missing,
}

fn word(operation: Option<&str>, of: &str, notes: &mut Notes) -> Result<Word, String> {
    let Some(operation) = operation else {
        notes.add("an operation was not named; the fields leave one");
        return Ok(Word::Missing);
    };
    let plain = operation.trim().to_lowercase();
    let (word, name) = match plain.as_str() {
        "write" | "create" | "add" | "new" | "overwrite" | "create_file" | "write_file" => {
            (Word::Write, "write")
        }
        "update" | "modify" => (Word::Change, "a change"),
        "edit" | "replace" | "search_replace" | "str_replace" => (Word::Edit, "edit"),
        "diff" | "patch" => (Word::Diff, "diff"),
        "delete" | "remove" => (Word::Delete, "delete"),
        "move" | "rename" => (Word::Move, "move"),
        _ => {
            return Err(format!(
                "{of}: `{operation}` is no operation; it is write, edit, diff, delete or move"
            ));
        }
    };
    if name != operation {
        notes.add(format!("operation `{plain}` read as {name}"));
    }
    Ok(word)
}

fn artifact(object: &Map<String, Value>, number: usize, notes: &mut Notes) -> Result<Vec<Artifact>, String> {
    let of = format!("artifact {number}");
    let mut fields = Fields { rest: object.clone(), of: of.clone() };
    let operation = fields.text(OPERATION, notes)?;
    let word = word(operation.as_deref(), &of, notes)?;
    let path = fields.text(PATH, notes)?.map(|path| clean_path(&path, notes));
    if let (Some(path), Some(pairs)) = (&path, fields.take(&["edits", "changes", "replacements"], notes)?) {
        fields.only_remarks(notes)?;
        return pairs_of(path, &pairs, &of, notes);
    }
    let (content, find) = (fields.text(CONTENT, notes)?, fields.text(FIND, notes)?);
    let (replace, patch) = (fields.text(REPLACE, notes)?, fields.text(PATCH, notes)?);
    let (from, to) = (fields.text(FROM, notes)?, fields.text(TO, notes)?);
    fields.only_remarks(notes)?;
    let missing = |what: &str| format!("{of}: `{what}` is missing");
    if word == Word::Move || (word == Word::Missing && to.is_some()) {
        let from = from.or(path).ok_or_else(|| missing("from"))?;
        let to = to.ok_or_else(|| missing("to"))?;
        let has_more = [&content, &find, &replace, &patch].iter().any(|field| field.is_some());
        let moved = Artifact::Move { from: clean_path(&from, notes), to: clean_path(&to, notes) };
        return if has_more {
            Err(format!("{of}: a move has `from` and `to` alone"))
        } else {
            Ok(vec![moved])
        };
    }
    let path = path.ok_or_else(|| missing("path"))?;
    if from.is_some() || to.is_some() {
        return Err(format!("{of}: `from` and `to` belong to a move"));
    }
    let one = match (word, content, find, replace, patch) {
        (Word::Write | Word::Change | Word::Missing, Some(content), None, None, None) => {
            Artifact::Write { path, content }
        }
        (Word::Edit | Word::Change | Word::Missing, None, Some(find), Some(replace), None) => {
            Artifact::Edit { path, find, replace }
        }
        (Word::Diff | Word::Change | Word::Edit | Word::Missing, None, None, None, Some(patch)) => {
            Artifact::Diff { path, patch }
        }
        (Word::Delete, None, None, None, None) => Artifact::Delete { path },
        (Word::Write, ..) => {
            return Err(format!("{of}: a write of `{path}` has `content`, the whole text, alone"));
        }
        (Word::Edit, ..) => return Err(format!("{of}: an edit of `{path}` has `find` and `replace` alone")),
        (Word::Diff, ..) => return Err(format!("{of}: a diff of `{path}` has `patch` alone")),
        (Word::Delete, ..) => return Err(format!("{of}: a delete of `{path}` has no other field")),
        (Word::Change | Word::Missing | Word::Move, ..) => {
            return Err(format!(
                "{of}: its fields do not say what is done to `{path}`; name the `operation`"
            ));
        }
    };
    Ok(vec![one])
}

/// Several replacements in one file.
fn pairs_of(path: &str, pairs: &Value, of: &str, notes: &mut Notes) -> Result<Vec<Artifact>, String> {
    let wrong = || format!("{of}: each replacement in `{path}` has `find` and `replace` alone");
    notes.add("several replacements in one artifact");
    let list = pairs.as_array().filter(|list| !list.is_empty()).ok_or_else(wrong)?;
    let mut out = Vec::new();
    for pair in list {
        let mut fields = Fields { rest: pair.as_object().ok_or_else(wrong)?.clone(), of: of.to_owned() };
        let (find, replace) = (fields.text(FIND, notes)?, fields.text(REPLACE, notes)?);
        fields.only_remarks(notes)?;
        let (Some(find), Some(replace)) = (find, replace) else { return Err(wrong()) };
        out.push(Artifact::Edit { path: path.to_owned(), find, replace });
    }
    Ok(out)
}

/// A list of strings; one alone, and objects with one such field, are understood.
fn words(value: Option<Value>, names: &[&str], of: &str, notes: &mut Notes) -> Result<Vec<String>, String> {
    let wrong = || format!("`{of}` must be a list of strings");
    let list = match value {
        None => return Ok(vec![]),
        Some(Value::Array(list)) => list,
        Some(one) => {
            notes.add(format!("`{of}` is a list"));
            vec![one]
        }
    };
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => names.iter().find_map(|name| object.get(*name)?.as_str()).map(str::to_owned),
        _ => None,
    };
    list.iter().map(|value| one(value).ok_or_else(wrong)).collect()
}

fn declarations(value: Option<Value>, notes: &mut Notes) -> Result<Vec<TestDeclaration>, String> {
    let list = match value {
        None => return Ok(vec![]),
        Some(Value::Array(list)) => list,
        Some(one) => vec![one],
    };
    let mut out = Vec::new();
    for one in list {
        let object = match &one {
            Value::String(subject) => {
                notes.add("a test named by `path::name`");
                let (path, test) = subject
                    .split_once("::")
                    .map_or((subject.as_str(), None), |(path, test)| (path, Some(test)));
                serde_json::json!({"path": path, "test": test})
            }
            other => other.clone(),
        };
        let read = serde_json::from_value(object);
        out.push(read.map_err(|error| format!("an entry of `changes_tests` cannot be read: {error}"))?);
    }
    Ok(out)
}
