//! The sessions that are killed: two nodes, one correction, one malformed answer, one rebuild after an edit of
//! the user's, one publication with a write, a move and a delete. Told once, in three languages.

use std::path::PathBuf;

use perspt_testkit::home::Place;
use perspt_testkit::server::{Reply, Table};
use perspt_testkit::session::child::{Edit, Language};
use serde_json::Value;

use crate::support::{bundle, delete, edit, plan, rename, task, write};

/// A session to be killed.
pub struct Scenario {
    pub language: Language,
    pub task: &'static str,
    files: &'static [(&'static str, &'static str)],
    story: fn() -> Story,
}

/// What the model says.
struct Story {
    one: [&'static str; 2],
    wrong: Vec<Value>,
    right: Vec<Value>,
    two: [&'static str; 5],
    four: Vec<Value>,
}

impl Scenario {
    pub fn place(&self) -> Place {
        let place = Place::new().with(self.files);
        place.write("NOTES.md", "notes\n");
        place
    }

    /// The user's edit touches a file that the second node neither owns nor reads.
    pub fn edit(&self) -> Edit {
        Edit {
            before_publish_of: "two".to_owned(),
            file: "NOTES.md".to_owned(),
            text: "notes of the user\n".to_owned(),
        }
    }

    pub fn table(&self) -> Table {
        let Story { one, wrong, right, two, four } = (self.story)();
        let tasks = [task("one", &one, &[]), task("two", &two, &["one"])];
        Table::new()
            .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
            .on("actuator.generate", "one", 1, Reply::text(bundle(&wrong)))
            .on("correction", "one", 1, Reply::text(bundle(&right)))
            .on("actuator.generate", "two", 1, Reply::text("I would add a file with four in it."))
            .on("malformed", "two", 1, Reply::text(bundle(&four)))
    }

    pub fn toy() -> Scenario {
        Scenario {
            language: Language::Toy(PathBuf::from(env!("CARGO_BIN_EXE_toyc"))),
            task: "add three and four",
            files: &[
                ("toy.mod", "dep shapes\n"),
                ("toy.lock", "shapes 1\n"),
                ("main.toy", "use lib/two\nlet answer = two * 21\n"),
                ("lib/two.toy", "let two = 2\n"),
                ("lib/old.toy", "let old = 1\n"),
                ("lib/gone.toy", "let gone = 0\n"),
                ("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\n"),
            ],
            story: toy_story,
        }
    }

    pub fn rust() -> Scenario {
        Scenario {
            language: Language::Real,
            task: "add three and four to the crate",
            files: &[
                ("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
                ("src/lib.rs", "pub mod gone;\npub mod old;\npub mod two;\n"),
                ("src/two.rs", "pub fn two() -> u32 {\n    2\n}\n"),
                ("src/old.rs", "pub fn old() -> u32 {\n    1\n}\n"),
                ("src/gone.rs", "pub fn gone() {}\n"),
                ("tests/two.rs", "#[test]\nfn two_is_two() {\n    assert_eq!(tiny::two::two(), 2);\n}\n"),
                (".gitignore", "target\n"),
            ],
            story: rust_story,
        }
    }

    pub fn python() -> Scenario {
        Scenario {
            language: Language::Real,
            task: "add three and four to the package",
            files: &[
                ("pyproject.toml", "[project]\nname = \"tiny\"\nversion = \"0.1.0\"\n"),
                ("tiny/__init__.py", ""),
                ("tiny/two.py", "def two():\n    return 2\n"),
                ("tiny/old.py", "def old():\n    return 1\n"),
                ("tiny/gone.py", "def gone():\n    return 0\n"),
                ("tests/__init__.py", ""),
                (
                    "tests/test_two.py",
                    "import unittest\n\nfrom tiny.two import two\n\n\nclass Two(unittest.TestCase):\n    \
                     def test_two(self):\n        self.assertEqual(two(), 2)\n",
                ),
            ],
            story: python_story,
        }
    }
}

fn toy_story() -> Story {
    Story {
        one: ["lib/three.toy", "tests/three.toy"],
        wrong: vec![
            write("lib/three.toy", "let three = 4\n"),
            write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        ],
        right: vec![write("lib/three.toy", "let three = 3\n")],
        two: ["lib/four.toy", "tests/four.toy", "lib/old.toy", "lib/new.toy", "lib/gone.toy"],
        four: vec![
            write("lib/four.toy", "use lib/three\nlet four = three + 1\n"),
            write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
            rename("lib/old.toy", "lib/new.toy"),
            delete("lib/gone.toy"),
        ],
    }
}

fn rust_story() -> Story {
    let test = |name: &str, number: u32| {
        format!("#[test]\nfn {name}_is_right() {{\n    assert_eq!(tiny::{name}::{name}(), {number});\n}}\n")
    };
    Story {
        one: ["src/three.rs", "tests/three.rs"],
        wrong: vec![
            write("src/three.rs", "pub fn three() -> u32 {\n    4\n}\n"),
            edit("src/lib.rs", "pub mod two;", "pub mod three;\npub mod two;"),
            write("tests/three.rs", &test("three", 3)),
        ],
        right: vec![write("src/three.rs", "pub fn three() -> u32 {\n    3\n}\n")],
        two: ["src/four.rs", "tests/four.rs", "src/old.rs", "src/new.rs", "src/gone.rs"],
        four: vec![
            write("src/four.rs", "pub fn four() -> u32 {\n    crate::three::three() + 1\n}\n"),
            write("tests/four.rs", &test("four", 4)),
            rename("src/old.rs", "src/new.rs"),
            delete("src/gone.rs"),
            edit("src/lib.rs", "pub mod gone;\npub mod old;", "pub mod four;\npub mod new;"),
        ],
    }
}

fn python_story() -> Story {
    let test = |name: &str, number: u32| {
        format!(
            "import unittest\n\nfrom tiny.{name} import {name}\n\n\nclass Right(unittest.TestCase):\n    \
             def test_{name}(self):\n        self.assertEqual({name}(), {number})\n"
        )
    };
    Story {
        one: ["tiny/three.py", "tests/test_three.py"],
        wrong: vec![
            write("tiny/three.py", "def three():\n    return 4\n"),
            write("tests/test_three.py", &test("three", 3)),
        ],
        right: vec![write("tiny/three.py", "def three():\n    return 3\n")],
        two: ["tiny/four.py", "tests/test_four.py", "tiny/old.py", "tiny/new.py", "tiny/gone.py"],
        four: vec![
            write("tiny/four.py", "from tiny.three import three\n\n\ndef four():\n    return three() + 1\n"),
            write("tests/test_four.py", &test("four", 4)),
            rename("tiny/old.py", "tiny/new.py"),
            delete("tiny/gone.py"),
        ],
    }
}
