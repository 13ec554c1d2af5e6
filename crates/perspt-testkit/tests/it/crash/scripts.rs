//! The sessions that are killed: two nodes, one correction, one malformed answer, one rebuild after an edit of
//! the user's, one publication with a write, a move and a delete.

use std::path::PathBuf;

use perspt_testkit::home::Place;
use perspt_testkit::server::{Reply, Table};
use perspt_testkit::session::child::{Edit, Language};

use crate::support::{bundle, delete, plan, rename, task, write};

/// A session to be killed.
pub struct Scenario {
    pub language: Language,
    pub task: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    pub table: fn() -> Table,
}

impl Scenario {
    pub fn place(&self) -> Place {
        Place::new().with(self.files)
    }

    /// The user's edit touches a file that the second node neither owns nor reads.
    pub fn edit(&self) -> Edit {
        Edit {
            before_publish_of: "two".to_owned(),
            file: "NOTES.md".to_owned(),
            text: "notes of the user\n".to_owned(),
        }
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
                ("NOTES.md", "notes\n"),
            ],
            table: toy_table,
        }
    }
}

fn toy_table() -> Table {
    let tasks = [
        task("one", &["lib/three.toy", "tests/three.toy"], &[]),
        task(
            "two",
            &["lib/four.toy", "tests/four.toy", "lib/old.toy", "lib/new.toy", "lib/gone.toy"],
            &["one"],
        ),
    ];
    let wrong = [
        write("lib/three.toy", "let three = 4\n"),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
    ];
    let right = [write("lib/three.toy", "let three = 3\n")];
    let four = [
        write("lib/four.toy", "use lib/three\nlet four = three + 1\n"),
        write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
        rename("lib/old.toy", "lib/new.toy"),
        delete("lib/gone.toy"),
    ];
    Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
        .on("actuator.generate", "one", 1, Reply::text(bundle(&wrong)))
        .on("correction", "one", 1, Reply::text(bundle(&right)))
        .on("actuator.generate", "two", 1, Reply::text("I would add a file with four in it."))
        .on("malformed", "two", 1, Reply::text(bundle(&four)))
}
