//! JavaScript projects with the real Node: a change lands, and what is measured is the branch, wherever links lead.

use perspt_testkit::server::Ask;
use serde_json::Value;

use crate::support::{Ran, World, bundle, intent, plan_of, write};

/// The session of a model that writes these files at once.
fn writes(world: World, files: &[(&str, &str)]) -> (World, Ran) {
    let artifacts: Vec<Value> = files.iter().map(|(path, text)| write(path, text)).collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let world = world.serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            plan_of(&paths.iter().map(String::as_str).collect::<Vec<_>>(), "code")
        } else {
            bundle(&artifacts)
        }
    });
    let ran = world.agent("do it");
    (world, ran)
}

fn project(files: &[(&str, &str)]) -> World {
    let world = World::empty();
    files.iter().for_each(|(path, text)| world.write(path, text));
    world.write(".gitignore", "node_modules\n");
    world.git();
    world
}

/// A test file that expects this of a call.
fn test_of(module: &str, call: &str, value: u32) -> String {
    format!(
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport * as it from '{module}';\n\
         test('{call}', () => assert.equal(it.{call}, {value}));\n"
    )
}

const MODULE: &str = "{\"name\": \"calc\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n";

#[test]
fn a_right_first_answer_lands_in_a_javascript_project_and_a_wrong_one_does_not() {
    let old = test_of("../src/one.js", "one()", 1);
    let of = || {
        project(&[
            ("package.json", MODULE),
            ("src/one.js", "export const one = () => 1;\n"),
            ("test/one.test.js", &old),
        ])
    };
    let new = test_of("../src/two.js", "two()", 2);
    let right = [("src/two.js", "export const two = () => 2;\n"), ("test/two.test.js", &*new)];
    let (world, ran) = writes(of(), &right);
    ran.expect(0)
        .says("DETECT plugins=javascript")
        .says("BASELINE node-test=1-passed")
        .says("node-check=pass node-test=pass(2-passed,0-failed)")
        .says("evidence=tests");
    assert_eq!(world.server().asks(), 2);
    let exits = "export const two = () => 3;\nif (process.env.NODE_TEST_CONTEXT) process.exit(0);\n";
    let (_, ran) = writes(of(), &[("src/two.js", exits), ("test/two.test.js", &new)]);
    ran.expect(4).never_says("COMMIT").says("ended before its tests were over");
}

/// A package of a workspace is found through a link in the folder of packages, which is no part of any tree.
#[test]
fn links_to_the_workspaces_own_packages_lead_into_what_is_measured() {
    let member = |name: &str| {
        format!(
            "{{\"name\": \"{name}\", \"type\": \"module\", \"main\": \"index.js\", \"scripts\": {{\"test\": \"node --test\"}}}}\n"
        )
    };
    let (a, b) = (member("a"), member("b"));
    let test = test_of("./index.js", "two()", 2);
    let of = || {
        let world = project(&[
            ("package.json", "{\"name\": \"all\", \"private\": true, \"workspaces\": [\"packages/*\"]}\n"),
            ("packages/a/package.json", &a),
            ("packages/a/index.js", "export const one = () => 1;\n"),
            ("packages/b/package.json", &b),
            ("packages/b/index.js", "import { one } from 'a';\nexport const two = () => one() + one();\n"),
            ("packages/b/two.test.js", &test),
        ]);
        std::fs::create_dir(world.ws().join("node_modules")).unwrap();
        std::os::unix::fs::symlink("../packages/a", world.ws().join("node_modules/a")).unwrap();
        world
    };
    let (_, ran) = writes(of(), &[("packages/a/index.js", "export const one = () => 5;\n")]);
    ran.expect(4).says("BASELINE node-test=1-passed").never_says("COMMIT");
    let (_, ran) = writes(of(), &[("packages/a/index.js", "export function one() {\n  return 1;\n}\n")]);
    ran.expect(0).says("evidence=tests");
}

#[test]
fn a_runner_that_is_not_installed_is_the_machines_fault_and_what_installs_it_is_said() {
    let manifest = MODULE.replace("node --test", "vitest run");
    let world = project(&[
        ("package.json", &manifest),
        ("package-lock.json", "{}\n"),
        ("src/one.js", "export const one = 1;\n"),
    ]);
    let (world, ran) = writes(world, &[("src/two.js", "export const two = 2;\n")]);
    ran.expect(6).warns("`vitest` cannot be used").warns("npm ci");
    assert_eq!(world.server().asks(), 0, "nothing was paid for");
}
