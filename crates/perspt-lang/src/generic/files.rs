//! What the files of any project are, by their names and places: which hold tests, which decide how it is built.

use perspt_core::grade::FileKind;
use perspt_core::path::RelPath;

use crate::shared::file_names::is_test_data;

/// Folders of tests, whatever the language.
const TEST_FOLDERS: [&str; 7] = ["test", "tests", "spec", "specs", "__tests__", "testing", "unittests"];

/// Files that say how a project is built and tested.
const BUILD_FILES: [&str; 27] = [
    "makefile",
    "gnumakefile",
    "makefile.am",
    "makefile.in",
    "justfile",
    ".justfile",
    "cmakelists.txt",
    "cmakepresets.json",
    "ctesttestfile.cmake",
    "meson.build",
    "meson_options.txt",
    "configure",
    "configure.ac",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "pom.xml",
    "build.xml",
    "rakefile",
    "build.sbt",
    "build",
    "build.bazel",
    "workspace",
    "taskfile.yml",
    ".rspec",
];

/// Whether a file says how the project is built and tested.
pub(super) fn decides_evidence(path: &RelPath) -> bool {
    let name = path.name().to_lowercase();
    let included = matches!(path.extension(), Some("mk" | "cmake" | "just" | "rake"));
    BUILD_FILES.contains(&name.as_str()) || included
}

/// Whether a file belongs to tests, by a folder or a word of its name.
pub(super) fn is_of_tests(path: &RelPath) -> bool {
    let kind = FileKind::of(path);
    // What a program is to print is often kept as plain text.
    if kind == FileKind::Prose && path.extension() != Some("txt") {
        return false;
    }
    let source = path.extension().filter(|_| kind == FileKind::Code).unwrap_or_default();
    let in_folder = path.ancestors().any(|folder| TEST_FOLDERS.contains(&folder.name()));
    in_folder || is_test_data(path, source) || words(path.name()).iter().any(|word| is_test_word(word))
}

fn is_test_word(word: &str) -> bool {
    word.starts_with("test") || ["spec", "specs"].contains(&word)
}

/// The words of a name, in lower case: `FooTest.java` is `foo`, `test`, `java`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}
