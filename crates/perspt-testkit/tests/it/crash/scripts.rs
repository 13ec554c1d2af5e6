//! The sessions that are killed: two nodes, one correction, one malformed answer, one rebuild after an edit of
//! the user's, one publication with a write, a move and a delete. Told once, in three languages. And sessions that wait
//! for a consent, which every life but the first brings along.

use std::path::PathBuf;

use perspt_testkit::home::Place;
use perspt_testkit::server::{Reply, Table};
use perspt_testkit::session::child::{Edit, Language};
use serde_json::{Value, json};

use crate::support::{bundle, delete, edit, plan, rename, task, with, write};

/// A session to be killed.
pub struct Scenario {
    pub language: Language,
    pub task: &'static str,
    /// What the user permits when the session is taken up again.
    pub allow: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    edit_before: &'static str,
    table: fn() -> Table,
}

/// What the model says.
struct Story {
    one: [&'static str; 2],
    wrong: Vec<Value>,
    right: Vec<Value>,
    two: [&'static str; 5],
    four: Vec<Value>,
}

impl Story {
    fn table(self) -> Table {
        let Story { one, wrong, right, two, four } = self;
        let tasks = [task("one", &one, &[]), task("two", &two, &["one"])];
        Table::new()
            .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
            .on("actuator.generate", "one", 1, Reply::text(bundle(&wrong)))
            .on("correction", "one", 1, Reply::text(bundle(&right)))
            .on("actuator.generate", "two", 1, Reply::text("I would add a file with four in it."))
            .on("malformed", "two", 1, Reply::text(bundle(&four)))
    }
}

const TOY: &[(&str, &str)] = &[
    ("toy.mod", "dep shapes\n"),
    ("toy.lock", "shapes 1\n"),
    ("main.toy", "use lib/two\nlet answer = two * 21\n"),
    ("lib/two.toy", "let two = 2\n"),
    ("lib/old.toy", "let old = 1\n"),
    ("lib/gone.toy", "let gone = 0\n"),
    ("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\n"),
];

impl Scenario {
    pub fn place(&self) -> Place {
        let place = Place::new().with(self.files);
        place.write("NOTES.md", "notes\n");
        place
    }

    /// The user's edit touches a file that no node owns or reads.
    pub fn edit(&self) -> Edit {
        Edit {
            before_publish_of: self.edit_before.to_owned(),
            file: "NOTES.md".to_owned(),
            text: "notes of the user\n".to_owned(),
        }
    }

    pub fn table(&self) -> Table {
        (self.table)()
    }

    pub fn toy() -> Scenario {
        Scenario {
            language: Language::Toy(PathBuf::from(env!("CARGO_BIN_EXE_toyc"))),
            task: "add three and four",
            files: TOY,
            allow: &[],
            edit_before: "two",
            table: || toy_story().table(),
        }
    }

    /// The first node changes a test, as the plan says, and waits; the second builds on it.
    pub fn waiting() -> Scenario {
        Scenario { allow: &["tests"], edit_before: "one", table: waiting_table, ..Scenario::toy() }
    }

    /// The first node waits while the second, which has nothing to do with it, is worked on.
    pub fn waiting_beside_another() -> Scenario {
        Scenario { table: beside_table, ..Scenario::waiting() }
    }

    /// The first node's answer wants a command, and waits before anything is laid out.
    pub fn waiting_for_a_command() -> Scenario {
        Scenario {
            allow: &["command:cp lib/two.toy lib/copy.toy"],
            table: command_table,
            ..Scenario::waiting()
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
            allow: &[],
            edit_before: "two",
            table: || rust_story().table(),
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
            allow: &[],
            edit_before: "two",
            table: || python_story().table(),
        }
    }
}

fn changes_the_test() -> Value {
    with(
        task("one", &["lib/two.toy"], &[]),
        json!({"changes_tests": [{"path": "tests/two.toy", "test": "two_is_two", "why": "it is three"}]}),
    )
}

fn two_is_three() -> Vec<Value> {
    vec![
        write("lib/two.toy", "let two = 3\n"),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 3\n"),
        edit("main.toy", "two * 21", "two * 14"),
    ]
}

fn waiting_table() -> Table {
    let six = [
        write("lib/six.toy", "use lib/two\nlet six = two * 2\n"),
        write("tests/six.toy", "use lib/six\ntest six: six == 6\n"),
    ];
    let tasks = [changes_the_test(), task("two", &["lib/six.toy", "tests/six.toy"], &["one"])];
    Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
        .on("actuator.generate", "one", 1, Reply::text(bundle(&two_is_three())))
        .on("actuator.generate", "two", 1, Reply::text(bundle(&six)))
}

fn beside_table() -> Table {
    let five = [
        write("lib/five.toy", "let five = 5\n"),
        write("tests/five.toy", "use lib/five\ntest five: five == 5\n"),
    ];
    let tasks = [changes_the_test(), task("two", &["lib/five.toy", "tests/five.toy"], &[])];
    Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
        .on("actuator.generate", "one", 1, Reply::text(bundle(&two_is_three()[..2])))
        .on("actuator.generate", "two", 1, Reply::text(bundle(&five)))
}

fn command_table() -> Table {
    let answer = json!({
        "artifacts": [write("tests/copy.toy", "use lib/copy\ntest copy: two == 2\n")],
        "commands": ["cp lib/two.toy lib/copy.toy"],
    });
    Table::new()
        .on(
            "architect.existing",
            "-",
            1,
            Reply::text(plan(&[task("one", &["lib/copy.toy", "tests/copy.toy"], &[])])),
        )
        .on("actuator.generate", "one", 1, Reply::text(answer.to_string()))
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
