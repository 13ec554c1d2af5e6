//! Wrong Go code that is made to look right: every way ends red, or is said.

use perspt_core::reading::TestEnd;

use crate::go_read::{CODE, MODULE, TEST, build, go, module, test};
use crate::support::{Map, classes, ends, facts};

const WRONG: (&str, &str) = ("x.go", "package x\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n");

#[test]
fn a_program_that_leaves_before_its_tests_have_run_is_red() {
    let leaves = [
        (
            "TestMain",
            "m_test.go",
            "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n",
        ),
        ("no run", "m_test.go", "package x\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n"),
        ("init of a test", "m_test.go", "package x\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"),
        ("init of the code", "m.go", "package x\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"),
        (
            "a test",
            "a_test.go",
            "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) { os.Exit(0) }\n",
        ),
    ];
    for (what, name, text) in leaves {
        let reading = test(&module(&[WRONG, (name, text)]));
        assert!(!classes(&reading).is_empty(), "{what}");
        assert_ne!(ends(&reading).get("example.org/x::TestAdd"), Some(&TestEnd::Passed), "{what}");
    }
}

#[test]
fn a_test_that_prints_result_lines_stays_failed() {
    let prints = "package x\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestB(t *testing.T) {\n\tfmt.Println(\"--- PASS: \
                  TestB (0.00s)\\nPASS\\nok example.org/x 0.1s\")\n\tt.Fail()\n}\n";
    let reading = test(&module(&[("b_test.go", prints)]));
    assert_eq!(ends(&reading)["example.org/x::TestB"], TestEnd::Failed);
    assert_eq!(classes(&reading), ["test-failed"]);
}

#[test]
fn flags_of_the_project_choose_no_tests() {
    let reading = test(&module(&[WRONG, ("go.env", "GOFLAGS=-run=Nothing\n")]));
    assert_eq!(classes(&reading), ["test-failed"]);
}

#[test]
fn tests_that_a_condition_leaves_out_are_skipped_and_gone() {
    let hidden = format!("//go:build slow\n\n{}", TEST.1);
    let base = module(&[]);
    let candidate = module(&[WRONG, ("x_test.go", &hidden)]);
    assert_eq!(facts(go(), &base, &candidate), ["changed x_test.go::TestAdd weaker"]);
    assert_eq!(ends(&test(&candidate)).len(), 0, "what ran before has no result now");
}

#[test]
fn what_decides_how_tests_are_built_is_said() {
    let base = module(&[]);
    let facts = |name: &str, text: &str| facts(go(), &base, &base.with(name, text));
    let replaced = format!("{}\nreplace example.org/y => ./y\n", MODULE.1);
    assert_eq!(facts("go.mod", &replaced), ["evidence go.mod"]);
    assert_eq!(facts("go.mod", &format!("{}\ntoolchain go1.99.0\n", MODULE.1)), ["evidence go.mod"]);
    let required = format!("{}\nrequire example.org/y v1.0.0 // why\n", MODULE.1);
    assert_eq!(facts("go.mod", &required), [""; 0], "a dependency is the business of other rules");
    assert_eq!(facts("go.work", "go 1.21\n\nuse .\n"), ["evidence go.work"]);
    assert_eq!(facts("vendor/modules.txt", "# example.org/y v1.0.0\n"), ["evidence vendor/modules.txt"]);
    let main = "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n";
    assert_eq!(facts("m_test.go", main), ["evidence m_test.go?"]);
    let init = "package x\n\nfunc init() {}\n";
    assert_eq!(facts("m_test.go", init), ["evidence m_test.go?"]);
    assert_eq!(facts("new/m_test.go", &init.replace("x", "new")), [""; 0], "no test was there before");
    for asks in
        ["flag.Lookup(\"test.v\") != nil", "testing.Testing()", "strings.HasSuffix(os.Args[0], \".test\")"]
    {
        let code = format!("{}\nfunc y() bool {{ return {asks} }}\n", CODE.1);
        assert_eq!(facts("x.go", &code), ["evidence x.go"], "{asks}");
    }
    let untested = Map::of(&[MODULE, CODE]);
    assert_eq!(crate::support::facts(go(), &untested, &untested.with("go.mod", &replaced)), [""; 0]);
}

#[test]
fn a_file_that_go_does_not_compile_proves_nothing_about_itself() {
    let reading = build(&module(&[("y.go", "//go:build windows\n\npackage x\n\nfunc Y() { nonsense }\n")]));
    assert!(!reading.looked.iter().any(|path| path.as_str() == "y.go"));
}
