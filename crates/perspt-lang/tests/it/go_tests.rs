//! What a candidate did to Go tests, old tests over new code, and the plugin's words.

use perspt_lang::mentions;
use perspt_lang::plugin::{CommandKind, FromCandidate, Pair};

use crate::go_read::{CODE, MODULE, TEST, go, module, test};
use crate::support::{Map, as_it_was, classes, ends, facts, old_tree, path};

const TESTS: &str = "package x\n\nimport \"testing\"\n\nvar wanted = 3\n\nfunc helper(t *testing.T) { t.Helper() }\n\n\
    func TestAdd(t *testing.T) {\n\thelper(t)\n\tif got := Add(1, 2); got != wanted {\n\t\tt.Fatalf(\"got %d\", got)\n\t}\n}\n\n\
    func TestTable(t *testing.T) {\n\tfor _, c := range []struct{ a, b, sum int }{\n\t\t{1, 2, 3},\n\t\t{2, 2, 4},\n\t} {\n\
    \t\tif Add(c.a, c.b) != c.sum {\n\t\t\tt.Error(c)\n\t\t}\n\t}\n}\n\nfunc ExampleAdd() {\n\tprintln(Add(1, 1))\n\
    \t// Output: 2\n}\n";

fn edited(old: &str, new: &str) -> Vec<String> {
    assert!(TESTS.contains(old), "{old}");
    let base = module(&[("x_test.go", TESTS)]);
    facts(go(), &base, &base.with("x_test.go", &TESTS.replace(old, new)))
}

#[test]
fn layout_order_comments_imports_and_grown_tables_leave_tests_as_they_were() {
    assert_eq!(edited("\thelper(t)\n", "\n\t// first\n\thelper(t)\n"), [""; 0]);
    assert_eq!(edited("import \"testing\"", "import (\n\t\"testing\"\n)"), [""; 0]);
    assert_eq!(edited("{2, 2, 4},", "{2, 2, 4}, // more\n\t\t{0, 0, 0},"), [""; 0]);
    assert_eq!(edited("var wanted = 3\n", "var other = 4\n\nvar wanted = 3\n"), [""; 0]);
    assert_eq!(edited("package x\n", "package x\n\n// Tests.\n"), [""; 0]);
}

#[test]
fn a_test_that_demands_something_else_is_changed_and_what_is_weaker_is_said() {
    assert_eq!(edited("Add(1, 2)", "Add(2, 2)"), ["changed x_test.go::TestAdd"]);
    assert_eq!(edited("got != wanted", "got < wanted"), ["changed x_test.go::TestAdd weaker"]);
    assert_eq!(edited("\thelper(t)\n", "\tt.Skip()\n\thelper(t)\n"), ["changed x_test.go::TestAdd weaker"]);
    assert_eq!(edited("\t\tt.Fatalf(\"got %d\", got)\n", ""), ["changed x_test.go::TestAdd weaker"]);
    assert_eq!(edited("\t\t{2, 2, 4},\n", ""), ["changed x_test.go::TestTable weaker"]);
    assert_eq!(edited("{2, 2, 4}", "{2, 2, 5}"), ["changed x_test.go::TestTable weaker"]);
    assert_eq!(edited("// Output: 2", "// Output: 3"), ["changed x_test.go::ExampleAdd"]);
    assert_eq!(edited("func TestAdd(", "func testAdd("), ["removed x_test.go::TestAdd"]);
    assert_eq!(edited("var wanted = 3", "var wanted = -1"), ["support x_test.go"]);
    let data = module(&[("testdata/a.txt", "1\n")]);
    assert_eq!(facts(go(), &data, &data.with("testdata/a.txt", "2\n")), ["support testdata/a.txt"]);
}

#[test]
fn a_new_test_is_added_and_a_moved_or_renamed_one_is_the_same() {
    let base = module(&[]);
    let more = format!("{}\nfunc TestMore(t *testing.T) {{\n\tt.Fatal(1)\n}}\n", TEST.1);
    assert_eq!(facts(go(), &base, &base.with("x_test.go", &more)), ["added x_test.go::TestMore"]);
    let moved = base.without("x_test.go").with("add_test.go", TEST.1);
    assert_eq!(facts(go(), &base, &moved), ["moved x_test.go::TestAdd add_test.go::TestAdd"]);
    let renamed =
        base.with("x.go", &CODE.1.replace("Add", "Sum")).with("x_test.go", &TEST.1.replace("Add(1", "Sum(1"));
    assert_eq!(facts(go(), &base, &renamed), [""; 0]);
}

#[test]
fn code_that_is_still_to_be_written_is_charged() {
    let base = module(&[]);
    for stub in ["not implemented", "TODO", "implement me"] {
        let text = format!("package x\n\n// Y is new.\nfunc Y() {{ panic(\"{stub}\") }}\n");
        assert_eq!(facts(go(), &base, &base.with("y.go", &text)), ["stub y.go"], "{stub}");
    }
    let honest = "package x\n\n// Y is new.\nfunc Y() { panic(\"the list is empty\") }\n";
    assert_eq!(facts(go(), &base, &base.with("y.go", honest)), [""; 0]);
}

#[test]
fn old_tests_stand_over_new_code_and_new_ones_are_left_out() {
    let base = module(&[]);
    let weakened = TEST.1.replace("!= 3", "!= -1");
    let candidate = base
        .with("x.go", &CODE.1.replace("a + b", "a - b"))
        .with("x_test.go", &weakened)
        .with("new_test.go", "package x\n\nfunc init() { panic(1) }\n");
    let none = FromCandidate::default();
    assert_eq!(as_it_was(go(), &base, &candidate, &none, "x_test.go").as_deref(), Some(TEST.1));
    assert_eq!(as_it_was(go(), &base, &candidate, &none, "new_test.go"), None);
    let reading = test(&old_tree(go(), &base, &candidate, &none));
    assert_eq!(classes(&reading), ["test-failed"]);
}

#[test]
fn where_old_tests_do_not_build_over_new_code_only_what_must_be_is_taken_from_the_candidate() {
    let two = format!(
        "{}\nfunc TestOther(t *testing.T) {{\n\tif Add(0, 0) != 0 {{\n\t\tt.Fatal(0)\n\t}}\n}}\n",
        TEST.1
    );
    let base = module(&[("x_test.go", &two)]);
    let code = "package x\n\n// Add adds.\nfunc Add(a, b, c int) int { return 3 }\n\n// Sum sums.\n\
                func Sum(a, b int) int { return a + b }\n";
    let tests = two.replace("Add(1, 2) != 3", "Sum(1, 2) != 3").replace("Add(0, 0)", "Add(0, 0, 0)");
    let candidate = base.with("x.go", code).with("x_test.go", &tests);
    let pair = Pair { base: &base, candidate: &candidate };
    let mut taken = FromCandidate::default();
    for _ in 0..4 {
        let reading = test(&old_tree(go(), &base, &candidate, &taken));
        if !classes(&reading).contains(&"compile-error") {
            break;
        }
        taken = go().take_more(&pair, &taken, &reading);
    }
    let names: Vec<&str> = taken.tests.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["TestAdd", "TestOther"]);
    assert!(taken.files.is_empty());
    let reading = test(&old_tree(go(), &base, &candidate, &taken));
    assert_eq!(ends(&reading).len(), 2);
}

fn kind(command: &str) -> CommandKind {
    let files = module(&[]);
    let root = go().roots(&files).remove(0);
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    go().command(&argv, &root, &files)
}

#[test]
fn commands_that_verification_repeats_are_known_and_go_get_adds() {
    for repeated in ["go test ./...", "go vet ./...", "go build ./...", "go mod tidy", "gofmt -l ."] {
        assert_eq!(kind(repeated), CommandKind::Repeats, "{repeated}");
    }
    for other in [
        "go run .",
        "go test -exec=./x ./...",
        "go test --exec ./x",
        "go build -o x",
        "gofmt -w .",
        "go generate",
    ] {
        assert_eq!(kind(other), CommandKind::Other, "{other}");
    }
    let CommandKind::Adds(added) = kind("go get github.com/foo/bar@v1.2.3 golang.org/x/text") else {
        panic!("not added")
    };
    assert_eq!(added.names, ["github.com/foo/bar", "golang.org/x/text"]);
    for other in ["go get -u ./...", "go get github.com/foo/bar@none", "go get ./y", "go get"] {
        assert_eq!(kind(other), CommandKind::Other, "{other}");
    }
}

#[test]
fn packages_are_those_of_manifests_and_lock_files_and_dependencies_those_asked_for() {
    let manifest = "module example.org/x\n\ngo 1.21\n\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/c/d v1.0.0 // indirect\n\
                    \texample.org/y v0.0.0\n)\n\nreplace example.org/y => ./y\n";
    let files = Map::of(&[("go.mod", manifest), ("go.sum", "github.com/e/f v1.0.0 h1:x=\n"), CODE]);
    let dependencies: Vec<String> = go().dependencies(&files).into_iter().collect();
    assert_eq!(dependencies, ["github.com/a/b"]);
    let packages: Vec<String> = go().packages(&files).into_iter().collect();
    assert_eq!(
        packages,
        ["example.org/x", "example.org/y", "github.com/a/b", "github.com/c/d", "github.com/e/f"]
    );
    assert!(go().dependencies(&Map::of(&[MODULE])).is_empty());
}

#[test]
fn the_language_is_named_by_its_own_words_and_not_by_the_verb() {
    for task in ["write a golang parser", "fix x.go", "update go.mod", "a new Go module for dates"] {
        assert!(mentions(task, go().task_words()), "{task}");
    }
    for task in ["let the user go back", "go to the next page", "make the tests go green"] {
        assert!(!mentions(task, go().task_words()), "{task}");
    }
}

#[test]
fn a_new_test_file_stands_beside_its_source() {
    assert_eq!(
        go().new_test_file(&path("a/parse.go"), &[path("b/x_test.go")]),
        Some(path("a/parse_task_test.go"))
    );
    assert!(go().is_test_file(&path("a/parse_task_test.go")));
    assert_eq!(go().new_test_file(&path("a/parse.rs"), &[]), None);
}
