//! Data files that can be parsed: JSON, TOML, YAML.

use perspt_core::path::RelPath;
use saphyr_parser::Parser;
use serde::de::IgnoredAny;

/// Names and folders of JSON files in which tools allow comments.
const WITH_COMMENTS: [&str; 6] =
    ["tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".babelrc", "api-extractor"];

/// Why a data file cannot be read as what its name says; `None` where nothing here parses its kind.
pub fn check(path: &RelPath, text: &str) -> Option<Result<(), String>> {
    match path.extension()? {
        "json" if allows_comments(path) => None,
        "json" => Some(serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| error.to_string())),
        "toml" => {
            Some(text.parse::<toml_edit::DocumentMut>().map(drop).map_err(|error| error.message().to_owned()))
        }
        // A template is filled in before it is YAML.
        "yaml" | "yml" if ["{{", "{%"].iter().any(|mark| text.contains(mark)) => None,
        "yaml" | "yml" => {
            let broken = Parser::new_from_str(text).find_map(Result::err);
            Some(broken.map_or(Ok(()), |error| Err(error.to_string())))
        }
        _ => None,
    }
}

fn allows_comments(path: &RelPath) -> bool {
    let in_editor = path.parts().any(|part| part == ".vscode");
    in_editor || WITH_COMMENTS.iter().any(|name| path.name().starts_with(name))
}
