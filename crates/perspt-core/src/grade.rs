//! How much was proved of a commit, and which files are code at all.

use serde::{Deserialize, Serialize};

use crate::path::RelPath;

/// What was proved of a file or a commit; the first is the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// There is nothing but text for people in it.
    Prose,
    /// There is no code in it: data, settings, files that were removed.
    Data,
    /// Loaded by passing tests.
    Tests,
    /// A type checker accepted it.
    Types,
    /// A compiler accepted it.
    Build,
    /// A command of the user's accepted it, and did not with an error planted in it.
    Command,
    /// A parser accepted it.
    Syntax,
    /// No tool looked at it.
    None,
}

impl Grade {
    /// The word on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Grade::Prose => "prose",
            Grade::Data => "data",
            Grade::Tests => "tests",
            Grade::Types => "types",
            Grade::Build => "build",
            Grade::Command => "command",
            Grade::Syntax => "syntax",
            Grade::None => "none",
        }
    }
}

/// The least that a user wants proved of every file of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// Loaded by passing tests.
    Tests,
    /// Read by a type checker or a typed compiler.
    Types,
    /// Accepted by a compiler, or better.
    Build,
}

impl Require {
    /// All of them.
    pub const ALL: [Require; 3] = [Require::Tests, Require::Types, Require::Build];

    /// The word of `--require`.
    pub fn as_str(self) -> &'static str {
        match self {
            Require::Tests => "tests",
            Require::Types => "types",
            Require::Build => "build",
        }
    }
}

/// What kind of file a path is, by one closed table: everything that is not listed is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Text for people.
    Prose,
    /// Data and configuration: needs no consent, and no tool of ours reads it.
    Data,
    /// Code.
    Code,
}

const PROSE: &[&str] = &["md", "markdown", "txt", "rst", "adoc", "asciidoc", "org", "tex", "bib"];
const DATA: &[&str] = &[
    "json",
    "jsonl",
    "json5",
    "jsonc",
    "toml",
    "yaml",
    "yml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "xml",
    "html",
    "htm",
    "xhtml",
    "css",
    "scss",
    "sass",
    "less",
    "svg",
    "csv",
    "tsv",
    "lock",
    "snap",
    "golden",
    "po",
    "pot",
    "desktop",
    "service",
    "plist",
    "editorconfig",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "ico",
    "pdf",
    "woff",
    "woff2",
    "ttf",
    "pem",
    "sum",
];
const DATA_NAMES: &[&str] = &[
    "dockerfile",
    "containerfile",
    "procfile",
    "makefile",
    "gnumakefile",
    "justfile",
    "codeowners",
    ".gitignore",
    ".gitattributes",
    ".dockerignore",
    ".editorconfig",
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    "go.mod",
    "py.typed",
    ".gitkeep",
    ".mailmap",
    ".gitmodules",
];
const PROSE_NAMES: &[&str] = &[
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "contributors",
    "changelog",
    "changes",
    "todo",
];

const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist"];

impl FileKind {
    /// The kind of a path.
    pub fn of(path: &RelPath) -> FileKind {
        let whole = path.name().to_lowercase();
        // An example of a file is of its kind.
        let name = EXAMPLES.iter().find_map(|end| whole.strip_suffix(end)).unwrap_or(&whole).to_owned();
        if name == ".env" || name.starts_with(".env.") {
            return FileKind::Data;
        }
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_owned());
        let among = |list: &[&str]| extension.as_deref().is_some_and(|extension| list.contains(&extension));
        let stem = name.split(['.', '-']).next().unwrap_or(&name);
        // A list of targets, whatever its name ends with.
        if name == "cmakelists.txt" {
            return FileKind::Code;
        }
        if among(PROSE) || (extension.is_none() && PROSE_NAMES.contains(&stem)) {
            FileKind::Prose
        } else if among(DATA) || DATA_NAMES.contains(&name.as_str()) || name.starts_with("dockerfile.") {
            FileKind::Data
        } else {
            FileKind::Code
        }
    }
}
