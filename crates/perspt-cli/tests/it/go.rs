//! Go modules, from a task to a commit, with the real go.
#![allow(clippy::disallowed_types, reason = "the result is tried without perspt")]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use perspt_testkit::server::{Ask, Reply};

use crate::support::{World, bundle, intent, plan_of, write};

const CODE: &str = "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n";
const TEST: &str = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal(Add(2, 3))\n\t}\n}\n";
const MUL_TEST: &str = "package calc\n\nimport \"testing\"\n\nfunc TestMul(t *testing.T) {\n\tif Mul(4, 3) != 12 {\n\t\tt.Fatal(Mul(4, 3))\n\t}\n}\n";

fn module() -> World {
    let world = World::empty();
    world.write("go.mod", "module example.org/calc\n\ngo 1.21\n");
    world.write("calc.go", CODE);
    world.write("calc_test.go", TEST);
    world.git();
    world
}

fn attempt(body: &str, test: &str) -> Reply {
    let code = format!("{CODE}\n// Mul multiplies.\nfunc Mul(a, b int) int {{ return {body} }}\n");
    bundle(&[write("calc.go", &code), write("mul_test.go", test)])
}

/// Whether `go test` is green in a fresh copy.
fn green_elsewhere(world: &World) -> bool {
    let copy = tempfile::tempdir().unwrap();
    for (path, bytes) in world.files() {
        std::fs::write(copy.path().join(path), bytes).unwrap();
    }
    let mut command = Command::new("go");
    command.args(["test", "./..."]).env("GOPROXY", "off").current_dir(copy.path());
    command.output().unwrap().status.success()
}

#[test]
fn a_test_program_that_leaves_early_is_red_and_the_right_answer_after_it_lands() {
    let leaves = "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n\n\
                  func TestMul(t *testing.T) {\n\tif Mul(4, 3) != 12 {\n\t\tt.Fatal()\n\t}\n}\n";
    let world =
        module().serve(move |ask: &Ask| match (intent(ask).as_str(), ask.tag().map(|tag| tag.attempt)) {
            ("architect", _) => plan_of(&["calc.go", "mul_test.go"], "unit_test"),
            (_, Some(1)) => attempt("a + b", leaves),
            _ => attempt("a * b", MUL_TEST),
        });
    let ran =
        world.agent("add a Mul function").expect(0).says("DETECT plugins=go").says("SUMMARY completed=1/1");
    for line in [
        "BASELINE go-test=1-passed",
        "CALIBRATE stage=build result=sees",
        "CALIBRATE stage=test result=sees",
        "go-test=fail:",
        "TestAdd` is in the sources and has no result",
        "go-test=pass(2-passed,0-failed)",
        "evidence=tests",
    ] {
        assert!(ran.out.contains(line), "{line} missing in {}", ran.out);
    }
    assert!(world.read("calc.go").contains("a * b"));
    assert!(green_elsewhere(&world));
}

#[test]
fn a_go_that_does_not_start_ends_with_6_and_its_name() {
    let mut world = module().serve(|ask: &Ask| match intent(ask).as_str() {
        "architect" => plan_of(&["calc.go", "mul_test.go"], "unit_test"),
        _ => attempt("a * b", MUL_TEST),
    });
    let folder = world.base().join("bin");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("go"), "#!/bin/sh\nexit 127\n").unwrap();
    std::fs::set_permissions(folder.join("go"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), world.get("PATH"));
    world.set("PATH", &path);
    let before = world.files();
    world.agent("add a Mul function").expect(6).says("status=degraded").warns("go").warns("Install Go");
    assert_eq!(world.files(), before);
}
